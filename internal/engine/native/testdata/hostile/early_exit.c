// A server that ends at once though it should run on: it wrote why.
// want: reason=finished
// want: crash kind=exit .*exit=3
// want: line .*cannot read its configuration
#include <stdio.h>

int main(void) {
	fprintf(stderr, "cannot read its configuration\n");
	return 3;
}
