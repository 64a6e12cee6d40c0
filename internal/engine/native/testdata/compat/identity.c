// Who a process is and what it may: ids, groups, capabilities, limits, priorities, scheduling, prctl.
#include "compat.h"
#include <grp.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/personality.h>

static void ids(void) {
	uid_t r, e, s;
	gid_t rg, eg, sg;
	CALL(getresuid(&r, &e, &s), "getresuid");
	CALL(getresgid(&rg, &eg, &sg), "getresgid");
	IS(r == getuid() && e == geteuid() && rg == getgid() && eg == getegid() && r == e && e == s, "all the same");
	CALL(setuid(getuid()), "setuid to itself");
	CALL(setresuid(-1, -1, -1), "setresuid to what it is");
	CALL(setreuid(-1, geteuid()), "setreuid to itself");
	IS((uid_t)setfsuid(-1) == geteuid(), "setfsuid asks");
	IN_CHILD("an ordinary user") {
		unprivileged();
		getresuid(&r, &e, &s);
		IS(r == e && e == s, "all three changed");
		CALL(setuid(0), "setuid 0");
		CALL(seteuid(0), "seteuid 0");
		CALL(setresuid(-1, 0, -1), "setresuid 0");
		CALL(setgid(0), "setgid 0");
		CALL(setgroups(0, NULL), "setgroups");
		CALL(setuid(getuid()), "setuid to itself");
	}
}

static void root(void) {
	uid_t r, e, s;
	if (geteuid() != 0) {
		say("skip: only root has rights to give up");
		return;
	}
	IN_CHILD("a server that gives up its rights") {
		gid_t g[4] = {7, 8, 9};
		CALL(setgroups(3, g), "setgroups");
		CALL(getgroups(0, NULL), "how many groups");
		CALL(getgroups(4, g), "getgroups");
		say("%d %d %d", g[0], g[1], g[2]);
		CALL(getgroups(1, g), "too little room");
		CALL(setgid(100), "setgid");
		CALL(setuid(1000), "setuid");
		say("%d %d %d %d", getuid(), geteuid(), getgid(), getegid());
		CALL(setuid(0), "back");
	}
	IN_CHILD("a server that gives them up for a while") {
		CALL(seteuid(1000), "seteuid");
		say("%d %d", getuid(), geteuid());
		CALL(open("/etc/shadow", O_RDONLY), "read what only root may");
		CALL(seteuid(0), "back");
		CALL(setresuid(1, 2, 3), "setresuid");
		getresuid(&r, &e, &s);
		say("%d %d %d", r, e, s);
		CALL(setresuid(-1, 3, -1), "effective from saved");
		CALL(setresuid(-1, 0, -1), "effective from nowhere");
		CALL(setreuid(3, 1), "setreuid swaps");
	}
	IN_CHILD("users with three ids each") {
		MUST(setresgid(11, 12, 13)), MUST(setresuid(1, 2, 3));
		CALL(setuid(2), "setuid to the effective one");
		CALL(setuid(3), "setuid to the saved one");
		getresuid(&r, &e, &s);
		say("%d %d %d, files %d", r, e, s, setfsuid(-1));
		CALL(setreuid(2, -1), "real from what was effective");
		CALL(setreuid(-1, 1), "effective from real");
		getresuid(&r, &e, &s);
		say("%d %d %d, files %d", r, e, s, setfsuid(-1));
		CALL(setreuid(3, -1), "real from saved");
		CALL(setreuid(1, 3), "effective from saved");
		getresuid(&r, &e, &s);
		say("%d %d %d, files %d", r, e, s, setfsuid(-1));
		say("%d %d", setfsuid(1), setfsuid(77));
		CALL(setuid(-1), "no id");
		gid_t rg, eg, sg;
		CALL(setgid(12), "setgid to the effective one");
		CALL(setregid(13, 11), "real from saved");
		CALL(setregid(12, 11), "setregid swaps");
		getresgid(&rg, &eg, &sg);
		say("%d %d %d, files %d", rg, eg, sg, setfsgid(-1));
	}
}

