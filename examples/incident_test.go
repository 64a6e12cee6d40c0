package examples

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// TestEtcdIncident imports an incident of etcd, whose alert fires in the test as it did in production, and not without the incident.
func TestEtcdIncident(t *testing.T) {
	if os.Getenv("BLOODHOUND_SOAK") == "" || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs with BLOODHOUND_SOAK=1 on Linux x86-64")
	}
	needs.Program(t, "etcd")
	program := bloodhound(t)
	for _, name := range []string{"etcd-incident/imported.yaml", "etcd-incident/imported.jsonl"} {
		os.Remove(name)
		t.Cleanup(func() { os.Remove(name) })
	}
	out, code := call(t, program, "import", "etcd-incident/events.json", "etcd-incident/requests.jsonl", "--world", "etcd-incident", "--node", "etcd-1=n2,etcd-2=n3", "--out", "imported")
	if code != holds || !strings.Contains(string(out), "24 operations of 3 clients and 2 faults") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if out, code := call(t, program, "explore", "etcd-incident/imported.yaml", "--seeds", "3", "--no-shrink"); code != violated || !strings.Contains(string(out), "alert etcdNoLeader fires") {
		t.Errorf("exit code %d, want %d\n%s", code, violated, out)
	}
	if out, code := call(t, program, "run", "etcd-incident"); code != holds {
		t.Errorf("without the incident: exit code %d, want %d\n%s", code, holds, out)
	}
}
