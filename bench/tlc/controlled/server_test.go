package controlled

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

const counting = `---- MODULE Counting ----
EXTENDS Naturals
VARIABLES n, seen
Init == n = 0 /\ seen = {}
Add(k) == n + k <= 5 /\ n' = n + k /\ seen' = seen \cup {[at |-> n, k |-> k]}
Next == \E k \in 1..3 : Add(k)
====
`

func countingSpec(t *testing.T) *tla.Spec {
	t.Helper()
	file := filepath.Join(t.TempDir(), "Counting.tla")
	if err := os.WriteFile(file, []byte(counting), 0o644); err != nil {
		t.Fatal(err)
	}
	config, err := tla.ParseConfig("Counting.cfg", "INIT Init\nNEXT Next")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := tla.Load(file, config)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// controlled is a server that speaks as the controlled TLC does, of the module Counting; limit is where its additions end. As
// there, a state that follows itself is reported once, and not at all at the end.
func controlled(t *testing.T, limit int) *Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var events []struct {
			Name   string
			Params map[string]any
			Reset  bool
		}
		if q.Method != http.MethodPost || q.URL.Path != "/execute" || json.NewDecoder(q.Body).Decode(&events) != nil {
			http.Error(w, "no run", http.StatusInternalServerError)
			return
		}
		n, seen, stays := 0, []string{}, false
		answer := map[string][]any{}
		tell := func() {
			text := fmt.Sprintf("/\\ seen = {%s}\n/\\ n = %d\n", strings.Join(seen, ",\n   "), n)
			print := fnv.New64a()
			print.Write([]byte(text))
			answer["states"] = append(answer["states"], text)
			answer["keys"] = append(answer["keys"], int64(print.Sum64()))
		}
		tell()
		for _, e := range events {
			if e.Reset {
				if stays {
					answer["states"], answer["keys"] = answer["states"][:len(answer["states"])-1], answer["keys"][:len(answer["keys"])-1]
				}
				json.NewEncoder(w).Encode(answer)
				return
			}
			if e.Name != "Add" {
				continue
			}
			k := int(e.Params["k"].(float64))
			if stays = n+k > limit; !stays {
				seen = append(seen, fmt.Sprintf("[k |-> %d, at |-> %d]", k, n))
				n += k
				tell()
			}
		}
		http.Error(w, "the run has no end", http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	return &Server{URL: server.URL}
}

func add(k int) Told {
	return Told{Event{Name: "Add", Params: map[string]any{"k": k}}, "Add", []value.Value{value.Int(k)}}
}

func TestDifferential(t *testing.T) {
	run := []Told{add(1), {Event: Event{Name: "Rest"}}, add(3), add(2), add(1)}
	for _, c := range []struct {
		limit, first int
		why          string
	}{
		{5, -1, ""},
		{7, 3, "and here it is\n/\\ n = 5"},
	} {
		d, err := controlled(t, c.limit).Differential(context.Background(), countingSpec(t), run)
		if err != nil {
			t.Fatal(err)
		}
		if d.States != 4 || d.First != c.first || !strings.Contains(d.Why, c.why) || c.first < 0 && (d.Ours != 4 || d.Theirs != 4) {
			t.Errorf("limit %d: %+v", c.limit, d)
		}
	}
	late := append(run[:len(run):len(run)], add(3))
	if d, err := controlled(t, 5).Differential(context.Background(), countingSpec(t), late); err != nil || d.First != -1 || d.States != 3 {
		t.Errorf("%+v, %v", d, err)
	}
	mistaken := append(run[:4:4], Told{add(1).Event, "", nil})
	if d, err := controlled(t, 5).Differential(context.Background(), countingSpec(t), mistaken); err != nil || d.First != 3 ||
		!strings.Contains(d.Why, "other events") {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestFeatures(t *testing.T) {
	states, err := controlled(t, 5).Execute(context.Background(), []Event{add(3).Event, add(3).Event, add(1).Event, add(1).Event})
	if err != nil {
		t.Fatal(err)
	}
	list := Features(append(states, states...))
	if len(states) != 4 || len(list) != 4 || list[0].ID == list[1].ID {
		t.Errorf("%d states, features %v", len(states), list)
	}
}

func TestServersThatDoNotAnswer(t *testing.T) {
	say := func(code int, text string) *Server {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			fmt.Fprint(w, text)
		}))
		t.Cleanup(server.Close)
		return &Server{URL: server.URL + "/"}
	}
	for _, c := range []struct {
		server *Server
		want   string
	}{
		{say(500, "Error checking assumptions: 2104"), "refuses the run: 500 Internal Server Error: Error checking assumptions: 2104"},
		{say(200, "<html>"), "is not one of a controlled TLC"},
		{say(200, `{"states":["/\\ n = 0"],"keys":[1,2]}`), "it has 1 states and 2 keys"},
		{&Server{URL: "http://127.0.0.1:1"}, "start it with its specification"},
	} {
		if _, err := c.server.Execute(context.Background(), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
