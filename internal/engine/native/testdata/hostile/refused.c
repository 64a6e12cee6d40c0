// Calls what is refused by design. Each call is named in the report.
// want: reason=finished
// want: reproducible=true
// want: crashes=0
// want: line stdout io_uring_setup -1 1$
// want: line stdout ptrace -1$
// want: line stdout call 700 -1 1$
// want: refused call=io_uring_setup program=.*/refused errno=ENOSYS
// want: refused call=perf_event_open program=.*/refused
// want: refused call=bpf program=.*/refused
// want: refused call=ptrace program=.*/refused
// want: refused call=mount program=.*/refused
// want: refused call=unknown call program=.*/refused
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
