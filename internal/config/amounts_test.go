package config

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/config/scaffolding"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// bankSource is a bank that init knows; bank is the same one in Go.
const bankSource = `bank.py
import json
from http.server import BaseHTTPRequestHandler, HTTPServer

BALANCES = {"ann": 100, "bob": 100, "eve": 100}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/balance/"):
            self.reply(200, BALANCES[self.path[9:]])

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/transfer":
            self.transfer(body["from"], body["to"], body["amount"])


HTTPServer(("", 8000), Handler).serve_forever()
`

type bank struct {
	sync.Mutex
	balances map[string]int
	done     int
	// halves, forgets: the transfer of this number does only its first half, or is acknowledged and not made.
	halves, forgets int
	asObject        bool
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.Lock()
	defer b.Unlock()
	if r.Method == http.MethodGet {
		if n := b.balances[strings.TrimPrefix(r.URL.Path, "/balance/")]; b.asObject {
			fmt.Fprintf(w, `{"balance": %d}`, n)
		} else {
			fmt.Fprint(w, n)
		}
		return
	}
	var t struct {
		From, To string
		Amount   int
	}
	if json.NewDecoder(r.Body).Decode(&t) != nil || r.Header.Get("Content-Type") != "application/json" || b.balances[t.From] < t.Amount {
		w.WriteHeader(http.StatusConflict)
		return
	}
	if b.done++; b.done == b.forgets {
		return
	}
	b.balances[t.From] -= t.Amount
	if b.done != b.halves {
		b.balances[t.To] += t.Amount
	}
}

// The driver and the properties that init writes for a bank hold for one that keeps the money, and find one that does not.
func TestScaffoldOfABank(t *testing.T) {
	python := needs.Program(t, "python3")
	f, _, r := found(t, bankSource)
	r.Spec.Workloads[0].Announces = false // no world that waits for it
	for name, c := range map[string]struct {
		*bank
		total, numbers check.Status
	}{
		"correct":                 {&bank{}, check.Holds, check.Holds},
		"an object":               {&bank{asObject: true}, check.Holds, check.Holds},
		"half a transfer":         {&bank{halves: 9}, check.Violated, check.Violated},
		"a transfer that is lost": {&bank{forgets: 9}, check.Holds, check.Violated},
	} {
		b := c.bank
		b.balances = map[string]int{"ann": 100, "bob": 100, "eve": 100}
		server := httptest.NewServer(b)
		host, port, _ := strings.Cut(server.URL[7:], ":")
		program := strings.NewReplacer(`SERVER, PORT = "bank", 8000`, fmt.Sprintf("SERVER, PORT = %q, %s", host, port),
			"PAUSE_S = 4, 100, 0.2", "PAUSE_S = 4, 30, 0.003").Replace(string(f.Worlds[0].Files[scaffolding.StarterNames[0]]))
		reports := filepath.Join(t.TempDir(), "history.jsonl")
		cmd := exec.Command(python, "-c", program)
		cmd.Stdin = strings.NewReader("check\n")
		cmd.Env = append(os.Environ(), "BLOODHOUND_REPORT="+reports)
		out, err := cmd.CombinedOutput()
		server.Close()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		got, reasons := map[string]check.Status{}, []string{}
		for _, v := range check.Judge(r.Spec, &record.Outcome{Reason: record.Finished, History: eventsOf(t, reports),
			Drivers: []record.DriverEnd{{Workload: r.Spec.Workloads[0].Name}}}) {
			got[v.Property] = v.Status
			reasons = append(reasons, v.Reason)
		}
		if got["the total is kept"] != c.total || got["numbers add up"] != c.numbers {
			t.Errorf("%s: the total is %s, want %s; numbers are %s, want %s (%v)", name,
				got["the total is kept"], c.total, got["numbers add up"], c.numbers, reasons)
		}
	}
}

// eventsOf reads what a driver wrote, without the phases.
func eventsOf(t *testing.T, path string) []history.Event {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	events, err := history.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(events, func(e history.Event) bool { return e.Type.IsMark() })
}