static void limits(void) {
	struct rlimit l, old;
	CALL(getrlimit(RLIMIT_NOFILE, &old), "getrlimit");
	IS(old.rlim_cur > 0 && old.rlim_cur <= old.rlim_max, "a limit");
	l = old, l.rlim_cur = 50;
	CALL(setrlimit(RLIMIT_NOFILE, &l), "lower the soft one");
	CALL(prlimit(0, RLIMIT_NOFILE, NULL, &l), "prlimit");
	say("soft %ld", (long)l.rlim_cur);
	l.rlim_cur = l.rlim_max + 1;
	if (l.rlim_max != RLIM_INFINITY) CALL(setrlimit(RLIMIT_NOFILE, &l), "soft above hard");
	CALL(getrlimit(99, &l), "no such limit");
	CALL(setrlimit(RLIMIT_NOFILE, (void *)8), "a bad address");
	CALL(prlimit(0x3ffffff, RLIMIT_NOFILE, NULL, &l), "no such process");
	for (int i = 0; i < RLIM_NLIMITS; i++) IS(getrlimit(i, &l) == 0 && l.rlim_cur <= l.rlim_max, "limit %d", i);
	setrlimit(RLIMIT_NOFILE, &old);
	IN_CHILD("an ordinary user") {
		unprivileged();
		l = (struct rlimit){20, 20};
		CALL(setrlimit(RLIMIT_NOFILE, &l), "lower the hard one");
		l.rlim_max = 30;
		CALL(setrlimit(RLIMIT_NOFILE, &l), "raise it");
	}
	struct rusage u;
	CALL(getrusage(RUSAGE_SELF, &u), "getrusage");
	IS(u.ru_maxrss > 0, "memory");
	CALL(getrusage(RUSAGE_CHILDREN, &u), "of children");
	CALL(getrusage(99, &u), "of nobody");
}

static void scheduling(void) {
	struct sched_param p = {0};
	cpu_set_t set;
	CALL(sched_getscheduler(0), "scheduler");
	CALL(sched_getparam(0, &p), "param");
	say("priority %d", p.sched_priority);
	CALL(sched_setscheduler(0, SCHED_OTHER, &p), "SCHED_OTHER");
	p.sched_priority = 5;
	CALL(sched_setscheduler(0, SCHED_OTHER, &p), "SCHED_OTHER with a priority");
	CALL(sched_setscheduler(0, 77, &p), "no such scheduler");
	CALL(sched_get_priority_max(SCHED_FIFO), "highest of FIFO");
	CALL(sched_get_priority_min(SCHED_FIFO), "lowest of FIFO");
	CALL(sched_get_priority_max(SCHED_OTHER), "highest of OTHER");
	CALL(sched_get_priority_max(77), "of none");
	CALL(sched_getscheduler(0x3ffffff), "of nobody");
	p.sched_priority = 0;
	CALL(sched_setscheduler(0, SCHED_BATCH, &p), "SCHED_BATCH");
	CALL(sched_getscheduler(0), "scheduler");
	CALL(sched_yield(), "yield");
	CALL(sched_getaffinity(0, sizeof set, &set), "affinity");
	IS(CPU_COUNT(&set) >= 1, "a CPU");
	CALL(sched_setaffinity(0, sizeof set, &set), "set the same");
	CPU_ZERO(&set);
	CALL(sched_setaffinity(0, sizeof set, &set), "none");
	CALL(syscall(SYS_sched_getaffinity, 0, 1, &set), "too little room");
	unsigned cpu = 99999, node = 99999;
	CALL(syscall(SYS_getcpu, &cpu, &node, NULL), "getcpu");
	IS(cpu < 4096 && node < 4096, "its numbers");
	errno = 0;
	int n = getpriority(PRIO_PROCESS, 0);
	CALL(setpriority(PRIO_PROCESS, 0, n < 15 ? n + 1 : n), "nicer");
	IS(getpriority(PRIO_PROCESS, 0) >= n, "it is");
	CALL(getpriority(77, 0), "of what");
	CALL(getpriority(PRIO_PROCESS, 0x3ffffff), "of nobody");
	CALL(setpriority(PRIO_PROCESS, 0x3ffffff, 1), "of nobody");
}

