// Leak: how many CPUs there are, what they are, and on which one a thread runs.
#include "leak.h"

int main(void) {
	static char b[1 << 18];
	cpu_set_t set;
	sched_getaffinity(0, sizeof set, &set);
	show("online %ld configured %ld affinity %d %lx\n", sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_NPROCESSORS_CONF), CPU_COUNT(&set), hash(&set, sizeof set));
	for (int i = 0; i < 20; i++) {
		unsigned cpu, node;
		syscall(SYS_getcpu, &cpu, &node, NULL);
		show("getcpu %u %u, sched_getcpu %d\n", cpu, node, sched_getcpu());
		usleep(1000);
	}
	long n = slurp("/proc/cpuinfo", b, sizeof b);
	show("cpuinfo %ld %lx\n", n, hash(b, n > 0 ? n : 0));
	n = slurp("/sys/devices/system/cpu/online", b, sizeof b);
	show("online %s", n > 0 ? b : "?\n");
	return 0;
}
