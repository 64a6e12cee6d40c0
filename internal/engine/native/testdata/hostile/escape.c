// Tries to reach what lies outside its world: paths above its root, other processes' memory and descriptors, raw
// sockets, devices, and a listener on the machine's own loopback. Whatever works may only reach its own node.
// want: reason=finished
// want: line .*nothing got out
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int bad;
static void check(const char *what, int escaped) {
	if (escaped) {
		bad++;
		fprintf(stderr, "escaped: %s\n", what);
	}
}

int main(void) {
	struct stat root, up;
	stat("/", &root), stat("/../../../..", &up);
	check("above the root", root.st_ino != up.st_ino);
	int outside = getppid();
	char b[64], path[64];
	for (int pid = 1; pid < 3000; pid++) {
		if (pid == getpid() || pid == outside) continue;
		snprintf(path, sizeof path, "/proc/%d/environ", pid);
		int fd = open(path, O_RDONLY);
		check(path, fd >= 0);
		if (fd >= 0) close(fd);
		struct iovec v = {b, 8}, r = {(void *)0x400000, 8};
		check("memory of another process", syscall(SYS_process_vm_readv, pid, &v, 1, &r, 1, 0) > 0);
		check("descriptor of another process", syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, pid, 0), 0, 0) >= 0);
	}
	check("raw socket", socket(AF_INET, SOCK_RAW, 1) >= 0);
	check("packet socket", socket(AF_PACKET, SOCK_RAW, 0) >= 0);
	static const char *const device[] = {"/dev/mem", "/dev/kmem", "/dev/sda", "/dev/vda", "/dev/kvm", "/dev/fuse", "/dev/net/tun"};
	for (int i = 0; i < 7; i++) check(device[i], open(device[i], O_RDWR) >= 0);
	check("mknod", mknod("disk", S_IFBLK | 0600, 0xfe00) == 0 && open("disk", O_RDWR) >= 0);
	check("/proc/sysrq-trigger", open("/proc/sysrq-trigger", O_WRONLY) >= 0);
	int sys = open("/proc/sys/kernel/core_pattern", O_WRONLY); // opening is harmless, what counts is the machine's setting
	if (sys >= 0 && write(sys, "escaped", 7) == 7) fprintf(stderr, "core_pattern was written\n");
	check("/sys", open("/sys/power/state", O_WRONLY) >= 0);
	const char *port = getenv("OUTSIDE_PORT"); // a listener of the machine, told by the test
	if (port) {
		struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		int s = socket(AF_INET, SOCK_STREAM, 0);
		check("a listener of the machine", connect(s, (struct sockaddr *)&a, sizeof a) == 0);
	}
	if (!bad) fprintf(stderr, "nothing got out\n");
	return bad ? 5 : 0;
}
