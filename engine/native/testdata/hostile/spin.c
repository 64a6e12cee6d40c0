// Never makes a system call. Nothing else can run in its world: the limit of CPU time without a call ends it, and the
// run must not claim that it can be repeated.
// want: reason=limit detail=.*(spin|CPU|system call)
// want: reproducible=false
int main(void) {
	for (volatile unsigned long i = 0;; i++) {}
}
