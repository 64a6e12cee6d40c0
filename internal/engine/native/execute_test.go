//go:build linux && amd64

package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// A process that executes a program leaves no real descriptor in one with which it shares its descriptors. (What else it shares is
// compared with Linux: Compat/exec/shared.)
func TestExecuteLeavesNoDescriptors(t *testing.T) {
	for _, mode := range []string{"", "reference"} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv(ReferenceVariable, mode)
			executed := false
			o := engine.Options{Log: func(l record.LogLine) { executed = executed || l.Text == "executed" }}
			w, err := New().Boot(alone(t, "executes"), tape.Tape{Seed: 1}, o)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if _, err := w.Advance(engine.Until{TimeNs: 3e9}); err != nil {
				t.Fatal(err)
			}
			list := offspring(t)
			if !executed || len(list) == 0 {
				t.Fatalf("executed: %v, processes: %q", executed, list)
			}
			for _, process := range list {
				pid, _, _ := strings.Cut(process, " ")
				files, err := os.ReadDir(filepath.Join("/proc", pid, "fd"))
				if err != nil {
					t.Fatal(err)
				}
				if len(files) > 10 {
					t.Errorf("%d descriptors are open in the process %s", len(files), process)
				}
			}
		})
	}
}
