package workload

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
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
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncase $1$BLOODHOUND_NODE in n1n1|n2n2) echo same;; n3n3) echo other;; n4n4) exit 1;; esac\n"),
		0o700); err != nil {
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
		{"all differ", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"},
			Tolerance: world.Tolerance{Nodes: three}}, world.ProbeViolated,
			`the nodes differ: n1 says "rev=7 id=1"; n2 says "rev=7 id=2"; n3 says "rev=7 id=3"`},
		{"what matters agrees", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"}, Tolerance: world.Tolerance{Nodes: three},
			Comparison: world.Comparison{Pattern: `rev=(\d+)`}}, world.ProbeHolds, `3 nodes say "7"`},
		{"a whole match", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"}, Tolerance: world.Tolerance{Nodes: three},
			Comparison: world.Comparison{Pattern: `rev=\d+`}}, world.ProbeHolds, `3 nodes say "rev=7"`},
		{"a body", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}", Body: " {node}!"}, Tolerance: world.Tolerance{Nodes: three},
			Comparison: world.Comparison{Pattern: `n\d!`}},
			world.ProbeViolated, `the nodes differ: n1 says "n1!"; n2 says "n2!"; n3 says "n3!"`},
		{"no match", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"}, Tolerance: world.Tolerance{Nodes: three},
			Comparison: world.Comparison{Pattern: `term`}}, world.ProbeViolated,
			`the answers of n1, n2, n3 do not match term`},
		{"one does not match", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"}, Tolerance: world.Tolerance{Nodes: three},
			Comparison: world.Comparison{Pattern: `(rev=7) id=[13]`}},
			world.ProbeViolated, `the answer of n2 does not match (rev=7) id=[13]`},
		{"one does not match, excused", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"}, Tolerance: world.Tolerance{Nodes: three},
			Comparison: world.Comparison{Pattern: `(rev=7) id=[13]`, Unanswered: "unknown"}}, world.ProbeNoAnswer, `the answer of n2 does not match`},
		{"one does not match, one is silent",
			world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"}, Tolerance: world.Tolerance{Nodes: []string{"n1", "n2", "n4"}},
				Comparison: world.Comparison{Pattern: `(rev=7) id=1`}}, world.ProbeViolated,
			`n4 did not answer; the answer of n2 does not match (rev=7) id=1`},
		{"an empty match is an answer", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"}, Tolerance: world.Tolerance{Nodes: three},
			Comparison: world.Comparison{Pattern: `rev=7(x*)`}}, world.ProbeHolds, `3 nodes say ""`},
		{"groups", world.Check{Question: world.Question{Script: []string{"/bin/echo", "{node}"}},
			Tolerance:  world.Tolerance{Nodes: []string{"n 1", "n  1"}},
			Comparison: world.Comparison{Pattern: `^(\S+ ?)( *\d)$`}}, world.ProbeViolated, `the nodes differ`},
		{"silent", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"}, Tolerance: world.Tolerance{Nodes: []string{"n1", "n4"}},
			Comparison: world.Comparison{Pattern: "rev=7"}}, world.ProbeViolated, "n4 did not answer"},
		{"silent and excused", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"},
			Tolerance:  world.Tolerance{Nodes: []string{"n1", "n4"}},
			Comparison: world.Comparison{Pattern: "rev=7", Unanswered: "unknown"}}, world.ProbeNoAnswer, "n4 did not answer"},
		{"silent, excused, and the others differ",
			world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"}, Tolerance: world.Tolerance{Nodes: []string{"n1", "n2", "n4"}},
				Comparison: world.Comparison{Unanswered: "unknown"}}, world.ProbeViolated,
			`the nodes differ: n1 says "rev=7 id=1"; n2 says "rev=7 id=2"`},
		{"another status", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}", ExpectStatus: 201},
			Tolerance: world.Tolerance{Nodes: three}}, world.ProbeViolated, "n1, n2, n3 did not answer"},
		{"nobody listens", world.Check{Question: world.Question{Endpoint: refusing(t) + "/{node}"},
			Tolerance: world.Tolerance{Nodes: three}}, world.ProbeViolated, "n1, n2, n3 did not answer"},
		{"an empty answer", world.Check{Question: world.Question{Script: []string{script, "n5"}},
			Tolerance: world.Tolerance{Nodes: three}}, world.ProbeViolated, "n1, n2, n3 did not answer"},
		{"script", world.Check{Question: world.Question{Script: []string{script, "{node}"}},
			Tolerance: world.Tolerance{Nodes: []string{"n1", "n2"}}}, world.ProbeHolds, `2 nodes say "same"`},
		{"script, one differs", world.Check{Question: world.Question{Script: []string{script, "{node}"}},
			Tolerance: world.Tolerance{Nodes: three}}, world.ProbeViolated,
			`the nodes differ: n1, n2 say "same"; n3 says "other"`},
		{"they part late", world.Check{
			Question:   world.Question{Endpoint: web.URL + "/{node}", Body: strings.Repeat("x", 500) + "{node}" + strings.Repeat("y", 500)},
			Tolerance:  world.Tolerance{Nodes: []string{"n1", "n2"}},
			Comparison: world.Comparison{Pattern: "x.*y"}}, world.ProbeViolated, `n1 says "...` + strings.Repeat("x", maxShown/3-1) + "n1y"},
		{"script fails", world.Check{Question: world.Question{Script: []string{script, "{node}"}},
			Tolerance: world.Tolerance{Nodes: []string{"n1", "n4"}}}, world.ProbeViolated, "n4 did not answer"},
		{"no script", world.Check{Question: world.Question{Script: []string{filepath.Join(dir, "none")}},
			Tolerance: world.Tolerance{Nodes: three}}, world.ProbeViolated, "n1, n2, n3 did not answer"},
		{"redis", world.Check{Question: world.Question{Endpoint: "redis://" + redis, Command: []string{"GET", "x"}},
			Tolerance: world.Tolerance{Nodes: three}}, world.ProbeHolds, `3 nodes say "(nil)"`},
		{"redis, one differs", world.Check{Question: world.Question{Endpoint: "redis://" + redis, Command: []string{"ECHO", "{node}"}},
			Tolerance: world.Tolerance{Nodes: []string{"n1", "n1", "n2"}}}, world.ProbeViolated, `the nodes differ: n1, n1 say "n1"; n2 says "n2"`},
		{"redis, arrays that look alike", world.Check{Question: world.Question{Endpoint: "redis://" + redis, Command: []string{"CONFIG", "GET", "{node}"}},
			Tolerance: world.Tolerance{Nodes: []string{"maxmemory", "maxclients"}}}, world.ProbeViolated,
			`the nodes differ: maxmemory says "[\"maxmemory\",\"0\"]"; maxclients says`},
		{"redis, the same mistake", world.Check{Question: world.Question{Endpoint: "redis://" + redis, Command: []string{"NONSENSE"}},
			Tolerance: world.Tolerance{Nodes: three}},
			world.ProbeViolated, "n1, n2, n3 did not answer"},
		{"one node", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"},
			Tolerance: world.Tolerance{Nodes: []string{"n1"}}}, world.ProbeFailed, "an agreement needs two nodes"},
		{"broken pattern", world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"}, Tolerance: world.Tolerance{Nodes: three},
			Comparison: world.Comparison{Pattern: "("}}, world.ProbeFailed, "error parsing"},
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

