//go:build linux && amd64

package native_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
)

// units are the parts of a program that go build -cover counts, as file and first line, and whether each ran.
type units map[string]bool

// unitsOf are those of a run, by the names that a report has for them.
func unitsOf(t *testing.T, program string, hits blocks.Hits) units {
	t.Helper()
	state := &code.State{}
	state.Merge(hits)
	names, err := state.Files[0].Names()
	if err != nil {
		t.Fatal(err)
	}
	list := units{}
	for i := range hits.Total {
		lines := names.Lines(i)
		if _, err := os.Stat(lines[0].File); err != nil {
			t.Errorf("a source file is not where it is said to be: %v", err)
		}
		list[fmt.Sprintf("%s:%d", filepath.Base(lines[0].File), lines[0].Line)] = slices.Contains(hits.Blocks, uint32(i))
	}
	return list
}

var profileLine = regexp.MustCompile(`/([a-z]+\.go):(\d+)\.\d+,\d+\.\d+ \d+ (\d+)\n`)

// unitsByGo are those that Go's own tool reports, of a program that ran outside any world.
func unitsByGo(t *testing.T, argv ...string) units {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	profile := filepath.Join(t.TempDir(), "profile")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+profile).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	list := units{}
	for _, m := range profileLine.FindAllStringSubmatch(string(text), -1) {
		list[m[1]+":"+m[2]] = m[3] != "0"
	}
	return list
}

func (u units) String() string {
	var ran []string
	for name, did := range u {
		if did {
			ran = append(ran, name)
		}
	}
	slices.Sort(ran)
	return fmt.Sprintf("%d units, of which ran: %s", len(u), strings.Join(ran, " "))
}

// Programs that count by themselves, by go build -cover, report what they ran, in whatever way they end: the same as Go's own
// tool reports where they end well.
//
//ci:underway
func TestGoCover(t *testing.T) {
	for name, flags := range map[string][]string{"plain": nil, "stripped": {"-ldflags=-s -w", "-covermode=atomic"},
		"position-independent": {"-buildmode=pie", "-ldflags=-s -w", "-covermode=count"}} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "counted")
			build := exec.Command("go", append(append([]string{"build", "-cover", "-o", program}, flags...), ".")...)
			build.Dir, build.Env = "testdata/cover", append(os.Environ(), "CGO_ENABLED=0")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			in := func(mode string) units {
				t.Helper()
				spec := aloneSpec(program, mode, "a", "b", "c")
				spec.MaxTimeNs = 20e9
				hits := unmoved(t, spec)
				if len(hits) != 1 || hits[0].Source != blocks.GoCover {
					t.Fatalf("hits %+v", hits)
				}
				return unitsOf(t, program, hits[0])
			}
			for _, mode := range []string{"end", "child"} {
				if got, want := in(mode), unitsByGo(t, program, mode, "a", "b", "c"); len(want) < 10 || got.String() != want.String() {
					t.Errorf("%s: %s\nby Go: %s", mode, got, want)
				}
			}
			common := in("end")
			for mode, line := range map[string]string{"kill": "main.go:23", "crash": "main.go:25", "exec": "main.go:28", "stay": "main.go:32"} {
				got := in(mode)
				if !got[line] || !got["shelf.go:9"] || got["shelf.go:15"] {
					t.Errorf("%s: %s", mode, got)
				}
				if len(got) != len(common) {
					t.Errorf("%s: %d units, and %d before", mode, len(got), len(common))
				}
			}
		})
	}
}
