package workload

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// block returns the first fenced block of a language in a page of the documentation.
func block(t *testing.T, page, language string) string {
	p, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(p), "```"+language+"\n")
	text, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return text
}

// TestDocumentedDriver runs the driver that docs/how-to/write-a-driver.md shows.
func TestDocumentedDriver(t *testing.T) {
	python := needs.Program(t, "python3")
	code := block(t, "../../docs/how-to/write-a-driver.md", "python")
	store := &kv{values: map[string][]string{}}
	server := httptest.NewServer(store)
	defer server.Close()
	run := func(address string) []history.Event {
		d := newDrives(t)
		cmd := exec.Command(python, "-c", code, address)
		cmd.Env = append(os.Environ(), envReport+"="+d.path)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return d.events()
	}
	events := run(server.URL[7:])
	if v := judge("command", events, "put", "get"); v.Status != check.Holds || len(events) != 100 {
		t.Errorf("%d events: %s %s", len(events), v.Status, v.Reason)
	}
	store.stale, store.values = true, map[string][]string{}
	if v := judge("command", run(server.URL[7:]), "put", "get"); v.Status != check.Violated {
		t.Errorf("stale reads: %s %s", v.Status, v.Reason)
	}
	events = run(refusing(t)[7:])
	if ops, err := history.Pair(events); err != nil || len(ops) != 50 || ops[49].Client != "c49" {
		t.Errorf("no server answers: %d operations, %v", len(ops), err)
	}
}

func TestDocumentedShell(t *testing.T) {
	d := newDrives(t)
	cmd := exec.Command("sh", "-c", "etcdctl() { :; }\n"+block(t, "../../docs/how-to/write-a-driver.md", "sh"))
	cmd.Env = append(os.Environ(), envReport+"="+d.path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, want := short(d.events()), "a invoke put k <1\na ok  \n"; got != want {
		t.Errorf("got %q", got)
	}
}
