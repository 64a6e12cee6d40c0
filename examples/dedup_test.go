package examples

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// TestDedupBackup finds each bug of the backup servers by the property that it breaks: a run that breaks one only would hide
// that the other is not found.
func TestDedupBackup(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	t.Parallel()
	needs.Program(t, "pg_ctlcluster")
	program := bloodhound(t)
	for _, c := range []struct {
		path   string
		soak   bool // too long for every commit
		breaks []string
	}{
		{"servers/dedup-backup", true, []string{"restores", "nothing-leaks"}},
		{"servers/dedup-backup/step4.yaml", true, []string{"restores"}},
	} {
		t.Run(c.path, func(t *testing.T) {
			if c.soak && os.Getenv("BLOODHOUND_SOAK") == "" {
				t.Skip("runs with BLOODHOUND_SOAK=1")
			}
			var found struct {
				Campaign struct {
					Properties []struct {
						Property string
						Violated int
					}
				}
			}
			out, code := call(t, program, "explore", c.path, "--json", "--keep-going", "--no-shrink", "--seeds", "8")
			if err := json.Unmarshal(out, &found); err != nil || code != violated {
				t.Fatalf("exit code %d, %v\n%s", code, err, out)
			}
			var broken []string
			for _, p := range found.Campaign.Properties {
				if p.Violated > 0 {
					broken = append(broken, p.Property)
				}
			}
			for _, property := range c.breaks {
				if !slices.Contains(broken, property) {
					t.Errorf("%s holds in eight runs; broken: %v", property, broken)
				}
			}
		})
	}
}
