// Executes itself for ever.
// want: reason=(finished|limit|max_time)
// want: reproducible=true
// want: events=\d{4,}
// want: crashes=0
#include <unistd.h>
int main(int argc, char **argv)
{
	(void)argc;
	execv("/proc/self/exe", argv);
	return 1;
}
