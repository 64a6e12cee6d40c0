/* Programs that tell of more than can be taken: of too many modules, of too many edges, and of too many guards. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

uint64_t init_coverage_module(size_t edges, const char *symbols);
bool notify_coverage(size_t edge);
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard);

static uint32_t guards[(1 << 24) + 1];

static void tell(size_t edges, const char *symbols)
{
	notify_coverage(init_coverage_module(edges, symbols) + 1);
}

int main(int argc, char **argv)
{
	char name[32];
	if (!strcmp(argv[1], "modules"))
		for (int i = 0; i < 1030; i++) {
			snprintf(name, sizeof name, "m%d.sym.tsv", i);
			tell(2, name);
		}
	if (!strcmp(argv[1], "edges")) {
		tell(16000000, "large.sym.tsv");
		tell(1000000, "beyond.sym.tsv");
		tell(100, "small.sym.tsv");
	}
	if (!strcmp(argv[1], "guards")) {
		__sanitizer_cov_trace_pc_guard_init(guards, guards + (1 << 24) + 1);
		__sanitizer_cov_trace_pc_guard(guards);
		tell(100, "small.sym.tsv");
	}
	if (!strcmp(argv[1], "child")) {
		if (!fork()) {
			tell(100, "small.sym.tsv");
			_exit(0);
		}
		wait(0);
		tell(16777200, "large.sym.tsv");
		tell(100, "small.sym.tsv");
	}
	puts("told");
	return 0;
}
