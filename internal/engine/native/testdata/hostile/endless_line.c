// Prints without end and never ends a line: what is kept of it has a bound, and the report says so.
// want: reason=
// want: kept lines=[0-9]+ bytes=[0-9]{1,8}$
// want: warning the log of this run exceeds the limit
#include <string.h>
#include <unistd.h>
int main(void) {
	static char b[1 << 20];
	memset(b, 'x', sizeof b);
	for (int i = 0; i < 70; i++) write(1, b, sizeof b);
	return 0;
}
