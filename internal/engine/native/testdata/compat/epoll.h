// epoll.h: shared by the epoll programs.
#include <sys/epoll.h>

// ctl makes one epoll_ctl with a tag that events show.
UNUSED static int ctl(int ep, int op, int fd, uint32_t mask, int tag) {
	struct epoll_event e = {.events = mask, .data.u64 = tag};
	return epoll_ctl(ep, op, fd, &e);
}
#define add(ep, fd, mask, tag) ctl(ep, EPOLL_CTL_ADD, fd, mask, tag)
#define mod(ep, fd, mask, tag) ctl(ep, EPOLL_CTL_MOD, fd, mask, tag)
#define del(ep, fd) epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL)

// show_wait prints what epoll_wait reports, in its order: "label: tag=IN+HUP tag=OUT".
UNUSED static int show_wait(int ep, int max, int timeout_ms, const char *label) {
	struct epoll_event e[32];
	int n = epoll_wait(ep, e, max, timeout_ms);
	char text[800] = "";
	if (n < 0) sprintf(text, " -1 %s", errno_name(errno));
	else if (n == 0) sprintf(text, " nothing");
	for (int i = 0; i < n; i++) sprintf(text + strlen(text), " %d=%s", (int)e[i].data.u64, events(e[i].events));
	say("%s:%s", label, text);
	return n;
}
#define WAIT(ep, label) show_wait(ep, 32, 0, label)
