/* Runs a program in single steps (ptrace(2)) and prints each place at which it executes rdrand, rdseed, rdpid, xgetbv or cpuid: the
 * file, the offset of the opcode there, and the instruction. It shares no code with what it is to check.
 *
 * Arguments: how many steps at most, the program and its arguments. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t known[1024];
static int known_count;

static void tell(pid_t pid, uint64_t at, const char *what) {
	for (int i = 0; i < known_count; i++)
		if (known[i] == at) return;
	if (known_count < 1024) known[known_count++] = at;
	char name[64], line[4096], path[4096];
	snprintf(name, sizeof name, "/proc/%d/maps", pid);
	FILE *f = fopen(name, "r");
	uint64_t from, to, offset;
	while (f && fgets(line, sizeof line, f)) {
		path[0] = 0;
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095[^\n]", &from, &to, &offset, path) >= 3 && at >= from && at < to) {
			printf("executed %s %lu %s\n", what, at - from + offset, path[0] ? path : "memory");
			break;
		}
	}
	if (f) fclose(f);
}

/* look tells of the instruction at an address: prefixes, then the opcode. */
static void look(pid_t pid, uint64_t at) {
	unsigned char b[16] = {0};
	struct iovec local = {b, sizeof b}, remote = {(void *)at, sizeof b};
	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) < 3) return;
	int i = 0, repeat = 0;
	for (; i < 8; i++) {
		if (b[i] == 0xf3) repeat = 1;
		else if (b[i] != 0x66 && b[i] != 0xf2 && b[i] != 0x67 && (b[i] & 0xf0) != 0x40 && b[i] != 0x2e && b[i] != 0x3e && b[i] != 0x64 && b[i] != 0x65) break;
	}
	if (b[i] != 0x0f) return;
	if (b[i + 1] == 0xa2) tell(pid, at + i, "cpuid");
	if (b[i + 1] == 0x01 && b[i + 2] == 0xd0) tell(pid, at + i, "xgetbv");
	if (b[i + 1] == 0xc7 && b[i + 2] >> 6 == 3) {
		int reg = b[i + 2] >> 3 & 7;
		if (reg == 6) tell(pid, at + i, "rdrand");
		if (reg == 7) tell(pid, at + i, repeat ? "rdpid" : "rdseed");
	}
}

int main(int argc, char **argv) {
	long most = atol(argv[1]), steps = 0;
	pid_t child = fork();
	if (!child) {
		int null = open("/dev/null", O_RDWR);
		dup2(null, 0), dup2(null, 1), dup2(null, 2);
		setpgid(0, 0);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	int status;
	if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status)) return 1;
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
	ptrace(PTRACE_SINGLESTEP, child, 0, 0);
	for (pid_t pid; steps < most && (pid = waitpid(-1, &status, __WALL)) > 0;) {
		if (!WIFSTOPPED(status)) continue;
		int sig = WSTOPSIG(status), event = status >> 16;
		struct user_regs_struct r;
		if (sig == SIGTRAP && !event) {
			steps++;
			if (!ptrace(PTRACE_GETREGS, pid, 0, &r)) look(pid, r.rip);
		}
		int deliver = sig == SIGTRAP || sig == SIGSTOP || event ? 0 : sig;
		ptrace(PTRACE_SINGLESTEP, pid, 0, deliver);
	}
	printf("steps %ld\n", steps);
	fflush(stdout);
	_exit(0); /* PTRACE_O_EXITKILL ends what is left */
}
