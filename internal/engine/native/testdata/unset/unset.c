// Calls with structures of which a part is unset: behind a path's end, in padding, in members that the call does not look at. FILL is the
// byte that lies there.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int fill;

#define UNSET(type, name) type name; memset(&name, fill, sizeof name)

int main(void) {
	fill = atoi(getenv("FILL"));
	int s = socket(AF_UNIX, SOCK_STREAM, 0), d = socket(AF_INET, SOCK_DGRAM, 0), f = open("/tmp/file", O_RDWR | O_CREAT, 0644);
	{
		UNSET(struct sockaddr_un, a);
		a.sun_family = AF_UNIX;
		strcpy(a.sun_path, "/tmp/nobody");
		connect(s, (struct sockaddr *)&a, sizeof a);
		strcpy(a.sun_path, "/tmp/socket");
		bind(s, (struct sockaddr *)&a, sizeof a);
	}
	{
		UNSET(struct sockaddr_in, a);
		a.sin_family = AF_INET;
		a.sin_port = htons(4000);
		a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		bind(d, (struct sockaddr *)&a, sizeof a);
		sendto(d, "x", 1, 0, (struct sockaddr *)&a, sizeof a);
		UNSET(struct msghdr, m);
		struct iovec v = {"y", 1};
		m.msg_name = &a, m.msg_namelen = sizeof a, m.msg_iov = &v, m.msg_iovlen = 1, m.msg_control = 0, m.msg_controllen = 0;
		sendmsg(d, &m, 0);
	}
	{
		UNSET(struct sockaddr, a);
		a.sa_family = AF_UNSPEC;
		connect(d, &a, sizeof a);
	}
	{
		char name[IFNAMSIZ];
		memset(name, fill, sizeof name);
		strcpy(name, "lo");
		setsockopt(d, SOL_SOCKET, SO_BINDTODEVICE, name, sizeof name);
		long value;
		memset(&value, fill, sizeof value);
		*(int *)&value = 1;
		setsockopt(d, SOL_SOCKET, SO_REUSEADDR, &value, sizeof value);
		UNSET(struct ifreq, r);
		strcpy(r.ifr_name, "lo");
		ioctl(d, SIOCGIFINDEX, &r);
		ioctl(d, SIOCGIFNAME, &r);
		memset(&r, fill, sizeof r);
		strcpy(r.ifr_name, "lo");
		ioctl(d, SIOCGIFFLAGS, &r);
		memset(&r, fill, sizeof r);
		strcpy(r.ifr_name, "lo");
		ioctl(d, SIOCGIFADDR, &r);
		memset(&r, fill, sizeof r);
		strcpy(r.ifr_name, "none");
		ioctl(d, SIOCGIFADDR, &r);
	}
	{
		UNSET(struct flock, l);
		l.l_type = F_WRLCK, l.l_whence = SEEK_SET, l.l_start = 0, l.l_len = 10;
		fcntl(f, F_SETLK, &l);
		l.l_type = F_RDLCK;
		fcntl(f, F_GETLK, &l);
	}
	{
		UNSET(struct flock, l);
		l.l_type = F_WRLCK, l.l_whence = SEEK_SET, l.l_start = 20, l.l_len = 10, l.l_pid = 0;
		fcntl(f, F_OFD_SETLK, &l);
	}
	{
		struct timespec t[2];
		memset(t, fill, sizeof t);
		t[0].tv_nsec = UTIME_OMIT;
		t[1].tv_nsec = UTIME_NOW;
		futimens(f, t);
	}
	{
		int e = epoll_create1(0);
		UNSET(struct epoll_event, v);
		v.events = EPOLLIN;
		epoll_ctl(e, EPOLL_CTL_ADD, d, &v);
		epoll_wait(e, &v, 1, 0);
	}
	{
		fd_set in;
		memset(&in, fill, sizeof in);
		for (int i = 0; i < 8; i++) FD_CLR(i, &in);
		FD_SET(d, &in);
		struct timeval zero = {0};
		select(8, &in, 0, 0, &zero);
	}
	{
		int id = semget(IPC_PRIVATE, 1, 0600);
		UNSET(struct semid_ds, q);
		q.sem_perm.uid = 0, q.sem_perm.gid = 0, q.sem_perm.mode = 0600;
		semctl(id, 0, IPC_SET, &q);
	}
	{
		UNSET(struct sigaction, a);
		a.sa_handler = SIG_IGN, a.sa_flags = 0;
		sigemptyset(&a.sa_mask);
		sigaction(SIGUSR1, &a, 0);
		UNSET(struct sigevent, ev);
		ev.sigev_notify = SIGEV_NONE;
		timer_t id;
		timer_create(CLOCK_MONOTONIC, &ev, &id);
	}
	return 0;
}
