/* Calls what is refused by design. */
#include <stdio.h>
#include <errno.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	char params[256] = {0};
	long r = syscall(425, 8, params);
	printf("io_uring_setup %ld %d\n", r, errno == ENOSYS);
	printf("perf_event_open %ld\n", syscall(SYS_perf_event_open, params, 0, -1, -1, 0));
	printf("bpf %ld\n", syscall(SYS_bpf, 0, params, sizeof params));
	printf("ptrace %ld\n", ptrace(PTRACE_TRACEME, 0, 0, 0));
	printf("mount %d\n", mount("none", "/mnt", "tmpfs", 0, 0));
	r = syscall(700);
	printf("call 700 %ld %d\n", r, errno == ENOSYS);
	return 0;
}