// TestDifferences: answers are compared line by line, and values decoded.
func TestDifferences(t *testing.T) {
	kvs := func(list ...string) string { return `{"header":{"term":"2"},"kvs":[` + strings.Join(list, ",") + `]}` }
	kv := func(key, value string) string {
		encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
		return fmt.Sprintf(`{"key":%q,"value":%q,"version":1}`, encoded(key), encoded(value))
	}
	alice, bob, carol := kv("alice", "one"), kv("bob01", "two"), kv("carol", "three")
	for _, c := range []struct {
		name          string
		first, second []string
		want          string
	}{
		{"a value that is missing", []string{kvs(alice, bob, carol)}, []string{kvs(alice, carol)},
			`- kvs[]: {key: "Ym9iMDE=" (base64 of "bob01"), value: "dHdv" (base64 of "two"), version: 1}`},
		{"a value that differs", []string{kvs(alice, bob)}, []string{kvs(alice, kv("bob01", "old"))},
			`- kvs[]: {key: "Ym9iMDE=" (base64 of "bob01"), value: "dHdv" (base64 of "two"), version: 1}` + "\n" +
				`+ kvs[]: {key: "Ym9iMDE=" (base64 of "bob01"), value: "b2xk" (base64 of "old"), version: 1}`},
		{"a field", []string{`{"leader":"n1","term":7}`}, []string{`{"term":8,"leader":"n1"}`}, "- term: 7\n+ term: 8"},
		{"the order of fields", []string{`{"a":1,"b":2}`}, []string{`{"b":2,"a":1}`}, ""},
		{"rows", []string{"1|a\n2|b\n3|c"}, []string{"1|a\n3|c\n4|d"}, "- 2|b\n+ 4|d"},
		{"what follows a value", []string{`[1],"count":1}`}, []string{`[1],"count":2}`}, `- ,"count":1}` + "\n" + `+ ,"count":2}`},
		{"a list of redis", []string{`["a","b"]`}, []string{`["a","c"]`}, `- []: "b"` + "\n" + `+ []: "c"`},
		{"words that are no base64", []string{`{"a":"word"}`}, []string{`{"a":"wordword"}`}, `- a: "word"` + "\n" + `+ a: "wordword"`},
		{"large numbers", []string{`{"a":12345678901234567890}`}, []string{`{"a":12345678901234567891}`},
			"- a: 12345678901234567890\n+ a: 12345678901234567891"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, more := difference(decoded(c.first), decoded(c.second), maxDiffLines)
			if got := strings.Join(lines, "\n"); got != c.want || more != 0 {
				t.Errorf("%s\nand %d more, want\n%s", got, more, c.want)
			}
		})
	}
	long := strings.Repeat("x\n", 3000)
	if lines, more := difference(decoded([]string{long + "a"}), decoded([]string{long + "b"}), maxDiffLines); len(lines) != 2 || more != 0 {
		t.Errorf("what is behind the last line that is compared does not differ: %q", lines)
	}
	if lines, more := difference(nil, strings.Split(long, "\n"), maxDiffLines); len(lines) != maxDiffLines || more != 3001-maxDiffLines {
		t.Errorf("%d lines and %d more", len(lines), more)
	}
}

