/* deny-userns PROGRAM [ARGUMENT...]: runs a program that cannot make user namespaces, as on hardened machines and in
 * most containers: unshare and clone with CLONE_NEWUSER fail with EPERM, and clone3, whose flags a filter cannot see,
 * with ENOSYS, as container runtimes do it. x86-64 only. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (action))

int main(int argc, char **argv) {
	struct sock_filter filter[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 7),
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1),
		ANSWER(SECCOMP_RET_ERRNO | EPERM),
		ANSWER(SECCOMP_RET_ALLOW),
		ANSWER(SECCOMP_RET_ERRNO | ENOSYS),
	};
	struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
	if (argc < 2) {
		fprintf(stderr, "usage: deny-userns PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("deny-userns");
		return 3;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
