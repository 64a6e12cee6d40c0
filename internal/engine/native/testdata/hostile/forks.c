// Forks without end. The limit of threads answers EAGAIN, as a limit of processes does.
// want: reason=(finished|limit|max_time)
// want: reproducible=true
// want: events=\d{4,}
// want: crashes=0
#include <unistd.h>
int main(void)
{
	for (;;)
		fork();
}
