package workload

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
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

// TestDocumentedDriver runs the driver that docs/how-to/write-a-driver.md shows, and `init` writes.
func TestDocumentedDriver(t *testing.T) {
	python := needs.Program(t, "python3")
	code := block(t, "../../docs/how-to/write-a-driver.md", "python")
	var parts []string
	for _, name := range []string{"http.py", "clients.py"} {
		text, err := os.ReadFile("../config/scaffolding/driver/" + name)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(text))
	}
	if code != strings.Join(parts, "\n\n") {
		t.Error("the page shows another driver than internal/config/scaffolding/driver has: http.py and clients.py")
	}
	store := &kv{values: map[string][]string{}}
	server := httptest.NewServer(store)
	defer server.Close()
	run := func(address string, more ...string) []history.Event {
		d := newDrives(t)
		host, port, _ := strings.Cut(address, ":")
		program := strings.NewReplacer(`SERVER, PORT = "n1", 8080`, fmt.Sprintf("SERVER, PORT = %q, %s", host, port),
			"PAUSE_S = 4, 200, 0.1", "PAUSE_S = 4, 30, 0.003").Replace(code)
		cmd := exec.Command(python, "-c", program)
		cmd.Stdin = strings.NewReader("check\n")
		cmd.Env = append(append(os.Environ(), envReport+"="+d.path), more...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return slices.DeleteFunc(d.events(), func(e history.Event) bool { return e.Type.IsMark() })
	}
	events := run(server.URL[7:])
	if v := judge("command", events, "put", "get"); v.Status != check.Holds || len(events) != 2*(4*30+5) {
		t.Errorf("%d events: %s %s", len(events), v.Status, v.Reason)
	}
	events = run(server.URL[7:], `BLOODHOUND_SKIP=[{"client":"c1","from":3,"to":5},{"client":"c2","from":1}]`)
	if len(events) != 2*(30+28+1+30+5) {
		t.Errorf("with skipped operations: %d events", len(events))
	}
	store.stale, store.values = true, map[string][]string{}
	if v := judge("command", run(server.URL[7:]), "put", "get"); v.Status != check.Violated {
		t.Errorf("stale reads: %s %s", v.Status, v.Reason)
	}
	events = run(refusing(t)[7:])
	if ops, err := history.Pair(events); err != nil || len(ops) != 4*30+5 || ops[len(ops)-1].Type == history.Ok {
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