static void settings(void) {
	char name[20] = "";
	int v = 77;
	CALL(prctl(PR_SET_NAME, "short"), "SET_NAME");
	CALL(prctl(PR_GET_NAME, name), "GET_NAME");
	say("%s", name);
	CALL(prctl(PR_GET_DUMPABLE), "GET_DUMPABLE");
	CALL(prctl(PR_SET_DUMPABLE, 0), "SET_DUMPABLE 0");
	CALL(prctl(PR_GET_DUMPABLE), "GET_DUMPABLE");
	CALL(prctl(PR_SET_DUMPABLE, 5), "SET_DUMPABLE 5");
	CALL(prctl(PR_SET_DUMPABLE, 1), "SET_DUMPABLE 1");
	CALL(prctl(PR_SET_PDEATHSIG, SIGUSR1), "SET_PDEATHSIG");
	CALL(prctl(PR_GET_PDEATHSIG, &v), "GET_PDEATHSIG");
	IS(v == SIGUSR1, "it is set");
	IN_CHILD("child") {
		prctl(PR_GET_PDEATHSIG, &v);
		say("in a child: %d", v);
	}
	CALL(prctl(PR_SET_PDEATHSIG, 99), "a bad signal");
	CALL(prctl(PR_SET_CHILD_SUBREAPER, 1), "SET_CHILD_SUBREAPER");
	CALL(prctl(PR_GET_CHILD_SUBREAPER, &v), "GET_CHILD_SUBREAPER");
	say("%d", v);
	IN_CHILD("child") {
		CALL(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "SET_NO_NEW_PRIVS");
		CALL(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), "GET_NO_NEW_PRIVS");
		CALL(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), "take it back");
	}
	CALL(prctl(PR_GET_KEEPCAPS), "GET_KEEPCAPS");
	CALL(prctl(PR_GET_TIMERSLACK), "GET_TIMERSLACK");
	CALL(prctl(PR_SET_TIMERSLACK, 123456UL), "SET_TIMERSLACK");
	CALL(prctl(PR_GET_TIMERSLACK), "GET_TIMERSLACK");
	pid_t slack = fork();
	if (slack == 0) {
		prctl(PR_SET_TIMERSLACK, 1UL);
		prctl(PR_SET_TIMERSLACK, 0UL); /* back to what it was born with */
		_exit(prctl(PR_GET_TIMERSLACK) == 123456 ? 0 : 1);
	}
	int slack_status = -1;
	CALL(waitpid(slack, &slack_status, 0) == slack ? slack_status : -1, "a child's slack");
	CALL(prctl(PR_SET_TIMERSLACK, 0UL), "SET_TIMERSLACK");
	CALL(prctl(PR_GET_TIMERSLACK), "GET_TIMERSLACK");
	CALL(prctl(PR_CAPBSET_READ, 9999), "CAPBSET_READ of none");
	CALL(prctl(999999), "an option that does not exist");
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2];
	CALL(syscall(SYS_capget, &h, d), "capget");
	h.version = 1;
	CALL(syscall(SYS_capget, &h, d), "capget of a bad version");
	IS(h.version == _LINUX_CAPABILITY_VERSION_3, "it says the right one");
	CALL(personality(0xffffffff) < 0 ? -1 : 0, "personality");
	CALL(umask(0123), "umask");
	CALL(umask(07777), "umask");
	CALL(umask(022), "umask");
	unsigned long base;
	CALL(syscall(SYS_arch_prctl, 0x1003, &base), "arch_prctl GET_FS");
	IS(base == (unsigned long)pthread_self(), "the thread pointer");
	CALL(syscall(SYS_arch_prctl, 99, &base), "arch_prctl of none");
	CALL(syscall(9999), "a call that does not exist");
	CALL(syscall(-1L), "call -1");
	CALL(syscall(SYS_membarrier, 0, 0, 0) > 0 ? 0 : -1, "membarrier");
}

CASES(C(ids), C(root), C(limits), C(scheduling), C(settings))
