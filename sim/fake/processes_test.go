package fake

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// hashFile is the environment variable with the file to which play appends the trace hash of each run.
const hashFile = "BLOODHOUND_TEST_HASHES"

// recordHash appends the trace hash of a run to the file for hashes, if there is one.
func recordHash(t *testing.T, tp tape.Tape, out *record.Outcome) {
	t.Helper()
	name := os.Getenv(hashFile)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	_, err = fmt.Fprintf(f, "%s, %s: %s, %d events\n", t.Name(), tp.Name(), out.Hash, out.Events)
	must(t, err)
	must(t, f.Close())
}

// Equal tapes give equal trace hashes in separate processes, in which maps have other orders, addresses other values, and the machine other
// processors, another time zone and another current folder. All worlds of this package's tests run in both processes.
func TestProcessesAgree(t *testing.T) {
	if os.Getenv(hashFile) != "" {
		t.Skip("this process records hashes")
	}
	var list [2][][]byte
	for i, processors := range []string{"1", "2"} {
		dir := t.TempDir()
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^Test")
		c.Dir = dir
		c.Env = append(os.Environ(), hashFile+"="+filepath.Join(dir, "hashes"), "GOMAXPROCS="+processors, "TZ="+[]string{"UTC", "Asia/Tokyo"}[i])
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("process %d: %v\n%s", i, err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, "hashes"))
		must(t, err)
		list[i] = bytes.Split(text, []byte("\n"))
	}
	if len(list[0]) < 200 || len(list[0]) != len(list[1]) {
		t.Fatalf("one process made %d runs, the other one %d", len(list[0]), len(list[1]))
	}
	for i, a := range list[0] {
		if b := list[1][i]; !bytes.Equal(a, b) {
			t.Errorf("one process: %s; the other one: %s", a, b)
		}
	}
}
