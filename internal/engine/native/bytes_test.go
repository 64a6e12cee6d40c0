//go:build linux && amd64

package native_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// layouts are the ways in which linkers put constants into executable segments, and what is left of a file's tables.
var layouts = map[string][]string{
	"separate":           nil,
	"noseparate":         {"-Wl,-z,noseparate-code"},
	"noseparate static":  {"-Wl,-z,noseparate-code", "-static", "-s"},
	"noseparate no-pie":  {"-Wl,-z,noseparate-code", "-no-pie"},
	"gold":               {"-fuse-ld=gold"},
	"no sections":        {"-Wl,-z,noseparate-code", "-s"},
	"no sections static": {"-static", "-s"},
}

// withoutSections removes the list of sections from an ELF file.
func withoutSections(t *testing.T, program string) {
	t.Helper()
	file, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(file[0x28:], 0) // e_shoff
	clear(file[0x3c:0x40])                        // e_shnum, e_shstrndx
	if err := os.WriteFile(program, file, 0o755); err != nil {
		t.Fatal(err)
	}
}

// linkedAs compiles a program in one of the layouts.
func linkedAs(t *testing.T, source, layout string) (program string) {
	t.Helper()
	program = compile(t, source, layouts[layout]...)
	if strings.HasPrefix(layout, "no sections") {
		withoutSections(t, program)
	}
	return program
}

// modes are the ways in which the engine puts breakpoints into programs.
var modes = map[string]struct {
	sched world.Sched
	watch bool
}{
	"plain":    {},
	"coverage": {watch: true},
	"switches": {sched: world.Sched{PreemptPPM: 50_000, Blocks: 64, SwitchPPM: 40_000, CPUs: 4}},
}

// printedIn gives the lines that a program prints in a world, and how the run ended.
func printedIn(t *testing.T, mode string, seed uint64, argv ...string) ([]string, *record.Outcome) {
	t.Helper()
	m := modes[mode]
	spec := aloneSpec(argv...)
	spec.Sched = m.sched
	var options engine.Options
	if m.watch {
		options.Code = &code.Watch{Choice: []string{"*"}, State: &code.State{}}
	}
	return printedOf(t, spec, seed, options)
}

// printedOf gives the lines that the programs of a world print, and how the run ended.
func printedOf(t *testing.T, spec *world.Spec, seed uint64, options engine.Options) ([]string, *record.Outcome) {
	t.Helper()
	var log []record.LogLine
	options.Log = func(l record.LogLine) { log = append(log, l) }
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: seed}, options)
	if err != nil {
		t.Fatal(err)
	}
	return texts(log, ""), out
}

// A program reads its constants as its file has them, whatever the engine has put into its code, and what the processor would draw comes from the tape.
//
//ci:series
func TestConstantsAreNotChanged(t *testing.T) {
	needCompiler(t)
	for layout := range layouts {
		t.Run(layout, func(t *testing.T) {
			program := linkedAs(t, "testdata/bytes/constants.c", layout)
			for mode := range modes {
				t.Run(mode, func(t *testing.T) {
					lines, out := printedIn(t, mode, 1, program)
					// Without sections nothing tells constants from code, and the run may say so.
					if !out.Repeat.Reproducible && !strings.HasPrefix(layout, "no sections") || len(out.Crashes) > 0 {
						t.Errorf("%+v %+v", out.Repeat, out.Crashes)
					}
					if len(lines) != 4 || lines[0] != "info 7" || lines[1] != "changed 0 0 0" || lines[3] != lines[1] {
						t.Fatalf("it printed %q", lines)
					}
					again, _ := printedIn(t, mode, 1, program)
					other, _ := printedIn(t, mode, 2, program)
					if doubted := !out.Repeat.Reproducible && strings.HasPrefix(layout, "no sections"); doubted {
						return // the run says that its draws may be the processor's
					}
					if !reflect.DeepEqual(lines, again) || reflect.DeepEqual(lines[2], other[2]) {
						t.Errorf("tape 1 gave %q, then %q; tape 2 gave %q", lines[2], again[2], other[2])
					}
				})
			}
		})
	}
}

