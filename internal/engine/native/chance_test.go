//go:build linux && amd64

package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Each program of testdata/leaks shows one source of chance. Two runs of one tape must show the same, or say that they
// cannot be repeated.
//
//ci:series
func TestChanceIsOnTheTape(t *testing.T) {
	// What a tape decides must change with its seed.
	seeded := map[string]bool{"at_random": true, "getrandom": true, "urandom": true, "threads": true, "rdrand_bare": true, "trapped": true}
	eachProgram(t, "leaks", func(t *testing.T, name, source string) {
		program := compile(t, source)
		show := func(seed uint64) ([]string, *record.Outcome) {
			spec := aloneSpec(program)
			spec.Limits.SpinCPUMs = 200
			log, out := run(t, spec, seed)
			return texts(log, ""), out
		}
		first, a := show(1)
		second, b := show(1)
		if len(first) == 0 && a.Repeat.Reproducible {
			t.Fatalf("it showed nothing: %s %s %+v", a.Reason, a.Detail, a.Crashes)
		}
		if a.Repeat.Reproducible != b.Repeat.Reproducible {
			t.Errorf("reproducible %v, then %v", a.Repeat, b.Repeat)
		}
		t.Logf("%q", first)
		if d := difference(first, second); a.Repeat.Reproducible && (d != "" || a.Hash != b.Hash) {
			t.Errorf("two runs of one tape differ (hashes %s %s):\n%s", a.Hash, b.Hash, d)
		}
		if other, _ := show(2); seeded[name] && difference(first, other) == "" {
			t.Errorf("another seed shows the same:\n%q", other)
		}
	})
}

// A program that moves its code, or has more of it, is answered there as well, or the run cannot be repeated. Nothing else about
// it changes.
func TestMovedCode(t *testing.T) {
	needCompiler(t)
	program := compile(t, "testdata/ways/moved.c")
	for way := 0; ; way++ {
		show := func() ([]string, *record.Outcome) {
			log, out := run(t, aloneSpec(program, strconv.Itoa(way)), 1)
			return texts(log, ""), out
		}
		first, a := show()
		second, b := show()
		t.Logf("%d: %q %+v", way, first, a.Repeat)
		if len(a.Crashes) == 1 && a.Crashes[0].ExitCode == 2 && way > 0 {
			return
		}
		if len(a.Crashes) > 0 || len(first) == 0 {
			t.Fatalf("%d: %q %+v", way, first, a.Crashes)
		}
		if d := difference(first, second); a.Repeat.Reproducible && (d != "" || a.Hash != b.Hash) {
			t.Errorf("%d: two runs of one tape differ (hashes %s %s):\n%s", way, a.Hash, b.Hash, d)
		}
	}
}

// A program whose file asks for addresses between the engine's pages does not start: nothing there is looked through.
func TestNoProgramBetweenTheEnginesPages(t *testing.T) {
	needCompiler(t)
	const source = `
void _start(void) {
	unsigned long v;
	__asm__ volatile("rdrand %0" : "=r"(v));
	__asm__ volatile("syscall" : : "a"(1), "D"(1), "S"(&v), "d"(8) : "rcx", "r11", "memory");
	__asm__ volatile("syscall" : : "a"(60), "D"(0));
}
`
	file := filepath.Join(t.TempDir(), "between.c")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"0x7ffffa002000", "0x7ffffa040000"} {
		program := compile(t, file, "-nostdlib", "-static", "-fno-pic", "-mcmodel=large", "-Wl,-Ttext-segment="+place)
		log, out := run(t, aloneSpec(program), 1)
		if len(log) > 0 || len(out.Crashes) != 1 || out.Crashes[0].Signal != "SIGSEGV" {
			t.Errorf("at %s it printed %q and ended by %+v", place, texts(log, ""), out.Crashes)
		}
	}
}

// Where x87 executed its last instruction looks the same whether the machine's kernel has switched threads since or not.
//
//ci:series
func TestPointersOfX87DoNotShowSwitches(t *testing.T) {
	needCompiler(t)
	for _, flags := range [][]string{nil, {"-static"}} {
		log, out := run(t, aloneSpec(compile(t, "testdata/leaks/x87.c", flags...)), 1)
		lines := texts(log, "")
		if len(lines) != 32 || !out.Repeat.Reproducible {
			t.Fatalf("%d lines, %+v %+v", len(lines), out.Repeat, out.Crashes)
		}
		for i := 0; i < len(lines); i += 2 {
			if strings.Replace(lines[i], "now", "later", 1) != lines[i+1] {
				t.Errorf("it printed\n%s\n%s", lines[i], lines[i+1])
			}
		}
	}
}

// Which parts of the processor's state count as in use changes with each switch of the real kernel: many runs, with all CPUs busy, must
// show the same.
//
//ci:underway
func TestStateInUseRepeats(t *testing.T) {
	needCompiler(t)
	runs := 6
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		runs = 500
	}
	stop := make(chan struct{})
	defer close(stop)
	for range runtime.NumCPU() {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	for _, flags := range [][]string{nil, {"-static"}} {
		program := compile(t, "testdata/leaks/xinuse.c", flags...)
		hashes := map[string]int{}
		for range runs {
			_, out := run(t, aloneSpec(program), 1)
			hashes[out.Hash]++
		}
		if len(hashes) != 1 {
			t.Errorf("%d runs of one tape have the hashes %v", runs, hashes)
		}
	}
}

// Code that changes in its file while a program executes it, and is gone when the program ends, is searched all the same. The program
// sees nothing of that.
func TestWrittenCode(t *testing.T) {
	needCompiler(t)
	program := compile(t, "testdata/ways/written.c")
	before := func(code string) string {
		b := []byte(code)
		for i := range b {
			b[i]--
		}
		return string(b)
	}
	// rdrand rax; ret, and imul rax, rax; ret
	chance, plain := before("\x48\x0f\xc7\xf0\xc3"), before("\x48\x0f\xaf\xc0\xc3")
	for way := 0; ; way++ {
		folder := t.TempDir()
		outside := exec.Command(program, strconv.Itoa(way), plain)
		outside.Dir = folder
		want, err := outside.CombinedOutput()
		if outside.ProcessState.ExitCode() == 2 && way > 0 {
			return
		}
		if err != nil {
			t.Fatalf("%d, outside: %v\n%s", way, err, want)
		}
		log, out := run(t, aloneSpec(program, strconv.Itoa(way), plain), 1)
		if d := difference(strings.Split(strings.TrimSpace(string(want)), "\n"), texts(log, "")); d != "" || !out.Repeat.Reproducible || len(out.Crashes) > 0 {
			t.Errorf("%d: %+v, %+v\n%s", way, out.Repeat, out.Crashes, d)
		}
		log, out = run(t, aloneSpec(program, strconv.Itoa(way), chance), 1)
		if out.Repeat.Reproducible || !strings.Contains(out.Repeat.Reason, "rdrand") || len(out.Crashes) > 0 {
			t.Errorf("%d, with rdrand: %+v, %+v\n%q", way, out.Repeat, out.Crashes, texts(log, ""))
		}
	}
}
