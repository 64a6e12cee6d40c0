package examples

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Three nodes of the quickstart's repaired store, of one text, with a driver that says where it is: faults are active between ready and done, and the driver reads
// back when the store has settled.
func TestPhasesFollowADriver(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	program := bloodhound(t)
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const config = `
simulation: {max_time: 60s}
nodes:
  n:
    count: 3
    build: {command: go build -C %[1]s/quickstart -o %[2]s/kv ./kv, environment: {CGO_ENABLED: 0}}
    command: ./kv serve -id {{.Name}} -peers {{.Nodes.Each "{}={}:9090"}} -data /data/kv.log -ack-by entry
  load:
    role: client
    build: {command: go build -C %[1]s/servers -o %[2]s/drive ./driver, environment: {CGO_ENABLED: 0}}
workload:
  driver: command
  node: load
  command: ./drive -announces -endpoints http://n1:8080,http://n2:8080,http://n3:8080
  config: {announces: true}
properties:
  - {name: linearizable, kind: safety, check: {type: linearizability, operations: [put, get]}}
faults:
  warmup: 1s
  settle: 3s
  rules: [partition on n1 rate 0.01 for 300ms..800ms, crash on n rate 0.001 for 200ms..1s]
`
	if err := os.WriteFile(filepath.Join(dir, "bloodhound.yaml"), fmt.Appendf(nil, config, here, dir), 0o644); err != nil {
		t.Fatal(err)
	}
	out, code := call(t, program, "run", "--json", "--seed", "1", dir)
	var doc struct {
		Run struct {
			Marks []struct {
				Type   string
				TimeNs int64 `json:"time_ns"`
			}
			Evidence struct {
				Struck map[string]struct {
					Faults     int
					DuringWork int `json:"during_work"`
				}
				ReadBack struct{ Invoked, Ok int } `json:"read_back"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != holds {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	at := map[string]int64{}
	for _, m := range doc.Run.Marks {
		at[m.Type] = m.TimeNs
	}
	const settle = 3e9
	if len(at) != 3 || at["ready"] == 0 || at["ready"] >= at["done"] || at["check"] < at["done"]+settle {
		t.Errorf("%v", at)
	}
	for _, kind := range []string{"partition", "crash"} {
		if n := doc.Run.Evidence.Struck[kind]; n.Faults == 0 || n.DuringWork != n.Faults {
			t.Errorf("%s: %+v", kind, n)
		}
	}
	if n := doc.Run.Evidence.ReadBack; n.Invoked != 4 || n.Ok != 4 {
		t.Errorf("%+v", n)
	}
	if out, code := call(t, program, "verify", "--runs", "3", dir); code != holds {
		t.Errorf("exit code %d: %s", code, out)
	}
}
