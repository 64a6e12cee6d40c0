package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// TestAgreement asks nodes that agree, the same nodes with one answer changed, and nodes that do not answer.
func TestAgreement(t *testing.T) {
	answers := map[string]string{"n1": "rev=7 id=1", "n2": "rev=7 id=2", "n3": "rev=7 id=3"}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, there := answers[strings.TrimPrefix(r.URL.Path, "/")]
		if !there {
			w.WriteHeader(503)
		}
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, answer+string(body))
	}))
	defer web.Close()
	dir := t.TempDir()
	script := filepath.Join(dir, "answer.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncase $1$BLOODHOUND_NODE in n1n1|n2n2) echo same;; n3n3) echo other;; n4n4) exit 1;; esac\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	redis := start(t, `save ""`)
	three := []string{"n1", "n2", "n3"}
	for _, c := range []struct {
		name  string
		check world.Check
		code  int
		line  string // the first of what it prints
	}{
		{"all differ", world.Check{Endpoint: web.URL + "/{node}", Nodes: three}, world.ProbeViolated, `the nodes differ: n1 says "rev=7 id=1"; n2 says "rev=7 id=2"; n3 says "rev=7 id=3"`},
		{"what matters agrees", world.Check{Endpoint: web.URL + "/{node}", Nodes: three, Pattern: `rev=(\d+)`}, world.ProbeHolds, `3 nodes say "7"`},
		{"a whole match", world.Check{Endpoint: web.URL + "/{node}", Nodes: three, Pattern: `rev=\d+`}, world.ProbeHolds, `3 nodes say "rev=7"`},
		{"a body", world.Check{Endpoint: web.URL + "/{node}", Nodes: three, Body: " {node}!", Pattern: `n\d!`}, world.ProbeViolated, `the nodes differ: n1 says "n1!"; n2 says "n2!"; n3 says "n3!"`},
		{"no match", world.Check{Endpoint: web.URL + "/{node}", Nodes: three, Pattern: `term`}, world.ProbeViolated, `n1, n2, n3 did not answer`},
		{"silent", world.Check{Endpoint: web.URL + "/{node}", Nodes: []string{"n1", "n4"}, Pattern: "rev=7"}, world.ProbeViolated, "n4 did not answer"},
		{"silent and excused", world.Check{Endpoint: web.URL + "/{node}", Nodes: []string{"n1", "n4"}, Pattern: "rev=7", Unanswered: "unknown"}, world.ProbeNoAnswer, "n4 did not answer"},
		{"silent, excused, and the others differ", world.Check{Endpoint: web.URL + "/{node}", Nodes: []string{"n1", "n2", "n4"}, Unanswered: "unknown"}, world.ProbeViolated,
			`the nodes differ: n1 says "rev=7 id=1"; n2 says "rev=7 id=2"`},
		{"another status", world.Check{Endpoint: web.URL + "/{node}", Nodes: three, ExpectStatus: 201}, world.ProbeViolated, "n1, n2, n3 did not answer"},
		{"nobody listens", world.Check{Endpoint: refusing(t) + "/{node}", Nodes: three}, world.ProbeViolated, "n1, n2, n3 did not answer"},
		{"an empty answer", world.Check{Script: []string{script, "n5"}, Nodes: three}, world.ProbeViolated, "n1, n2, n3 did not answer"},
		{"script", world.Check{Script: []string{script, "{node}"}, Nodes: []string{"n1", "n2"}}, world.ProbeHolds, `2 nodes say "same"`},
		{"script, one differs", world.Check{Script: []string{script, "{node}"}, Nodes: three}, world.ProbeViolated, `the nodes differ: n1, n2 say "same"; n3 says "other"`},
		{"they part late", world.Check{Endpoint: web.URL + "/{node}", Nodes: []string{"n1", "n2"}, Body: strings.Repeat("x", 500) + "{node}" + strings.Repeat("y", 500),
			Pattern: "x.*y"}, world.ProbeViolated, `n1 says "...` + strings.Repeat("x", maxShown/3-1) + "n1y"},
		{"script fails", world.Check{Script: []string{script, "{node}"}, Nodes: []string{"n1", "n4"}}, world.ProbeViolated, "n4 did not answer"},
		{"no script", world.Check{Script: []string{filepath.Join(dir, "none")}, Nodes: three}, world.ProbeViolated, "n1, n2, n3 did not answer"},
		{"redis", world.Check{Endpoint: "redis://" + redis, Command: []string{"GET", "x"}, Nodes: three}, world.ProbeHolds, `3 nodes say "(nil)"`},
		{"redis, one differs", world.Check{Endpoint: "redis://" + redis, Command: []string{"ECHO", "{node}"}, Nodes: []string{"n1", "n1", "n2"}}, world.ProbeViolated, `the nodes differ: n1, n1 say "n1"; n2 says "n2"`},
		{"redis, the same mistake", world.Check{Endpoint: "redis://" + redis, Command: []string{"NONSENSE"}, Nodes: three}, world.ProbeViolated, "n1, n2, n3 did not answer"},
		{"one node", world.Check{Endpoint: web.URL + "/{node}", Nodes: []string{"n1"}}, world.ProbeFailed, "an agreement needs two nodes"},
		{"broken pattern", world.Check{Endpoint: web.URL + "/{node}", Nodes: three, Pattern: "("}, world.ProbeFailed, "error parsing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.check.Type = world.Agreement
			text, err := json.Marshal(c.check)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			code := probe(string(text), &out)
			if line, _, _ := strings.Cut(out.String(), "\n"); code != c.code || !strings.Contains(line, c.line) {
				t.Errorf("exit code %d: %s\nwant %d: %s", code, out.String(), c.code, c.line)
			}
		})
	}
}

// TestSaysNo: a database that is busy or shuts down has given no answer; one that knows no such table has.
func TestSaysNo(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&pgconn.PgError{Code: "42P01"}, true},
		{fmt.Errorf("x: %w", &pgconn.PgError{Code: "23505"}), true},
		{&pgconn.PgError{Code: "57P03"}, false},
		{&pgconn.PgError{Code: "40001"}, false},
		{unansweredError{&pgconn.PgError{Code: "42P01"}}, false},
		{&mysql.MySQLError{Number: 1146}, true},
		{&mysql.MySQLError{Number: 1053}, false},
		{errors.New("broken pipe"), false},
	} {
		if got := saysNo(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
