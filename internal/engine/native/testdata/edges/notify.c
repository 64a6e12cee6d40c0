/* A program that is linked with the instrumentation library, and whose instrumentor numbers edges from 1, as that for Go does. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

uint64_t init_coverage_module(size_t edges, const char *symbols);
bool notify_coverage(size_t edge);
uint64_t fuzz_get_random(void);
void fuzz_json_data(const char *data, size_t size);
void fuzz_flush(void);

int main(void)
{
	static const char line[] = "{\"antithesis_setup\":{\"status\":\"complete\",\"details\":null}}";
	uint64_t other = init_coverage_module(3, "other.sym.tsv"), at = init_coverage_module(5, "notify.sym.tsv");
	bool again = notify_coverage(at + 1);
	for (int i = 0; i < 1000; i++)
		notify_coverage(at + 2 + i % 2);
	notify_coverage(at + 5);
	notify_coverage(other);
	notify_coverage(1UL << 40); /* nobody's */
	fuzz_json_data(line, sizeof line - 1);
	fuzz_flush();
	printf("again %d, random %d\n", again, fuzz_get_random() != fuzz_get_random());
	return 0;
}
