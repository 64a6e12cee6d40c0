// A driver's report cannot be put aside, replaced or hidden, not even by root.
// want: reason=finished
// want: line stdout rename over -1 1
// want: line stdout rename away -1 1
// want: line stdout unlink -1 1
// want: line stdout create -1 1
// want: line stdout folder -1 1
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void tell(const char *what, int r) { printf("%s %d %d\n", what, r, r < 0 ? errno : 0); }

int main(void) {
	close(open("/dev/mine", O_CREAT | O_WRONLY, 0666));
	tell("rename over", rename("/dev/mine", "/dev/bloodhound/report"));
	tell("rename away", rename("/dev/bloodhound/report", "/dev/gone"));
	tell("unlink", unlink("/dev/bloodhound/report"));
	tell("create", open("/dev/bloodhound/other", O_CREAT | O_WRONLY, 0666));
	tell("folder", rename("/dev/bloodhound", "/dev/gone"));
	return 0;
}
