package counters

import (
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestBlocksThatWereExecuted(t *testing.T) {
	const pkg = "github.com/bloodhound-dst/bloodhound/internal/coverage/counters/testdata/counted"
	for _, c := range []struct {
		name  string
		flags []string
		says  string
	}{
		// Four pieces of Sign run for 1, and five for -1, two of which are others. The rest is main's own.
		{"counted", []string{"-cover", "-coverpkg=" + pkg + "/..."}, "4 6 6 6 7 2\n"},
		{"counted atomically", []string{"-cover", "-covermode=atomic", "-coverpkg=" + pkg + "/..."}, "4 6 6 6 7 2\n"},
		{"position-independent and stripped",
			[]string{"-cover", "-covermode=count", "-buildmode=pie", "-ldflags=-s -w", "-coverpkg=" + pkg + "/..."}, "4 6 6 6 7 2\n"},
		{"not counted", nil, "this program has no readable coverage counters"},
		{"without the main package", []string{"-cover", "-coverpkg=" + pkg + "/counts"}, "this program has no readable coverage counters"},
	} {
		bin := filepath.Join(t.TempDir(), "counted")
		build := exec.Command("go", append(append([]string{"build"}, c.flags...), "-o", bin, pkg)...)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", c.name, err, out)
		}
		run := exec.Command(bin)
		run.Env = []string{"GOCOVERDIR=" + t.TempDir()}
		out, err := run.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), c.says) {
			t.Errorf("%s: %v: %s\nwant %s", c.name, err, out, c.says)
		}
	}
}

func TestStrangeCounters(t *testing.T) {
	var seen [][]uint32
	see := func(pkg, function uint32, blocks []uint32) {
		seen = append(seen, append([]uint32{pkg, function}, blocks...))
	}
	err := walk([]uint32{0, 2, 7, 8, 1, 0, 0, 0, 1, 7, 9, 5}, see)
	if want := [][]uint32{{7, 8, 1, 0}, {7, 9, 5}}; err != nil || !reflect.DeepEqual(seen, want) {
		t.Errorf("%v, %v, want %v", err, seen, want)
	}
	for name, section := range map[string][]uint32{
		"fewer blocks than told": {0, 3, 7, 8, 1, 0},
		"no function":            {0, 1},
		"a number too large":     {1 << 31, 7, 8, 1},
	} {
		if err := walk(section, func(_, _ uint32, _ []uint32) {}); err == nil || !strings.Contains(err.Error(), "does not support this version") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
