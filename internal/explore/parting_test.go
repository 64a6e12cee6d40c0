package explore

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// A snapshot that changes a run ends the campaign as not reproducible, with the first event that differs, and both sides of it.
func TestMismatchesAreNamed(t *testing.T) {
	for dir, want := range map[string]string{
		plantedMismatch: `its replay differs: trace hash planted, then [0-9a-f]+; the first of the two began at a snapshot of event 10 .*; the first event that differs is number 30: 30 \S+ planted\(\) = 1, then 30 \S+ \S+\(\) = -?\d+$`,
		plantedOnce:     `repeated with traces, both runs are equal event by event: the difference comes and goes$`,
	} {
		spec := fakeSpec("")
		spec.Dir = dir
		c := campaign(t, spec, 3, 1)
		totals := c.Run(context.Background())
		u := totals.FirstUnrepeatable
		if u == nil || !regexp.MustCompile(want).MatchString(u.Reason) {
			t.Fatalf("%s: %+v", dir, u)
		}
		if s := totals.Status(spec); s.ExitCode() != 4 {
			t.Errorf("%s: exit code %d", dir, s.ExitCode())
		}
	}
}

func TestTracesAreCompared(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		first, other string
		want         *Parting
	}{
		{"", "", nil},
		{"1 a\n2 b\n", "1 a\n2 b\n", nil},
		{"2 b\n", "1 a\n2 b\n", nil},
		{"1 a\n2 b\n3 c\n", "3 c\n", nil},
		{"1 a\n2 b\n", "1 a\n2 c\n", &Parting{Event: 2, First: "2 b", Other: "2 c", Before: []string{"1 a"}}},
		{"1 a\n", "1 a\n2 c\n", &Parting{Event: 2, Other: "2 c", Before: []string{"1 a"}}},
		{"9 x\n10 b\n", "8 y\n9 x\n10 b\n11 c\n", &Parting{Event: 11, Other: "11 c", Before: []string{"9 x", "10 b"}}},
		{"5 b\n", "1 a\n6 b\n", &Parting{Event: 6, First: "5 b", Other: "6 b"}},
		{"5 b\n", "1 a\n", &Parting{Event: 5, First: "5 b"}},
		{"1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5 x\n", &Parting{Event: 5, First: "5", Other: "5 x", Before: []string{"2", "3", "4"}}},
		{"1 " + long + "\n2 a\n", "1 " + long + "\n2 b\n", &Parting{Event: 2, First: "2 a", Other: "2 b", Before: []string{"1 " + long}}},
	} {
		p, err := Compare(file("first", c.first), file("other", c.other))
		if err != nil || !reflect.DeepEqual(p, c.want) {
			t.Errorf("%.20q and %.20q: %+v, %v, want %+v", c.first, c.other, p, err, c.want)
		}
	}
}