// A program that reads its own code makes another run when the engine marks instructions in another way, and only then.
//
//ci:series
func TestContrastShowsWhoReadsItsCode(t *testing.T) {
	needCompiler(t)
	for _, layout := range []string{"separate", "noseparate static"} {
		program := linkedAs(t, "testdata/bytes/self.c", layout)
		for _, how := range []string{"ignore", "sum", "check", "fork", "hot"} {
			for mode, m := range modes {
				var hashes, printed []string
				for _, contrast := range []bool{false, true, false} {
					spec := aloneSpec(program, how)
					spec.Sched = m.sched
					lines, out := printedOf(t, spec, 1, engine.Options{Contrast: contrast})
					if !out.Repeat.Reproducible || len(out.Crashes) > 0 {
						t.Fatalf("%s, %s, %s: %+v %+v", layout, how, mode, out.Repeat, out.Crashes)
					}
					hashes, printed = append(hashes, out.Hash), append(printed, strings.Join(lines, ", "))
				}
				if hashes[0] != hashes[2] || (hashes[0] == hashes[1]) != (how == "ignore") {
					t.Errorf("%s, %s, %s: hashes %q, printed %q", layout, how, mode, hashes, printed)
				}
			}
		}
	}
}

// Code that no table lists is found as control comes to it.
//
//ci:series
func TestChanceInUnlistedCode(t *testing.T) {
	needCompiler(t)
	for _, layout := range []string{"noseparate static", "no sections", "no sections static"} {
		t.Run(layout, func(t *testing.T) {
			program := linkedAs(t, "testdata/bytes/unlisted.c", layout)
			for mode := range modes {
				lines, out := printedIn(t, mode, 1, program)
				again, second := printedIn(t, mode, 1, program)
				other, _ := printedIn(t, mode, 2, program)
				if !out.Repeat.Reproducible || len(out.Crashes) > 0 || out.Hash != second.Hash {
					t.Errorf("%s: %+v %+v, hashes %s %s", mode, out.Repeat, out.Crashes, out.Hash, second.Hash)
				}
				if len(lines) != 4 || lines[0] != "added 50" || lines[3] != "added 100050" || lines[1] == lines[2] {
					t.Fatalf("%s: it printed %q", mode, lines)
				}
				if !slices.Equal(lines, again) || lines[1] == other[1] || lines[2] == other[2] {
					t.Errorf("%s: tape 1 gave %q, then %q; tape 2 gave %q", mode, lines, again, other)
				}
			}
		})
	}
}

// Where control runs beside bytes that may be an instruction of chance for longer than the engine follows it, the run says so.
func TestUndecidedCodeIsReported(t *testing.T) {
	needCompiler(t)
	program := linkedAs(t, "testdata/bytes/late.c", "noseparate static")
	for _, argv := range [][]string{{program}, {program, "draw"}} {
		lines, out := printedIn(t, "plain", 1, argv...)
		if len(lines) != len(argv) || lines[0] != "added 100000" || out.Repeat.Reproducible || !strings.Contains(out.Repeat.Reason, "rdrand") {
			t.Errorf("%s: it printed %q: %+v", filepath.Base(argv[0]), lines, out.Repeat)
		}
	}
}

// The maps of a program look the same whether the engine watches its pages or not.
func TestWatchedPagesAreNotShown(t *testing.T) {
	needCompiler(t)
	source := filepath.Join(t.TempDir(), "maps.c")
	const text = `#include <stdio.h>
__asm__(".text\n .balign 4096\n .fill 64, 1, 0x90\n .byte 0x0f, 0xc7, 0xf0\n .fill 64, 1, 0x90\n ret\n .balign 4096\n .fill 8192, 1, 0xcc\n");
int main(void) {
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, f))
		fputs(line, stdout);
	return 0;
}`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	program := compile(t, source, "-static", "-s")
	lines, out := printedIn(t, "plain", 1, program)
	executable := 0
	for _, l := range lines {
		if strings.Contains(l, program) && strings.Contains(l, " r-xp ") {
			executable++
		}
	}
	if executable != 1 || !out.Repeat.Reproducible {
		t.Errorf("%+v, %d executable maps:\n%s", out.Repeat, executable, strings.Join(lines, "\n"))
	}
}
