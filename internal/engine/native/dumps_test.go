//go:build linux && amd64

package native_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// dumped makes a run, and gives its outcome with the digest of the one core file that it left.
func dumped(t *testing.T, spec *world.Spec) (out *record.Outcome, core, digest string) {
	t.Helper()
	dir := t.TempDir()
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 3}, engine.Options{Dumps: dir})
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 || len(out.Crashes) != 1 || out.Crashes[0].Dump == nil || out.Crashes[0].Dump.Core != files[0] {
		t.Fatalf("core files %v, crashes %+v, log %+v", files, out.Crashes, out.Log)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return out, files[0], hex.EncodeToString(sum[:])
}

// shortName is a function's name without its parameters, and without the hash that Rust appends.
func shortName(f string) string {
	if !strings.Contains(f, "(*") { // a method of Go
		f, _, _ = strings.Cut(f, "(")
	}
	if i := strings.LastIndex(f, "::h"); i >= 0 && len(f)-i == 19 {
		f = f[:i]
	}
	return f
}

// functionsOf are the named functions of a stack.
func functionsOf(s record.ThreadStack) (list []string) {
	for _, f := range s.Frames {
		if f.Function != "" {
			list = append(list, shortName(f.Function))
		}
	}
	return list
}

// places are the frames of a stack, for people.
func places(s record.ThreadStack) string {
	var b strings.Builder
	for _, f := range s.Frames {
		fmt.Fprintf(&b, "%s %s %s:%d\n", f.PC, f.Function, f.File, f.Line)
	}
	return b.String()
}

// inOrder reports whether a list has all of some names in this order.
func inOrder(list, names []string) bool {
	for _, name := range list {
		if len(names) > 0 && name == names[0] {
			names = names[1:]
		}
	}
	return len(names) == 0
}

const crashC = `#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define KEEP __attribute__((noinline))
static void *idle(void *p) { for (;;) pause(); return p; }
static volatile int depth, zero;
KEEP static int take(char **slots, int at) { return slots[at][7] + depth; }
KEEP static int serve(int round) { char *slots[4] = {0}; if (round == 2) return take(slots, 1); return serve(round + 1) + 1; }
KEEP static int deep(int n) { volatile char room[200]; room[n % 200] = n; return deep(n + 1) + room[3]; }
KEEP static int call(int (*f)(int)) { return f(1) + depth; }
KEEP static int divide(int n) { return n / zero; }
KEEP static void quit(void) { abort(); }
KEEP static void handler(int sig) { signal(sig, SIG_DFL); raise(sig); }
int main(int argc, char **argv) {
	pthread_t t;
	pthread_create(&t, 0, idle, 0);
	usleep(1000);
	struct sigaction again = {.sa_handler = handler, .sa_flags = SA_NODEFER};
	if (!strcmp(argv[1], "handler")) sigaction(SIGSEGV, &again, 0), argv[1] = "null";
	if (!strcmp(argv[1], "no room")) signal(SIGSEGV, handler), argv[1] = "deep";
	if (!strcmp(argv[1], "null")) return serve(0);
	if (!strcmp(argv[1], "deep")) return deep(0);
	if (!strcmp(argv[1], "call")) return call(0);
	if (!strcmp(argv[1], "divide")) return divide(3) + depth;
	if (!strcmp(argv[1], "trap")) __builtin_trap();
	quit();
}
`

const crashCPlusPlus = `#include <stdexcept>
#include <vector>
namespace store {
template <typename T> struct Table { std::vector<T> rows; __attribute__((noinline)) T find(int key) { if (key > 3) throw std::runtime_error("no such key"); return rows[key]; } };
}
__attribute__((noinline)) static int lookup(store::Table<int> &t, int key) { return t.find(key) + 1; }
int main() { store::Table<int> t; return lookup(t, 9); }
`

const crashRust = `#[inline(never)]
fn fetch(slots: *const i32, at: usize) -> i32 { unsafe { *slots.add(at) } }
mod ledger {
    #[inline(never)]
    pub fn total(n: usize) -> i32 { if n == 0 { super::fetch(std::ptr::null(), 2) } else { total(n - 1) + 1 } }
}
fn main() { std::process::exit(ledger::total(2)); }
`

const crashGo = `package main

import "os"

type table struct{ rows []int }

//go:noinline
func (t *table) find(key int) int { return *t.get(key) }

//go:noinline
func (t *table) get(key int) *int { var none *int; if key > 0 { return none }; return &t.rows[0] }

func main() { os.Exit((&table{}).find(1)) }
`

