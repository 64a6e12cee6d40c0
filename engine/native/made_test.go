//go:build linux && amd64

package native_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that makes code with an instruction of chance cannot be repeated, whether it ends by itself or with the run, and the run says
// so. One that makes other code can.
func TestMadeCodeIsLookedThrough(t *testing.T) {
	needCompiler(t)
	const source = `
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
	static unsigned char data[8192] __attribute__((aligned(4096)));
	unsigned char *p = data;
	if (argv[1][0] == 'm')
		p = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p + 300, argv[2], strlen(argv[2]));
	if (argv[1][0] == 'p')
		mprotect(p, 8192, PROT_READ | PROT_EXEC);
	((void (*)(void))(p + 300))();
	write(1, "called\n", 7);
	if (argv[1][1] == 'o') {
		mprotect(p, 8192, PROT_READ | PROT_WRITE);
		memset(p, 0x90, 8192);
	}
	if (argv[1][1] == 'u')
		munmap(p, 8192);
	if (argv[1][1] == 's')
		pause();
	return 0;
}
`
	file := filepath.Join(t.TempDir(), "made.c")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	program := compile(t, file)
	const random, plain = "\x48\x0f\xc7\xf0\xc3", "\x48\x0f\xaf\xc0\xc3" // rdrand rax, and imul rax, rax; ret
	for _, c := range []struct{ how, code, reason string }{
		{"m", random, "rdrand"}, {"ms", random, "rdrand"}, {"p", random, "rdrand"}, {"ps", random, "rdrand"}, {"po", random, "rdrand"}, {"pu", random, "rdrand"}, {"po", plain, ""}, {"m", plain, ""}, {"p", plain, ""},
		{"m", "\x48\x0f\xc7\xfa\xc3", "rdseed"},
	} {
		spec := aloneSpec(program, c.how, c.code)
		spec.MaxTimeNs = 1e9
		log, out := run(t, spec, 1)
		if got := strings.Join(texts(log, ""), " "); got != "called" || len(out.Crashes) > 0 {
			t.Fatalf("%+v: %q, %+v", c, got, out.Crashes)
		}
		if out.Repeat.Reproducible != (c.reason == "") || !strings.Contains(out.Repeat.Reason, c.reason) {
			t.Errorf("%+v: %+v", c, out.Repeat)
		}
	}
}

// Code with an instruction of chance in a map that others share has no place for a breakpoint: the run says so. In a private map it has.
func TestSharedMapsOfCode(t *testing.T) {
	needCompiler(t)
	const source = `
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int chance(void) {
	unsigned long v;
	__asm__ volatile("rdrand %0" : "=r"(v));
	return v == 0;
}

int main(int argc, char **argv) {
	struct stat st;
	int fd = open(argv[0], O_RDONLY);
	fstat(fd, &st);
	void *p = mmap(0, st.st_size, PROT_READ | PROT_EXEC, argv[1][0] == 's' ? MAP_SHARED : MAP_PRIVATE, fd, 0);
	write(1, p == MAP_FAILED ? "failed\n" : "mapped\n", 7);
	return 0;
}
`
	file := filepath.Join(t.TempDir(), "shared.c")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	program := compile(t, file)
	for how, reason := range map[string]string{"shared": "maps code that may execute rdrand where it cannot be trapped", "private": ""} {
		log, out := run(t, aloneSpec(program, how), 1)
		if got := strings.Join(texts(log, ""), " "); got != "mapped" {
			t.Fatalf("%s: %q", how, got)
		}
		if out.Repeat.Reproducible != (reason == "") || !strings.Contains(out.Repeat.Reason, reason) {
			t.Errorf("%s: %+v", how, out.Repeat)
		}
	}
}
