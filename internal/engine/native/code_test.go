//go:build linux && amd64

package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// covered makes a run whose blocks are watched.
func covered(t *testing.T, spec *world.Spec, watch *code.Watch) (*record.Outcome, []record.Event) {
	t.Helper()
	var events []record.Event
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Code: watch, Observe: func(e *record.Event) { events = append(events, *e) }})
	if err != nil {
		t.Fatal(err)
	}
	return out, events
}

// unmoved requires that watching the blocks of a world's programs has no effect on it, and that two runs hit the same ones
// and a third, which knows them, none. It returns how many were hit.
func unmoved(t *testing.T, spec *world.Spec, choice ...string) (hits []blocks.Hits) {
	t.Helper()
	plain, events := covered(t, spec, nil)
	state := &code.State{}
	var first []blocks.Hits
	for turn := range 3 {
		out, now := covered(t, spec, &code.Watch{Choice: choice, State: state})
		for i := range min(len(events), len(now)) {
			if !reflect.DeepEqual(events[i], now[i]) {
				for _, l := range out.Log {
					t.Log(l.Text)
				}
				t.Fatalf("turn %d: another run with breakpoints: %+v, and %+v without them", turn, now[i], events[i])
			}
		}
		if out.Hash != plain.Hash || out.StrictHash != plain.StrictHash || out.Reason != plain.Reason {
			t.Fatalf("turn %d: the run with breakpoints ended by %s, %s, and by %s, %s without them", turn, out.Reason, out.Detail, plain.Reason, plain.Detail)
		}
		switch turn {
		case 0:
			first = out.Code
		case 1:
			if !reflect.DeepEqual(first, out.Code) {
				t.Errorf("two runs of one tape hit other blocks: %v and %v", first, out.Code)
			}
			for _, h := range out.Code {
				state.Merge(h)
			}
		case 2:
			if len(out.Code) > 0 {
				t.Errorf("blocks that are covered are hit again: %v", out.Code)
			}
		}
	}
	return first
}

func countBlocks(hits []blocks.Hits, path string) int {
	i := slices.IndexFunc(hits, func(h blocks.Hits) bool { return h.Path == path })
	if i < 0 {
		return 0
	}
	return len(hits[i].Blocks)
}

// The programs that try all that the engine offers do the same with breakpoints in them, and so do the C library and the
// loader, whose every block is watched too.
//
//ci:series
func TestBreakpointsDoNotMoveWorlds(t *testing.T) {
	eachProgram(t, "compat", func(t *testing.T, name, source string) {
		program := compile(t, source)
		if n := countBlocks(unmoved(t, aloneSpec(program)), program); n < 20 {
			t.Errorf("only %d blocks were hit", n)
		}
		if staticToo[name] {
			program := compile(t, source, "-static", "-s")
			if n := countBlocks(unmoved(t, aloneSpec(program)), program); n < 200 {
				t.Errorf("only %d blocks were hit in a static program", n)
			}
		}
		if name == "fork" || name == "signal" || name == "pthread" {
			hits := unmoved(t, aloneSpec(compile(t, source)), "*")
			if n := countBlocks(hits, "/usr/lib/x86_64-linux-gnu/libc.so.6"); n < 200 {
				t.Errorf("only %d blocks of libc were hit: %v", n, hits)
			}
		}
	})
}

// A block that begins with an instruction of chance has two breakpoints in one place.
//
//ci:series
func TestBreakpointsAtInstructionsOfChance(t *testing.T) {
	needCompiler(t)
	for _, name := range []string{"trapped", "xinuse", "rdrand_bare"} {
		t.Run(name, func(t *testing.T) {
			program := compile(t, "testdata/leaks/"+name+".c", "-O2")
			if n := countBlocks(unmoved(t, aloneSpec(program), "*"), program); n < 5 {
				t.Errorf("only %d blocks were hit", n)
			}
		})
	}
}

//ci:series
func TestBreakpointsDoNotMoveGo(t *testing.T) {
	folders, err := filepath.Glob("testdata/compat/go/*")
	if err != nil || len(folders) == 0 {
		t.Fatal("no programs in testdata/compat/go", err)
	}
	bin := t.TempDir()
	for i, folder := range folders {
		name := filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(bin, name)
			args := [][]string{{}, {"-ldflags=-s -w"}, {"-buildmode=pie", "-ldflags=-s -w"}}[i%3]
			build := exec.Command("go", append(append([]string{"build", "-o", program}, args...), "./"+folder)...)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("go build %s: %v\n%s", folder, err, out)
			}
			if n := countBlocks(unmoved(t, aloneSpec(program)), program); n < 2000 {
				t.Errorf("only %d blocks were hit", n)
			}
		})
	}
}

//ci:series
func TestBreakpointsDoNotMoveSpinLoops(t *testing.T) {
	eachProgram(t, "spinloops", func(t *testing.T, name, source string) {
		spec := aloneSpec(compile(t, source))
		spec.MaxTimeNs = 60e9
		unmoved(t, spec)
	})
}

// Programs with breakpoints of their own, and programs that write to their own code.
//
//ci:underway
func TestBreakpointsBesideThoseOfPrograms(t *testing.T) {
	wants := map[string][]string{
		"trap":  {"traps 1", "traps 2", "traps 3", "quiet 2", "blocked 1", "handler 1", "handler 1", "traps 4, quiet 21", "signal 5", "signal 5", "traps 5"},
		"patch": {"mprotect 0", "child 41 48", "hooked 12 20 4", "answer 42 42", "other 199", "child 42 5", "made 7"},
	}
	eachProgram(t, "code", func(t *testing.T, name, source string) {
		for _, flags := range [][]string{nil, {"-static"}, {"-no-pie"}} {
			spec := aloneSpec(compile(t, source, flags...))
			log, _ := run(t, spec, 1)
			if shown := texts(log, ""); !slices.Equal(shown, wants[name]) {
				t.Errorf("%v: without breakpoints it showed %q", flags, shown)
			}
			unmoved(t, spec)
			if flags == nil {
				unmoved(t, spec, "*")
			}
		}
	})
}

