package examples

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// TestSmallestRuns shrinks a failure and checks what is promised of the result in the plainest way: each decision is taken
// out of the failure's file by hand, and the run must not show the failure any more.
func TestSmallestRuns(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	program := bloodhound(t)
	for _, c := range []struct {
		path   string
		soak   bool
		needs  string   // a program of the machine
		breaks []string // properties whose failures must be among those found
	}{
		{"quickstart", true, "", nil},
		{"python-driver", true, "python3", nil},
		{"servers/message-queue", true, "", nil},
		{"servers/cache-cluster", true, "", nil},
		{"redis", true, "redis-server", nil},
		{"servers/distributed-kv", true, "", nil},
		{"servers/crdt", true, "", nil},
		{"redis-failover", true, "redis-sentinel", nil},
		{"etcd/mutants/serializable-reads.yaml", true, "etcd", nil},
		{"servers/dedup-backup", true, "pg_ctlcluster", []string{"restores", "nothing-leaks"}},
		{"servers/dedup-backup/step4.yaml", true, "pg_ctlcluster", []string{"restores", "nothing-leaks"}},
		{"etcd-agreement", true, "", nil},
	} {
		t.Run(c.path, func(t *testing.T) {
			if c.soak && os.Getenv("BLOODHOUND_SOAK") == "" {
				t.Skip("runs with BLOODHOUND_SOAK=1")
			}
			if c.needs != "" {
				needs.Program(t, c.needs)
			}
			var found struct {
				Campaign struct {
					Failures []struct {
						ID, Signature string
						Shrunk        shrunk
					}
				}
			}
			out, code := call(t, program, "explore", c.path, "--json", "--seeds", "200", "--shrink-time", "1h")
			if err := json.Unmarshal(out, &found); err != nil || code != violated || len(found.Campaign.Failures) == 0 {
				t.Fatalf("exit code %d, %v\n%s", code, err, out)
			}
			var signatures []string
			for _, f := range found.Campaign.Failures {
				signatures = append(signatures, f.Signature)
				t.Run(f.ID, func(t *testing.T) { checkSmallest(t, program, c.path, f.ID, f.Shrunk) })
				if c.path == "python-driver" && (f.Shrunk.From.Operations < 200 || f.Shrunk.To.Operations > 30) { // the driver leaves out what its arguments name
					t.Errorf("%d operations became %d", f.Shrunk.From.Operations, f.Shrunk.To.Operations)
				}
			}
			for _, property := range c.breaks {
				if !slices.ContainsFunc(signatures, func(s string) bool { return strings.HasPrefix(s, property) }) {
					t.Errorf("no failure of %s among %q", property, signatures)
				}
			}
		})
	}
}

// shrunk is what a campaign's document says of a run that was made smaller.
type shrunk struct {
	From, To struct{ Faults, Operations, Decisions int }
	Runs     int
	Minimal  bool
	End      string
}

// checkSmallest checks the smallest run of a failure of an example.
func checkSmallest(t *testing.T, program, path, id string, s shrunk) {
	t.Logf("%+v -> %+v in %d runs", s.From, s.To, s.Runs)
	if !s.Minimal {
		t.Fatalf("not 1-minimal: %s", s.End)
	}
	if from, to := s.From, s.To; to.Faults > max(from.Faults/3, 1) || to.Operations > max(from.Operations/3, 1) {
		t.Errorf("%+v is more than a third of %+v", to, from)
	}
	out, code := call(t, program, "replay", id, path, "--runs", "20")
	if code != violated || !strings.Contains(string(out), "replayed: the same trace hash and the same violation") {
		t.Errorf("20 replays ended with exit code %d:\n%s", code, out)
	}
	folder := path
	if filepath.Ext(folder) == ".yaml" {
		folder = filepath.Dir(folder)
	}
	files, err := filepath.Glob(filepath.Join(folder, ".bloodhound", "failures", id+"-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the failure has the files %q, %v; want the one of its run", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	decisions := 0
	for i := 0; ; i++ {
		less, more := withoutEdit(t, text, i)
		if !more {
			break
		}
		decisions++
		file := filepath.Join(t.TempDir(), "less.json")
		if err := os.WriteFile(file, less, 0o666); err != nil {
			t.Fatal(err)
		}
		// Nothing else has changed, so that a run that holds now is called not reproducible.
		if out, code := call(t, program, "replay", file, path); code != notReproducible && !strings.Contains(string(out), "in another way") {
			t.Errorf("without its decision %d the run ends with exit code %d:\n%s", i, code, out)
		}
	}
	if decisions != s.To.Decisions {
		t.Errorf("the tape sets %d draws, and the run has %d decisions", decisions, s.To.Decisions)
	}
}

// withoutEdit takes one decision out of the smallest tape of a failure file, and reports whether there was such a one.
func withoutEdit(t *testing.T, text []byte, nth int) ([]byte, bool) {
	t.Helper()
	var failure map[string]any
	read := json.NewDecoder(bytes.NewReader(text))
	read.UseNumber() // seeds have 64 bits
	if err := read.Decode(&failure); err != nil {
		t.Fatal(err)
	}
	smallest, ok := failure["smallest"].(map[string]any)
	if !ok {
		t.Fatal("the failure file has no smallest run")
	}
	tape := smallest["tape"].(map[string]any)
	edits := tape["edits"].([]any)
	for i, e := range edits {
		if e.(map[string]any)["op"] != "set" {
			continue
		}
		if nth--; nth >= 0 {
			continue
		}
		tape["edits"] = slices.Delete(edits, i, i+1)
		less, err := json.Marshal(failure)
		if err != nil {
			t.Fatal(err)
		}
		return less, true
	}
	return nil, false
}
