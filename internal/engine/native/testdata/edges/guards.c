/* What clang's -fsanitize-coverage=trace-pc-guard makes of a program, by hand: each function has guards, a constructor registers
 * all of them, and each edge calls with its own. The functions are those that the instrumentation library exports; it is looked for
 * as antithesis_instrumentation.h does. */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*init)(uint32_t *, uint32_t *);
static void (*reached)(uint32_t *);
static uint32_t guards[6] __attribute__((section("__sancov_guards"))) = { 0 };
extern uint32_t __start___sancov_guards[], __stop___sancov_guards[];

__attribute__((noinline)) static void edge(uint32_t *guard)
{
	if (reached)
		reached(guard);
}

__attribute__((constructor)) static void module_ctor(void)
{
	void *lib = dlopen("/usr/lib/libvoidstar.so", RTLD_NOW);
	if (!lib)
		return;
	init = dlsym(lib, "__sanitizer_cov_trace_pc_guard_init");
	reached = dlsym(lib, "__sanitizer_cov_trace_pc_guard");
	init(__start___sancov_guards, __stop___sancov_guards);
	init(__start___sancov_guards, __stop___sancov_guards); /* some call it once for each object file */
}

__attribute__((noinline)) int chosen(int n)
{
	edge(&guards[0]);
	if (n > 1) {
		edge(&guards[1]);
		return n * 2;
	}
	edge(&guards[2]);
	return n;
}

__attribute__((noinline)) int never(int n)
{
	edge(&guards[3]);
	return n + 1;
}

int main(int argc, char **argv)
{
	edge(&guards[4]);
	printf("%d\n", chosen(argc));
	if (!strcmp(argv[1], "never"))
		return never(argc);
	if (!strcmp(argv[1], "child")) {
		if (fork() == 0) {
			edge(&guards[5]);
			_exit(0);
		}
		wait(NULL);
	}
	if (!strcmp(argv[1], "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(argv[1], "stay"))
		sleep(3600);
	return 0;
}
