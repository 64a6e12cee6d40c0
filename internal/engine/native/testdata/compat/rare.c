// Calls that few programs make: the older getdents, adjtimex, sched_setattr, setdomainname, odd prctl operations, and what ipcs asks
// for.
#include "compat.h"
#include <dirent.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/timex.h>
#include <sys/utsname.h>

static void getdents_old(void) {
	struct linux_dirent {
		unsigned long ino, off;
		unsigned short reclen;
		char name[];
	};
	char buffer[1024];
	mkdir("dir", 0755), mkdir("dir/folder", 0755), symlink("x", "dir/link");
	close(open("dir/file-with-a-long-name", O_CREAT | O_WRONLY, 0644));
	int fd = MUST(open("dir", O_RDONLY | O_DIRECTORY));
	CALL(syscall(SYS_getdents, fd, buffer, 8L), "no room");
	long n = MUST(syscall(SYS_getdents, fd, buffer, sizeof buffer));
	int seen = 0;
	for (long at = 0; at < n;) {
		struct linux_dirent *d = (void *)(buffer + at);
		int type = buffer[at + d->reclen - 1];
		seen += !strcmp(d->name, "folder") && type == DT_DIR && d->reclen % 8 == 0;
		seen += !strcmp(d->name, "link") && type == DT_LNK && d->reclen == 24;
		at += d->reclen;
	}
	say("%d seen", seen);
	CALL(syscall(SYS_getdents, fd, buffer, sizeof buffer), "at the end");
	CALL(syscall(SYS_getdents, 99, buffer, sizeof buffer), "no file");
	CALL(syscall(SYS_getdents, MUST(open("dir/file-with-a-long-name", O_RDONLY)), buffer, sizeof buffer), "no folder");
}

static void adjust(void) {
	struct timex x = {0};
	long state = adjtimex(&x);
	IS(state >= 0 && state <= 5, "adjtimex reads");
	IS(x.tick == 10000 && x.precision >= 0 && x.tolerance == 32768000, "what clocks are like");
	x = (struct timex){0};
	IS(clock_adjtime(CLOCK_REALTIME, &x) == state, "clock_adjtime reads");
	CALL(clock_adjtime(CLOCK_MONOTONIC, &x), "another clock");
	CALL(clock_adjtime(77, &x), "no clock");
	CALL(syscall(SYS_adjtimex, 8L), "a bad address");
	struct timeval left;
	CALL(adjtime(NULL, &left), "adjtime reads");
	IN_CHILD("a user") {
		unprivileged();
		x = (struct timex){.modes = ADJ_FREQUENCY};
		CALL(adjtimex(&x), "adjtimex writes");
		x.modes = ADJ_OFFSET;
		CALL(clock_adjtime(CLOCK_REALTIME, &x), "clock_adjtime writes");
	}
}

struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static void scheduling(void) {
	struct attr a = {.size = 48};
	CALL(syscall(SYS_sched_getattr, 0, &a, sizeof a, 0), "sched_getattr");
	say("policy %u, nice %d, priority %u", a.policy, a.nice, a.priority);
	IN_CHILD("a child") {
		unprivileged();
		a = (struct attr){.size = 48, .policy = 3, .nice = 5};
		CALL(syscall(SYS_sched_setattr, 0, &a, 0), "batch, nice 5");
		a = (struct attr){.size = 48};
		syscall(SYS_sched_getattr, 0, &a, sizeof a, 0);
		say("policy %u, nice %d; getpriority %ld", a.policy, a.nice, syscall(SYS_getpriority, 0, 0));
		a = (struct attr){.size = 48, .nice = 1};
		CALL(syscall(SYS_sched_setattr, 0, &a, 0), "nicer again");
		a = (struct attr){.size = 48, .policy = 1};
		CALL(syscall(SYS_sched_setattr, 0, &a, 0), "FIFO without a priority");
		a.priority = 1;
		CALL(syscall(SYS_sched_setattr, 0, &a, 0), "FIFO");
		a = (struct attr){.size = 48, .policy = 0, .nice = 5, .priority = 1};
		CALL(syscall(SYS_sched_setattr, 0, &a, 0), "a priority for others");
		a = (struct attr){.size = 48, .policy = 9};
		CALL(syscall(SYS_sched_setattr, 0, &a, 0), "no policy");
	}
	a = (struct attr){.size = 48, .flags = 1ULL << 40};
	CALL(syscall(SYS_sched_setattr, 0, &a, 0), "no flag");
	a = (struct attr){.size = 20};
	CALL(syscall(SYS_sched_setattr, 0, &a, 0), "too small");
	a = (struct attr){.size = 48};
	CALL(syscall(SYS_sched_setattr, 0, &a, 1), "flags");
	CALL(syscall(SYS_sched_setattr, -1, &a, 0), "below 0");
	CALL(syscall(SYS_sched_setattr, 0, NULL, 0), "nothing");
	CALL(syscall(SYS_sched_setattr, 4000000, &a, 0), "nobody");
	CALL(syscall(SYS_sched_getattr, 4000000, &a, sizeof a, 0), "nobody's");
	CALL(syscall(SYS_sched_getattr, 0, &a, 40, 0), "little room");
}

