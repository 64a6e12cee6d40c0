package counters

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestBlocksThatWereExecuted(t *testing.T) {
	const pkg = "github.com/bloodhound-dst/bloodhound/coverage/counters/testdata/counted"
	for _, c := range []struct {
		name  string
		flags []string
		says  string
	}{
		// Four pieces of Sign run for 1, and five for -1, two of which are others. The rest is main's own.
		{"counted", []string{"-cover", "-covermode=atomic", "-coverpkg=" + pkg + "/..."}, "4 6 6 6 7 2\n"},
		{"not counted", nil, "this program has no counters"},
		{"without the main package", []string{"-cover", "-covermode=atomic", "-coverpkg=" + pkg + "/counts"}, "this program has no counters"},
		{"counted in another way", []string{"-cover", "-covermode=set", "-coverpkg=" + pkg + "/counts"}, "this program has no counters"},
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
	header := magic + "\x01\x00\x00\x00" + strings.Repeat("h", 16) + "\x02\x00" + strings.Repeat("\x00", 6)
	segment := "\x01" + strings.Repeat("\x00", 7) + "\x02\x00\x00\x00\x01\x00\x00\x00" + "abc"
	var blocks []uint64
	tell := func(b uint64) { blocks = append(blocks, b) }
	if err := Parse([]byte(header+segment+"\x03\x00\x07\x01\x00\x80\x01"), tell); err != nil || len(blocks) != 2 || blocks[0] == blocks[1] {
		t.Errorf("%v, %v", err, blocks)
	}
	for name, data := range map[string]string{
		"nothing":        "",
		"another form":   strings.Replace(header, "\x01", "\x02", 1) + segment + "\x00\x00\x00",
		"other numbers":  strings.Replace(header, "\x02", "\x01", 1) + segment + "\x00\x00\x00",
		"a short table":  header + segment[:16],
		"a short number": header + segment + "\x03\x00\x07\x01\x80",
		"no function":    header + segment,
	} {
		if err := Parse([]byte(data), tell); err == nil || !strings.Contains(err.Error(), "does not know the form") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
