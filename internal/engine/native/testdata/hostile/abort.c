// Ends itself with a message, as an assertion does. The last lines of the log belong to the report.
// want: reason=finished
// want: crash kind=crash .*signal=SIGABRT
// want: line .*the invariant is broken
#include <stdio.h>
#include <stdlib.h>

int main(void) {
	fprintf(stderr, "the invariant is broken\n");
	abort();
}
