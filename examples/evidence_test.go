package examples

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// recorder is a driver that reports operations without doing any: its arguments say when it begins, in seconds, how many it reports, and
// which of the gets and the puts are ok, each so many-th, 0 for none.
const recorder = `import json, os, sys, time
begin, count, gets, puts = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
report = open(os.environ['BLOODHOUND_REPORT'], 'ab', buffering=0)
def tell(**x): report.write(json.dumps(x).encode() + b'\n')
time.sleep(begin)
for i in range(count):
    for op, every in (('put', puts), ('get', gets)):
        end = 'ok' if every and i % every == 0 else 'fail'
        tell(client='c0', type='invoke', op=op, key='k', input='v%d' % i if op == 'put' else None)
        time.sleep(0.005)
        tell(client='c0', type=end, op=op, output='v%d' % i if op == 'get' and end == 'ok' else None)
        time.sleep(0.005)
`

// TestEvidence plays worlds that prove too little, whatever verb is asked: none may call that "holds" without a word.
func TestEvidence(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	needs.Program(t, "python3")
	program := bloodhound(t)
	server := "nodes: {n1: {command: [python3, -c, 'import time; time.sleep(1000)']}}\n"
	property := "properties: [{name: p, kind: safety, check: {type: expression, condition: 'none(ops, .op == \"lost\")'}}]\n"
	const calm = "faults: {enabled: false}\n"
	workload := func(args string) string {
		return "workload: {driver: command, config: {command: [python3, recorder.py, " + args + "]}}\n"
	}
	for _, c := range []struct {
		name string
		text string
		run  int
		test int
		says string // in the judgement, or in a notice where the code is 0
	}{
		{"enough", server + workload("0, 30, 1, 1") + property + calm, holds, holds, ""},
		{"no read", server + workload("0, 30, 0, 1") + property, unknown, unknown, `none of`},
		{"8 percent", server + workload("0, 26, 13, 13") + property + calm, holds, holds, `only`},
		{"faults before the work", server + workload("5, 30, 1, 1") + property + "faults: {start: 0s, stop: 3s, process: {crash_probability: 0.05, crash_duration_ms: 100}}\n",
			unknown, unknown, "before the first operation or after the last"},
		{"never comes up", "nodes: {n1: {command: [sh, -c, 'echo no port; exit 3'], restart: always}}\n" + workload("0, 3000, 1, 1") + property, unknown, unknown, `n1 never comes up`},
		{"never up", "nodes: {n1: {command: [sh, -c, 'echo bye; exit 0'], healthcheck: {test: [CMD, 'true']}}}\n" + workload("0, 30, 1, 1") + property, unknown, unknown, `n1 never came up`},
		{"setup never ends", "simulation: {max_time: 5s}\nnodes: {n1: {command: [sleep, inf], healthcheck: {test: [CMD, 'false']}}}\n" + workload("0, 30, 1, 1") + property, unknown, unknown, "passed during setup"},
		{"no probe is answered before the end", "nodes: {n1: {command: [python3, late.py]}}\n" + workload("0, 300, 1, 1") + `
properties: [{name: answers, kind: safety, check: {type: http, endpoint: 'http://n1:8000/', interval: 100ms}}]
faults: {settle: 6s}
`, unknown, unknown, "probes before the final phase got an answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"bloodhound.yaml": "simulation: {max_time: 30s}\n" + c.text, "recorder.py": recorder, "late.py": "import http.server, time\ntime.sleep(12.6)\nhttp.server.HTTPServer(('', 8000), http.server.SimpleHTTPRequestHandler).serve_forever()\n"} {
				if strings.HasPrefix(c.text, "simulation") {
					text = strings.Replace(text, "simulation: {max_time: 30s}\n", "", 1)
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, verb := range []struct {
				args []string
				want int
			}{{[]string{"run", "--json", dir}, c.run}, {[]string{"test", "--json", "--seeds", "2", dir}, c.test}, {[]string{"verify", "--json", dir}, holds}} {
				out, code := call(t, program, verb.args...)
				var doc struct {
					Judgement string
					Notices   []string
					Unknown   []string
					Status    struct{ Notices []string }
				}
				if err := json.Unmarshal(out, &doc); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				said := doc.Judgement + strings.Join(append(append(doc.Notices, doc.Unknown...), doc.Status.Notices...), "\n")
				if silent := verb.args[0] == "verify" && c.run == holds; code != verb.want || !silent && !strings.Contains(said, c.says) {
					t.Errorf("%s: exit code %d: %s", verb.args[0], code, said)
				}
			}
		})
	}
}

// What is stored of a failure is judged again without a run, by a model, too: the logs that it follows are stored.
func TestStoredRunIsJudgedByItsModel(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	needs.Program(t, "python3")
	program, dir := bloodhound(t), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("conformance")); err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(dir, "majority.yaml")
	out, code := call(t, program, "test", "--json", "--no-shrink", "--seeds", "6", project)
	var doc struct {
		Campaign struct{ Failures []struct{ ID, Hash string } }
	}
	if err := json.Unmarshal(out, &doc); err != nil || code != violated || len(doc.Campaign.Failures) == 0 {
		t.Fatalf("%v, exit code %d\n%s", err, code, out)
	}
	out, code = call(t, program, "check", doc.Campaign.Failures[0].ID, project)
	if code != violated || !strings.Contains(string(out), "violated  conforms") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
