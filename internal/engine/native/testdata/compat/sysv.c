// System V semaphores, message queues and shared memory.
#include "compat.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

// Keys are the whole machine's: copies of this program that run at once must not meet.
#define KEY(n) (0x47000000 + getpid() % 0x10000 * 16 + (n))

static int op(int set, int number, int by, int flags) {
	struct sembuf s = {number, by, flags};
	return semop(set, &s, 1);
}

static void semaphores(void) {
	CALL(semget(IPC_PRIVATE, 0, 0600), "no semaphores");
	CALL(semget(IPC_PRIVATE, -1, 0600), "fewer than none");
	CALL(semget(KEY(1), 1, 0600), "a key that nobody has made");
	int set = OK(semget(KEY(2), 3, 0600 | IPC_CREAT | IPC_EXCL), "three");
	CALL(semget(KEY(2), 3, 0600 | IPC_CREAT | IPC_EXCL), "made already");
	IS(semget(KEY(2), 2, 0600) == set, "the same");
	CALL(semget(KEY(2), 4, 0600), "more than there are");
	CALL(semctl(set, 0, GETVAL), "a value at first");
	CALL(semctl(set, 1, SETVAL, 3), "set");
	CALL(semctl(set, 3, GETVAL), "one that does not exist");
	CALL(semctl(set, 0, SETVAL, 40000), "too much");
	unsigned short all[3] = {0};
	CALL(semctl(set, 0, GETALL, all), "all");
	say("%d %d %d", all[0], all[1], all[2]);
	CALL(op(set, 1, -2, 0), "take 2");
	CALL(op(set, 1, -2, IPC_NOWAIT), "take 2 more");
	CALL(op(set, 1, 0, IPC_NOWAIT), "wait for 0");
	CALL(op(set, 0, 0, IPC_NOWAIT), "wait for 0 where it is");
	CALL(op(set, 1, 32767, 0), "give too many");
	CALL(op(set, 9, 1, 0), "one that does not exist");
	IS(semctl(set, 1, GETPID) == getpid(), "who changed it");
	struct sembuf both[2] = {{0, 1, 0}, {1, -2, IPC_NOWAIT}};
	CALL(semop(set, both, 2), "both or none");
	CALL(semctl(set, 0, GETVAL), "none");
	both[1].sem_op = -1;
	CALL(semop(set, both, 2), "both");
	CALL(semop(set, both, 0), "no operation");
	CALL(semop(set, both, 501), "too many operations");
	CALL(semop(set, (void *)8, 1), "a bad address");
	struct timespec t = {0, 20000000};
	int64_t start = now_ms();
	struct sembuf take = {2, -1, 0};
	CALL(semtimedop(set, &take, 1, &t), "take within 20 ms");
	IS(now_ms() - start >= 19, "waited");
	struct semid_ds d;
	CALL(semctl(set, 0, IPC_STAT, &d), "stat");
	say("%lu semaphores, mode %o, its key: %d", d.sem_nsems, d.sem_perm.mode & 0777, d.sem_perm.__key == KEY(2));
	CALL(semctl(set, 0, IPC_RMID), "remove");
	CALL(semctl(set, 0, GETVAL), "gone");
	CALL(op(set, 0, 1, 0), "gone");
}

static void waiters(void) {
	int set = MUST(semget(IPC_PRIVATE, 2, 0600 | IPC_CREAT));
	pid_t child = fork();
	if (child == 0) _exit(op(set, 0, -1, 0) == 0 ? 5 : 6);
	while (semctl(set, 0, GETNCNT) == 0) nap(2);
	CALL(semctl(set, 0, GETNCNT), "waits to take");
	CALL(semctl(set, 0, GETZCNT), "waits for 0");
	CALL(op(set, 0, 1, 0), "give");
	reap(child, "the taker");
	CALL(semctl(set, 0, GETVAL), "taken");
	semctl(set, 1, SETVAL, 2);
	IN_CHILD("takes with undo") _exit(op(set, 1, -2, SEM_UNDO) == 0 && semctl(set, 1, GETVAL) == 0 ? 7 : 8);
	CALL(semctl(set, 1, GETVAL), "given back at its end");
	child = fork();
	if (child == 0) _exit(op(set, 0, -1, 0) < 0 ? errno : 0);
	while (semctl(set, 0, GETNCNT) == 0) nap(2);
	semctl(set, 0, IPC_RMID);
	int status;
	waitpid(child, &status, 0);
	say("removed meanwhile: %s", errno_name(WEXITSTATUS(status)));
}

