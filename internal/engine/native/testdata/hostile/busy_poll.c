// Polls a pipe that stays empty without ever waiting. Virtual time goes on, so the world ends by its time or its limit
// of events, and the run can be repeated.
// want: reason=(finished|max_time|limit)
// want: reproducible=true
#include <poll.h>
#include <unistd.h>

int main(void) {
	int p[2];
	if (pipe(p)) return 1;
	struct pollfd f = {p[0], POLLIN, 0};
	for (;;) poll(&f, 1, 0);
}
