package examples

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A world whose runs last long beside its faults, of the quickstart's repaired store.
const longWorld = `
simulation: {max_time: 120s}
nodes:
  n:
    count: 3
    build: {command: go build -C %[1]s/quickstart -o %[2]s/kv ./kv, environment: {CGO_ENABLED: 0}}
    command: ./kv serve -id {{.Name}} -peers {{.Nodes.Each "{}={}:9090"}} -data /data/kv.log -ack-by entry
workload:
  driver: http
  config:
    target: [http://n1:8080, http://n2:8080, http://n3:8080]
    qps: 20
    max_operations: 100
    duration: 60s
    clients: 4
    operations: [{type: put, weight: 1, key_pattern: "k{random:0-7}"}, {type: get, weight: 1, key_pattern: "k{random:0-7}"}]
properties:
  - {name: linearizable, kind: safety, check: {type: linearizability, operations: [put, get]}}
  - {name: busy, kind: safety, check: {type: expression, condition: "count(ops, .type == 'ok') > 60"}}
faults:
  settle: 2s
  rules: [partition on n1 rate 0.002 for 50ms..150ms]
`

// Most runs of a campaign over long runs are short. What counts operations is judged in long ones alone, or it would be violated.
func TestShortRuns(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	program := bloodhound(t)
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bloodhound.yaml"), fmt.Appendf(nil, longWorld, here, dir), 0o644); err != nil {
		t.Fatal(err)
	}
	out, code := call(t, program, "explore", "--json", "--no-shrink", "--seeds", "16", dir)
	var doc struct {
		Campaign struct {
			Search struct {
				Lengths []struct{ Runs, Events uint64 }
			}
			Properties []struct {
				Property              string
				Holds, Unknown, Short uint64
			}
		}
	}
	if err := json.Unmarshal(out, &doc); err != nil || code != holds {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	short, full := uint64(0), uint64(0)
	for i, l := range doc.Campaign.Search.Lengths {
		if i == 0 {
			full = l.Runs
		} else {
			short += l.Runs
		}
	}
	if short < 8 {
		t.Errorf("%d of 16 runs are short", short)
	}
	for _, p := range doc.Campaign.Properties {
		if p.Property == "busy" && (p.Short < short || p.Holds > full+16-short) || p.Property == "linearizable" && p.Holds < 12 {
			t.Errorf("%d are short: %+v", short, p)
		}
	}

	// Up to the end of its faults a shorter run is the same run.
	events := func(name string, edits ...string) (list []string) {
		tape, trace := filepath.Join(dir, name+".tape"), filepath.Join(dir, name+".txt")
		if err := os.WriteFile(tape, []byte("tape 1\nseed 4\n"+strings.Join(edits, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, code := call(t, program, "run", "--json", "--tape", tape, "--trace", trace, dir); code != holds && code != unknown {
			t.Fatalf("exit code %d: %s", code, out)
		}
		file, err := os.Open(trace)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			list = append(list, lines.Text())
		}
		return list
	}
	whole, part := events("whole"), events("part", "set length/chaos 0 = 200")
	heal := slices.IndexFunc(part, func(line string) bool { return strings.Contains(line, "phase") && strings.Contains(line, "heal") })
	if heal < 300 || heal >= len(whole) || !slices.Equal(part[:heal], whole[:heal]) || strings.Contains(whole[heal], "heal") {
		t.Errorf("faults end at event %d of %d; the whole run has %d", heal, len(part), len(whole))
	}
}