struct message { long type; char text[16]; };

static void queues(void) {
	int q = OK(msgget(KEY(3), 0600 | IPC_CREAT), "msgget");
	struct message m = {3, "three"}, got;
	CALL(msgsnd(q, &m, 6, 0), "send");
	m.type = 1, strcpy(m.text, "one");
	CALL(msgsnd(q, &m, 4, 0), "send");
	m.type = 2, strcpy(m.text, "two");
	CALL(msgsnd(q, &m, 4, 0), "send");
	m.type = 0;
	CALL(msgsnd(q, &m, 4, 0), "type 0");
	m.type = 1;
	CALL(msgsnd(q, &m, 8193, 0), "too large");
	CALL(msgrcv(q, &got, 16, 2, 0), "by type");
	say("%ld %s", got.type, got.text);
	CALL(msgrcv(q, &got, 16, -3, 0), "the lowest up to 3");
	say("%ld %s", got.type, got.text);
	CALL(msgrcv(q, &got, 16, 3, MSG_EXCEPT | IPC_NOWAIT), "all but type 3");
	CALL(msgrcv(q, &got, 2, 0, 0), "too little room");
	CALL(msgrcv(q, &got, 2, 0, MSG_NOERROR), "cut");
	CALL(msgrcv(q, &got, 16, 0, IPC_NOWAIT), "empty");
	struct msqid_ds d;
	CALL(msgctl(q, IPC_STAT, &d), "stat");
	say("%lu messages, %lu bytes", d.msg_qnum, d.__msg_cbytes);
	IS(d.msg_lspid == getpid() && d.msg_lrpid == getpid(), "who used it last");
	d.msg_qbytes = 10;
	CALL(msgctl(q, IPC_SET, &d), "room for 10 bytes");
	CALL(msgsnd(q, &m, 8, IPC_NOWAIT), "8 bytes");
	CALL(msgsnd(q, &m, 8, IPC_NOWAIT), "8 more");
	pid_t child = fork();
	if (child == 0) _exit(msgsnd(q, &m, 8, 0) == 0 ? 5 : 6);
	asleep(child);
	CALL(msgrcv(q, &got, 16, 0, 0), "make room");
	reap(child, "the sender");
	CALL(msgrcv(q, &got, 16, 0, 0), "its message");
	child = fork();
	if (child == 0) _exit(msgrcv(q, &got, 16, 0, 0) < 0 ? errno : 0);
	asleep(child);
	CALL(msgctl(q, IPC_RMID, NULL), "remove");
	int status;
	waitpid(child, &status, 0);
	say("removed meanwhile: %s", errno_name(WEXITSTATUS(status)));
	CALL(msgsnd(q, &m, 8, 0), "gone");
}

static void memory(void) {
	CALL(shmget(IPC_PRIVATE, 0, 0600 | IPC_CREAT), "nothing");
	int id = OK(shmget(KEY(4), 5000, 0600 | IPC_CREAT), "shmget");
	IS(shmget(KEY(4), 0, 0) == id, "the same");
	CALL(shmget(KEY(4), 9000, 0), "larger than it is");
	int *p = shmat(id, NULL, 0), *r = shmat(id, NULL, SHM_RDONLY);
	IS(p != (void *)-1 && r != p, "attached twice");
	p[0] = 7;
	say("seen by the other: %d", r[0]);
	IN_CHILD("a child writes") p[1] = 8;
	say("seen here: %d", r[1]);
	struct shmid_ds d;
	CALL(shmctl(id, IPC_STAT, &d), "stat");
	say("%lu bytes, %lu attached", d.shm_segsz, d.shm_nattch);
	CALL(shmdt(r), "detach");
	CALL(shmdt(r), "again");
	CALL(shmctl(id, IPC_RMID, NULL), "remove");
	CALL(shmctl(id, IPC_STAT, &d), "it is there while attached");
	say("%d attached, to be destroyed %d", (int)d.shm_nattch, !!(d.shm_perm.mode & SHM_DEST));
	CALL(shmget(KEY(4), 5000, 0600), "its key is free");
	p[2] = 9;
	CALL(shmdt(p), "detach");
	CALL(shmctl(id, IPC_STAT, &d), "gone");
	IS(shmat(id, NULL, 0) == (void *)-1, "cannot be attached");
}

CASES(C(semaphores), C(waiters), C(queues), C(memory))
