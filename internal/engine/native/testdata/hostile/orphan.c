// Leaves grandchildren behind that ignore every signal they may, in sessions of their own. Nothing of them is left when
// the world has ended.
// want: reason=(finished|max_time|deadlock)
#include <signal.h>
#include <unistd.h>

int main(void) {
	for (int i = 0; i < 5; i++)
		if (fork() == 0) {
			setsid();
			if (fork() != 0) _exit(0);
			for (int s = 1; s < 65; s++) signal(s, SIG_IGN);
			for (;;) sleep(1000000);
		}
	return 0;
}