// A program that a fatal signal ends leaves its stacks with names and lines, its registers and a core file, from which gdb reports the same.
// The whole report repeats, in both ways of interception, and asking for it changes no trace.
//
//ci:later
func TestDumps(t *testing.T) {
	needs.Program(t, "gdb")
	made := ""
	c := func(*testing.T) string {
		if made == "" {
			made = build(t, "gcc", "crash.c", crashC, "-g", "-O1", "-pthread", "-fno-optimize-sibling-calls")
		}
		return made
	}
	from := func(compiler, name, source string, flags ...string) func(t *testing.T) string {
		return func(t *testing.T) string { return build(t, compiler, name, source, flags...) }
	}
	for _, test := range []struct {
		name          string
		program       func(t *testing.T) string
		argument      string
		env           string
		signal        string
		why, address  string
		functions     []string // ours and gdb's, innermost first
		line          string   // file and line of one of them
		others, plain bool     // has another thread; gdb finds no names
	}{
		{name: "null pointer", program: c, argument: "null", signal: "SIGSEGV", why: "address not mapped", address: "0x7",
			functions: []string{"take", "serve", "serve", "serve", "main"}, line: "crash.c:10", others: true},
		{name: "a null function", program: c, argument: "call", signal: "SIGSEGV", why: "address not mapped", address: "0x0",
			functions: []string{"call", "main"}, others: true},
		{name: "endless recursion", program: c, argument: "deep", signal: "SIGSEGV", why: "address not mapped",
			functions: []string{"deep", "deep", "main"}, others: true},
		{name: "division by zero", program: c, argument: "divide", signal: "SIGFPE", why: "integer division by zero",
			functions: []string{"divide", "main"}, others: true},
		{name: "an illegal instruction", program: c, argument: "trap", signal: "SIGILL", why: "illegal operand", functions: []string{"main"}, others: true},
		{name: "abort", program: c, argument: "abort", signal: "SIGABRT", why: "raised by the program itself",
			functions: []string{"abort", "quit", "main"}, others: true},
		{name: "a handler that raises the signal again", program: c, argument: "handler", signal: "SIGSEGV", why: "raised by the program itself",
			functions: []string{"raise", "handler", "take", "serve", "main"}, line: "crash.c:10", others: true},
		{name: "a handler without room for its frame", program: c, argument: "no room", signal: "SIGSEGV",
			why: "address not mapped", functions: []string{"deep", "deep", "main"}, others: true},
		{name: "stripped and static", program: from("gcc", "crash.c", crashC, "-O1", "-pthread", "-fno-optimize-sibling-calls",
			"-s", "-static-pie"), argument: "null", signal: "SIGSEGV", why: "address not mapped", address: "0x7", others: true, plain: true},
		{name: "c++", program: from("g++", "crash.cc", crashCPlusPlus, "-g", "-O1"), signal: "SIGABRT", why: "raised by the program itself",
			functions: []string{"abort", "store::Table<int>::find", "lookup", "main"}, line: "crash.cc:6"},
		{name: "rust", program: from("rustc", "crash.rs", crashRust, "-g", "-C", "opt-level=1", "-C", "panic=abort"),
			signal: "SIGSEGV", why: "address not mapped", address: "0x8",
			functions: []string{"crash::fetch", "crash::ledger::total", "crash::main"}, line: "crash.rs:2"},
		{name: "go", program: from("go", "main.go", crashGo, "build"), env: "GOTRACEBACK=crash", signal: "SIGABRT", why: "raised by the program itself",
			functions: []string{"runtime.raise", "runtime.sigpanic", "main.(*table).find", "main.main"}, line: "main.go:8", others: true},
		{name: "go without DWARF", program: from("go", "main.go", crashGo, "build", "-ldflags=-s -w"), env: "GOTRACEBACK=crash",
			signal: "SIGABRT", why: "raised by the program itself",
			functions: []string{"main.(*table).find", "main.main", "runtime.main"}, line: "main.go:8", others: true, plain: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := test.program(t)
			spec := aloneSpec(program, test.argument)
			if test.env != "" {
				spec.Nodes[0].Env = append(spec.Nodes[0].Env, test.env)
			}
			_, bare := run(t, spec, 3)
			out, core, digest := dumped(t, spec)
			if bare.Hash != out.Hash {
				t.Errorf("asking for a dump changes the trace: %s and %s", bare.Hash, out.Hash)
			}
			for _, mode := range []string{"", "1"} {
				t.Setenv(native.ReferenceVariable, mode)
				again, other, sum := dumped(t, spec)
				if sum != digest || again.Hash != out.Hash {
					where, _ := exec.Command("cmp", core, other).CombinedOutput()
					t.Errorf("with %s=%q the core is another one: %s %s", native.ReferenceVariable, mode, sum, where)
				}
			}
			crash := out.Crashes[0]
			d := crash.Dump
			if crash.Signal != test.signal || !strings.Contains(d.Why, test.why) || test.address != "" && d.Address != test.address {
				t.Errorf("%s, %s at %q", crash.Signal, d.Why, d.Address)
			}
			ours := functionsOf(d.Threads[0])
			if !test.plain && !inOrder(ours, test.functions) || test.plain && len(d.Threads[0].Frames) < 4 {
				t.Errorf("the stack is\n%s", places(d.Threads[0]))
			}
			if d.Threads[0].Skipped > 0 != strings.Contains(strings.Join(test.functions, " "), "deep") {
				t.Errorf("%d frames are left out", d.Threads[0].Skipped)
			}
			if !slices.ContainsFunc(d.Threads[0].Frames,
				func(f record.Frame) bool { return strings.HasSuffix(fmt.Sprintf("%s:%d", f.File, f.Line), test.line) }) {
				t.Errorf("no frame is at %s:\n%s", test.line, places(d.Threads[0]))
			}
			if test.others && (len(d.Threads) < 2 || len(d.Threads[1].Frames) < 2) {
				t.Errorf("the threads are %+v", d.Threads)
			}
			if d.Program != program || len(d.Registers) == 0 || d.Registers[0].Name != "rip" {
				t.Errorf("program %q, registers %v", d.Program, d.Registers)
			}
			limits := []string{"-batch", "-ex", "set backtrace limit 100000", "-ex", "bt -48", "-ex", "bt 48", "-ex", "p $rip", "-ex", "info auxv"}
			text, err := exec.Command("gdb", append(limits, d.Program, core)...).CombinedOutput()
			if err != nil || !strings.Contains(string(text), "terminated with signal "+test.signal) || !strings.Contains(string(text), "AT_ENTRY") {
				t.Fatalf("gdb: %v\n%s", err, text)
			}
			if !regexp.MustCompile(`(?m)^\$1 = .*` + d.Registers[0].Value + `\b`).Match(text) {
				t.Errorf("gdb does not find the instruction pointer %s:\n%s", d.Registers[0].Value, text)
			}
			if !test.plain {
				last := string(text)[strings.LastIndex(string(text), "\n#0"):]
				if len(test.functions) > 0 && !strings.Contains(strings.Join(test.functions, " "), "deep") &&
					!inOrder(gdbFunctions(last), gdbNames(test.functions)) {
					t.Errorf("gdb finds other calls:\n%s", text)
				}
			}
		})
	}
}

