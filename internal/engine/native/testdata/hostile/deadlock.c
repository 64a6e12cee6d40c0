// Waits for itself: nobody can ever run again, and no timer is set.
// want: reason=(finished|deadlock|max_time)
#include <unistd.h>

int main(void) {
	int p[2];
	char c;
	if (pipe(p)) return 1;
	return read(p[0], &c, 1);
}