static void domain(void) {
	IN_CHILD("a user") {
		unprivileged();
		CALL(setdomainname("x", 1), "setdomainname");
		CALL(syscall(SYS_vhangup), "vhangup");
	}
}

static void process(void) {
	int *cleared = NULL, mine;
	CALL(prctl(PR_GET_TIMING, 0, 0, 0, 0), "timing");
	CALL(prctl(PR_MCE_KILL_GET, 0, 0, 0, 0), "PR_MCE_KILL_GET");
	CALL(prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0), "PR_TASK_PERF_EVENTS_DISABLE");
	CALL(prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0), "PR_SET_TSC");
	CALL(prctl(PR_GET_FPEMU, &mine, 0, 0, 0), "another processor's");
	CALL(prctl(PR_GET_ENDIAN, &mine, 0, 0, 0), "another processor's");
	MUST(syscall(SYS_set_tid_address, &mine));
	if (prctl(PR_GET_TID_ADDRESS, &cleared, 0, 0, 0) < 0) say("skip: a kernel without checkpoints");
	else IS(cleared == &mine, "PR_GET_TID_ADDRESS");
}

// What others have on the machine counts, too: only relations are looked at.
static void ipc(void) {
	int set = MUST(semget(IPC_PRIVATE, 3, 0600)), queue = MUST(msgget(IPC_PRIVATE, 0600)), segment = MUST(shmget(IPC_PRIVATE, 5000, 0600));
	struct { long type; char text[5]; } m = {1, "abcd"};
	MUST(msgsnd(queue, &m, 5, 0));
	struct seminfo s;
	int top = MUST(semctl(0, 0, IPC_INFO, &s));
	IS(top >= 0 && s.semvmx == 32767 && s.semmni > 0 && s.semmsl > 0 && s.semopm > 0, "limits of semaphores");
	top = MUST(semctl(0, 0, SEM_INFO, &s));
	IS(s.semusz >= 1 && s.semaem >= 3, "semaphores in use");
	struct semid_ds sd;
	int found = 0;
	for (int i = 0; i <= top; i++) found += semctl(i, 0, SEM_STAT, &sd) == set && sd.sem_nsems == 3;
	say("the set: %d", found);
	CALL(semctl(0x7000, 0, SEM_STAT, &sd), "SEM_STAT of no place");
	struct msginfo q;
	top = MUST(msgctl(0, IPC_INFO, (void *)&q));
	IS(q.msgmax > 0 && q.msgmnb > 0 && q.msgmni > 0, "limits of queues");
	top = MUST(msgctl(0, MSG_INFO, (void *)&q));
	IS(q.msgpool >= 1 && q.msgmap >= 1 && q.msgtql >= 5, "queues in use");
	struct msqid_ds qd;
	found = 0;
	for (int i = 0; i <= top; i++) found += msgctl(i, MSG_STAT, &qd) == queue && qd.msg_qnum == 1;
	say("the queue: %d", found);
	CALL(msgctl(0x7000, MSG_STAT, &qd), "MSG_STAT of no place");
	struct shminfo h;
	top = MUST(shmctl(0, IPC_INFO, (void *)&h));
	IS(h.shmmin == 1 && h.shmmni > 0, "limits of segments");
	struct shm_info hi;
	top = MUST(shmctl(0, SHM_INFO, (void *)&hi));
	IS(hi.used_ids >= 1 && hi.shm_tot >= 2, "segments in use");
	struct shmid_ds hd;
	found = 0;
	for (int i = 0; i <= top; i++) found += shmctl(i, SHM_STAT, &hd) == segment && hd.shm_segsz == 5000;
	say("the segment: %d", found);
	CALL(shmctl(0x7000, SHM_STAT, &hd), "SHM_STAT of no place");
	CALL(semctl(set, 0, 77), "no command"), CALL(msgctl(queue, 77, NULL), "no command"), CALL(shmctl(segment, 77, NULL), "no command");
	IN_CHILD("another user") {
		unprivileged();
		if (getuid() == (uid_t)geteuid() && geteuid() != 65534) {
			say("skip: no other user here");
			_exit(0);
		}
		CALL(shmctl(segment, IPC_RMID, NULL), "IPC_RMID");
		CALL(shmctl(segment, IPC_STAT, &hd), "IPC_STAT");
		CALL(shmat(segment, NULL, 0), "shmat");
		CALL(shmat(segment, NULL, SHM_RDONLY), "shmat to read");
		CALL(semctl(set, 0, IPC_RMID), "IPC_RMID of semaphores");
		CALL(msgctl(queue, IPC_RMID, NULL), "IPC_RMID of a queue");
	}
	CALL(semctl(set, 0, IPC_RMID), "IPC_RMID"), CALL(msgctl(queue, IPC_RMID, NULL), "IPC_RMID"), CALL(shmctl(segment, IPC_RMID, NULL), "IPC_RMID");
}

CASES(C(getdents_old), C(adjust), C(scheduling), C(domain), C(process), C(ipc))
