//go:build linux && amd64

package native_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A program that makes code with an instruction of chance cannot be repeated, whether it ends by itself or with the run, and the run says
// so. One that makes other code can.
//
//ci:underway
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
		{"m", random, "rdrand"}, {"ms", random, "rdrand"}, {"p", random, "rdrand"}, {"ps", random, "rdrand"},
		{"po", random, "rdrand"}, {"pu", random, "rdrand"}, {"po", plain, ""}, {"m", plain, ""}, {"p", plain, ""},
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

// There are many ways to memory that a program fills and executes, and one reason why the run cannot be repeated.
//
//ci:underway
func TestEveryWayToMadeCode(t *testing.T) {
	needCompiler(t)
	const source = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL (PROT_READ | PROT_WRITE | PROT_EXEC)
#define MADE MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
static unsigned char segment[4096] __attribute__((section(".made,\"awx\",@progbits#"))) = {1};
static const char *code;
static int readable = PROT_READ;

static void call(unsigned char *p) {
	memset(p, 0x90, 300);
	memcpy(p + 300, code, strlen(code));
	((void (*)(void))(p + 300))();
	write(1, "called\n", 7);
}
static void moved(void) { call(mremap(mmap(0, 8192, ALL, MADE, -1, 0), 8192, 1 << 20, MREMAP_MAYMOVE)); }
static void zeros(void) { call(mmap(0, 8192, ALL, MAP_PRIVATE, open("/dev/zero", O_RDWR), 0)); }
static void shared(void) { call(mmap(0, 8192, ALL, MAP_SHARED | MAP_ANONYMOUS, -1, 0)); }
static void far(void) { call((unsigned char *)mmap(0, 512 << 20, ALL, MADE, -1, 0) + (400 << 20)); }
static void twice(void) {
	int fd = memfd_create("code", 0);
	ftruncate(fd, 4096);
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), *q = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	memset(p, 0x90, 300), memcpy(p + 300, code, strlen(code));
	((void (*)(void))(q + 300))();
	write(1, "called\n", 7);
}
static void in_segment(void) { call(segment); }
static void on_stack(void) { unsigned char p[600]; call(p); _exit(0); }
static void unreadable(void) {
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MADE, -1, 0);
	memset(p, 0x90, 300), memcpy(p + 300, code, strlen(code));
	mprotect(p, 4096, PROT_EXEC);
	((void (*)(void))(p + 300))();
	write(1, "called\n", 7);
}
/* file executes what it writes to a file, that is no program, before that is mapped, or afterwards. */
static void file(const char *name, off_t size, int late) {
	unsigned char b[600];
	memset(b, 0x90, 300), memcpy(b + 300, code, strlen(code));
	int fd = open(name, O_RDWR | O_CREAT, 0700);
	ftruncate(fd, size);
	if (!late) pwrite(fd, b, 300 + strlen(code), 0);
	unsigned char *p = mmap(0, 4096, readable | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (late) pwrite(fd, b, 300 + strlen(code), 0);
	((void (*)(void))(p + 300))();
	write(1, "called\n", 7);
}
static void flat(void) { file("flat", 4096, 0); }
static void flat_unreadable(void) { readable = 0; flat(); }
static void flat_late(void) { file("late", 4096, 1); }
static void flat_large(void) { file("large", 3L << 30, 0); }
/* data is no code in a program's file. */
static void program_data(void) {
	static unsigned char table[8192] __attribute__((aligned(4096), section(".made_data,\"a\",@progbits#"))) = {1};
	int fd = open("/proc/self/exe", O_RDONLY), out = open("data", O_RDWR | O_CREAT, 0700);
	struct stat st;
	fstat(fd, &st);
	unsigned char *p = mmap(0, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0), *q = p + st.st_size - 600;
	memset(q, 0x90, 300), memcpy(q + 300, code, strlen(code));
	write(out, p, st.st_size);
	p = mmap(0, st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, out, 0);
	((void (*)(void))(p + st.st_size - 300))();
	write(1, table[0] ? "called\n" : "", 7);
}
static void *last(void *arg) { usleep(1000); call(mmap(0, 8192, ALL, MADE, -1, 0)); syscall(SYS_exit, 0); return 0; }
static void without_main(void) { pthread_t t; pthread_create(&t, 0, last, 0); syscall(SYS_exit, 0); }
static void in_child(void) {
	if (fork() == 0) { call(mmap(0, 8192, ALL, MADE, -1, 0)); pause(); }
	usleep(1000);
	kill(0, SIGKILL);
}
static void by_key(void) {
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MADE, -1, 0);
	memset(p, 0x90, 300), memcpy(p + 300, code, strlen(code));
	syscall(SYS_pkey_mprotect, p, 4096, PROT_READ | PROT_EXEC, -1);
	((void (*)(void))(p + 300))();
	write(1, "called\n", 7);
}
static void shared_zeros(void) { call(mmap(0, 8192, ALL, MAP_SHARED, open("/dev/zero", O_RDWR), 0)); }
static void before_exec(void) { call(mmap(0, 8192, ALL, MADE, -1, 0)); execl("/bin/true", "true", NULL); }

int main(int argc, char **argv) {
	static void (*const ways[])(void) = {moved, zeros, shared, far, twice, in_segment, on_stack, unreadable, flat, flat_unreadable, flat_late, flat_large, program_data,
		without_main, in_child, before_exec, by_key, shared_zeros};
	code = argv[2];
	if (atoi(argv[1]) < sizeof ways / sizeof ways[0]) ways[atoi(argv[1])]();
	return 0;
}
`
	ways := []string{"moved", "zeros", "shared", "far", "twice", "in a segment", "on the stack", "unreadable", "flat",
		"flat and unreadable", "flat and late", "flat and large", "data of a program",
		"without the main thread", "in a child", "before an exec", "by a key", "shared zeros"}
	file := filepath.Join(t.TempDir(), "ways.c")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	program := compile(t, file, "-z", "execstack")
	for i, way := range ways {
		for _, c := range []struct{ code, reason string }{
			{"\x48\x0f\xc7\xf0\xc3", "rdrand"},
			{"\x6a\x01\x59\x0f\x01\xd0\xc3", "xgetbv"}, // push 1; pop rcx; xgetbv; ret
			{"\x31\xc9\x0f\x01\xd0\xc3", ""},           // xor ecx, ecx; xgetbv; ret
		} {
			spec := aloneSpec(program, strconv.Itoa(i), c.code)
			spec.MaxTimeNs = 1e9
			log, out := run(t, spec, 1)
			if got := strings.Join(texts(log, ""), " "); got != "called" {
				t.Fatalf("%s, %s: %q, %+v", way, c.reason, got, out.Crashes)
			}
			if out.Repeat.Reproducible != (c.reason == "") || !strings.Contains(out.Repeat.Reason, c.reason) {
				t.Errorf("%s, %s: %+v", way, c.reason, out.Repeat)
			}
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