// A program that was replaced is another binary, whatever its name; what is no program is named with the reason.
func TestBinariesAreKnownByTheirBytes(t *testing.T) {
	first := compile(t, "testdata/code/trap.c")
	spec := aloneSpec(first)
	state := &code.State{}
	take := func(out *record.Outcome) {
		for _, h := range out.Code {
			state.Merge(h)
		}
	}
	out, _ := covered(t, spec, &code.Watch{State: state})
	take(out)
	replaced, err := os.ReadFile(compile(t, "testdata/code/patch.c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(first, replaced, 0o777); err != nil {
		t.Fatal(err)
	}
	out, _ = covered(t, spec, &code.Watch{State: state})
	if out.Reason != record.Finished || len(out.Code) != 1 || len(out.Code[0].Blocks) < 10 {
		t.Errorf("it ended by %s, and hit %v", out.Reason, out.Code)
	}
	take(out)
	if len(state.Files) != 2 || state.Files[0].Path != state.Files[1].Path || state.Files[0].Digest == state.Files[1].Digest {
		t.Errorf("the state is %+v", state.Files)
	}
	// A program that the state has turned off runs as it is.
	state.Files[1].Off = "it reads its own code"
	if out, _ = covered(t, spec, &code.Watch{State: state}); len(out.Code) != 0 {
		t.Errorf("what is off is watched: %v", out.Code)
	}
}

// build compiles a program of another language than C.
func build(t *testing.T, compiler, name, source string, flags ...string) string {
	t.Helper()
	needs.Program(t, compiler)
	dir := t.TempDir()
	from, to := filepath.Join(dir, name), filepath.Join(dir, "program")
	if err := os.WriteFile(from, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, append(flags, "-o", to, from)...).CombinedOutput(); err != nil {
		needs.Missing(t, compiler, err, string(out))
	}
	return to
}

//ci:series
func TestBreakpointsDoNotMoveCPlusPlusAndRust(t *testing.T) {
	t.Run("c++", func(t *testing.T) {
		const source = `#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>
static int pick(int n) { if (n > 2) throw std::runtime_error("three"); return n; }
int main() {
	std::vector<std::thread> all;
	for (int i = 0; i < 3; i++) all.emplace_back([i] { try { std::cout << pick(i + 1) << std::endl; } catch (const std::exception &e) { std::cout << e.what() << std::endl; } });
	for (auto &t : all) t.join();
}
`
		for _, flags := range [][]string{{"-O2", "-pthread"}, {"-O2", "-pthread", "-static", "-s"}} {
			program := build(t, "g++", "p.cc", source, flags...)
			if n := countBlocks(unmoved(t, aloneSpec(program)), program); n < 10 {
				t.Errorf("%v: %d blocks were hit", flags, n)
			}
		}
	})
	t.Run("rust", func(t *testing.T) {
		const source = `use std::{panic, thread};
fn pick(n: i32) -> i32 { if n > 2 { panic!("three") } n }
fn main() {
    let all: Vec<_> = (1..4).map(|i| thread::spawn(move || println!("{:?}", panic::catch_unwind(|| pick(i)).is_ok()))).collect();
    for t in all { t.join().unwrap(); }
}
`
		for _, flags := range [][]string{nil, {"-Cstrip=symbols", "-O"}, {"-Crelocation-model=static"}} {
			program := build(t, "rustc", "p.rs", source, flags...)
			if n := countBlocks(unmoved(t, aloneSpec(program)), program); n < 200 {
				t.Errorf("%v: %d blocks were hit", flags, n)
			}
		}
	})
}

// The blocks of a Java machine lie in a library of half a million of them, which handles signals and has threads of its own, and
// the programs that it compiles lie beside them.
//
//ci:series
func TestBreakpointsDoNotMoveJava(t *testing.T) {
	if testing.Short() {
		t.Skip("four runs of a Java machine")
	}
	java := needs.Program(t, "java")
	if real, err := filepath.EvalSymlinks(java); err == nil {
		java = real
	}
	dir := t.TempDir()
	out, err := exec.Command("javac", "-d", dir, "testdata/code/Busy.java").CombinedOutput()
	if err != nil {
		needs.Missing(t, "javac", err, string(out))
	}
	spec := aloneSpec(java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m", "-cp", dir, "Busy")
	spec.Nodes[0].Volumes, spec.Nodes[0].WorkingDir = []world.Volume{{Kind: world.Bind, Source: dir, Target: dir}}, "/"
	spec.MaxTimeNs = 60e9
	log, _ := run(t, spec, 1)
	if shown := texts(log, "stdout"); !slices.Equal(shown, []string{"sum 4950, caught 300"}) {
		t.Fatalf("it showed %q", texts(log, ""))
	}
	hits := unmoved(t, spec, "libjvm.so")
	if len(hits) != 1 || filepath.Base(hits[0].Path) != "libjvm.so" || hits[0].Off != "" || len(hits[0].Blocks) < 10_000 {
		t.Errorf("%d binaries were watched, and these blocks of the first hit: %d of %d", len(hits), countBlocks(hits, hits[0].Path), hits[0].Total)
	}
}