// TestDifferencesAgainstBruteForce: without the lines that it lists, two answers are the same, and there is no shorter list.
func TestDifferencesAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		some := func() (lines []string) {
			for range r.IntN(6) {
				lines = append(lines, string(rune('a'+r.IntN(3))))
			}
			return lines
		}
		first, second := some(), some()
		lines, _ := difference(first, second, maxDiffLines)
		shortest := len(first) + len(second)
		for a := range 1 << len(first) {
			for b := range 1 << len(second) {
				if x, y := chosen(first, a), chosen(second, b); slices.Equal(x, y) {
					shortest = min(shortest, len(first)+len(second)-2*len(x))
				}
			}
		}
		if len(lines) != shortest {
			t.Fatalf("%q and %q: %q, and %d are enough", first, second, lines, shortest)
		}
		count := map[string]int{}
		for _, line := range first {
			count["- "+line]++
		}
		for _, line := range second {
			count["+ "+line]++
		}
		for _, line := range lines {
			if count[line]--; count[line] < 0 {
				t.Fatalf("%q and %q: %q", first, second, lines)
			}
		}
	}
}

func chosen(lines []string, set int) (list []string) {
	for i, line := range lines {
		if set>>i&1 == 1 {
			list = append(list, line)
		}
	}
	return list
}

// TestAgreementShowsDifferences: a node that lacks a value is shown with that value, and nodes that did not answer or do not match
// are shown beside it.
func TestAgreementShowsDifferences(t *testing.T) {
	answers := map[string]string{"n1": `{"kvs":[{"key":"Ym9iMDE="},{"key":"YWxpY2U="}]}`, "n2": `{"kvs":[{"key":"YWxpY2U="}]}`,
		"n3": `{"kvs":[{"key":"Ym9iMDE="},{"key":"YWxpY2U="}]}`,
		"n4": "starting"}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/n5" {
			w.WriteHeader(503)
		}
		io.WriteString(w, answers[strings.TrimPrefix(r.URL.Path, "/")])
	}))
	defer web.Close()
	code, text := probeAgreement(&world.Check{Question: world.Question{Endpoint: web.URL + "/{node}"},
		Tolerance:  world.Tolerance{Nodes: []string{"n1", "n2", "n3", "n4", "n5"}},
		Comparison: world.Comparison{Pattern: `"kvs":(.*)\}`, Unanswered: "unknown"}})
	want := `the nodes differ: n1, n3 say "[{\"key\":\"Ym9iMDE=\"},{\"key\":\"YWxpY2U=\"}]"; n2 says "[{\"key\":\"YWxpY2U=\"}]"
n1 says "[{\"key\":\"Ym9iMDE=\"},{\"key\":\"YWxpY2U=\"}]"
n2 says "[{\"key\":\"YWxpY2U=\"}]"
n3 says "[{\"key\":\"Ym9iMDE=\"},{\"key\":\"YWxpY2U=\"}]"
n4 says "starting", which does not match "kvs":(.*)\}
n5 has no answer: status 503 instead of 200
compared with n1, n3: n2 lacks (-) or adds (+):
  - []: {key: "Ym9iMDE=" (base64 of "bob01")}`
	if code != world.ProbeViolated || text != want {
		t.Errorf("%d: %s\nwant\n%s", code, text, want)
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

// What a verdict prints has the headline in it, whatever the number of nodes and of differences: only the last lines of a check's output are kept.
func TestTheHeadlineOfADifferenceIsKept(t *testing.T) {
	const kept = 40 // lines, of package director
	for _, n := range []int{2, 3, 60} {
		var order []string
		nodes, parts := map[string][]string{}, map[string][]string{}
		var lines []string
		for i := range n {
			key := fmt.Sprint(i)
			order, nodes[key] = append(order, key), []string{"n" + key}
			parts[key] = []string{"{" + strings.Repeat(fmt.Sprintf(`"a%d": %d, `, i, i), 50) + `"b": 1}`}
			lines = append(lines, "n"+key+" says something")
		}
		all := "the nodes differ" + below(append(lines, differences(order, nodes, parts)...))
		if got := strings.Count(all, "\n") + 1; got > kept {
			t.Errorf("%d nodes: %d lines", n, got)
		}
	}
}
