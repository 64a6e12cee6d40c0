// Never makes a system call. From the limit of CPU time without a call on, virtual time passes while it computes: the run comes to
// its end, and must not claim that it can be repeated.
// want: reason=finished
// want: reproducible=false
int main(void) {
	for (volatile unsigned long i = 0;; i++) {}
}