var gdbFrame = regexp.MustCompile(`(?m)^#\d+ +(?:0x[0-9a-f]+ in )?(.+?) \(`)

// gdbFunctions are the functions of a backtrace of gdb.
func gdbFunctions(text string) (list []string) {
	for _, m := range gdbFrame.FindAllStringSubmatch(text, -1) {
		list = append(list, shortName(strings.TrimPrefix(strings.TrimPrefix(m[1], "__GI_"), "__pthread_")))
	}
	return list
}

// gdbNames leaves out what gdb calls otherwise: what libraries have several names for, and methods of Go.
func gdbNames(functions []string) (list []string) {
	for _, f := range functions {
		if f != "abort" && f != "raise" && !strings.Contains(f, "(*") {
			list = append(list, f)
		}
	}
	return list
}

// A program's own rules for its frames are executed so long and no longer: they may be made to take for ever.
func TestLongRulesOfFrames(t *testing.T) {
	needCompiler(t)
	const source = `
#include <unistd.h>
/* Each frame lies 8 bytes above the one before, which its unwind table says by 20,000 operations without effect. */
__asm__(".globl f\n.type f,@function\nf:\n.cfi_startproc\n.cfi_escape 0x0f,0xa2,0x9c,0x01\n.rept 20000\n.cfi_escape 0x96\n.endr\n.cfi_escape 0x77,0x08\n"
	".cfi_offset 16,-8\nmovq $0,0\nnop\nnop\nret\n.cfi_endproc\n.size f,.-f\n");
extern void f(void);

int main(void) {
	static unsigned long stack[20000];
	for (int i = 0; i < 20000; i++) stack[i] = (unsigned long)f + 13;
	__asm__ volatile("mov %0, %%rsp; jmp f" : : "r"(stack + 16));
}
`
	file := filepath.Join(t.TempDir(), "rules.c")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _, _ := dumped(t, aloneSpec(compile(t, file, "-static")))
	if d := out.Crashes[0].Dump; len(d.Threads) != 1 || len(d.Threads[0].Frames) < 60 || d.Threads[0].Skipped > 10_000 {
		t.Errorf("%d frames and %d more", len(d.Threads[0].Frames), d.Threads[0].Skipped)
	}
}
