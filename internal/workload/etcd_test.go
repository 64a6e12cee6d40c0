package workload

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func deadlineIn(t *testing.T) time.Time {
	t.Helper()
	return time.Now().Add(20 * time.Second)
}

// What the driver concludes from replies of etcd's gateway.
func TestEtcdReplies(t *testing.T) {
	const head = `"header":{"revision":"40"}`
	for _, c := range []struct {
		operation string
		status    int
		body      string
		want      history.Type
		output    string
		found     bool
	}{
		{"put", 200, `{` + head + `}`, history.Ok, "", false},
		{"put", 200, `{}`, history.Info, "", false}, // that is no reply of etcd
		{"put", 200, `x`, history.Info, "", false},
		{"put", 200, `{"error":"etcdserver: request timed out","code":14}`, history.Info, "", false},
		{"put", 503, `{"error":"etcdserver: request timed out","message":"etcdserver: request timed out","code":14}`, history.Info, "", false},
		{"put", 400, `{"error":"x","message":"etcdserver: key is not provided","code":3}`, history.Fail, "", false},
		{"put", 429, `{"message":"etcdserver: too many requests","code":8}`, history.Fail, "", false},
		{"put", 404, `Not Found`, history.Info, "", false},
		{"range_put", 400, `{"message":"etcdserver: mvcc: required revision has been compacted","code":11}`, history.Fail, "", false},
		{"range_put", 200, `{` + head + `,"succeeded":true}`, history.Ok, "", false},
		{"range_put", 200, `{` + head + `}`, history.Info, "", false},
		{"get", 200, `{` + head + `,"kvs":[{"key":"aw==","value":"djE="}],"count":"1"}`, history.Ok, "v1", true},
		{"get", 200, `{` + head + `,"kvs":[{"key":"aw=="}],"count":"1"}`, history.Ok, "", true},
		{"get", 200, `{` + head + `}`, history.Ok, "", false},
		{"get", 200, `{` + head + `,"kvs":[{"key":"aw==","value":"*"}]}`, history.Info, "", false},
		{"delete", 200, `{` + head + `,"deleted":"1"}`, history.Ok, "1", false},
		{"delete", 200, `{` + head + `}`, history.Ok, "0", false},
		{"cas", 200, `{` + head + `,"succeeded":true}`, history.Ok, "true", false},
		{"cas", 200, `{` + head + `}`, history.Ok, "false", false},
		{"compact", 200, `{` + head + `}`, history.Ok, "", false},
		{"lease_put", 503, `{"message":"no leader","code":14}`, history.Fail, "", false}, // the put was not sent
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			body, _ := io.ReadAll(r.Body)
			if !json.Valid(body) || !strings.HasPrefix(r.URL.Path, "/v3/") {
				t.Errorf("%s %s", r.URL.Path, body)
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		w := world.Workload{Driver: "etcd", Operations: 1, Targets: []string{server.URL},
			Mix: []world.Operation{{Kind: c.operation, Weight: 1, KeyPattern: "k"}}}
		s, err := newSettings(&w, nil)
		if err != nil {
			t.Fatal(err)
		}
		cs := newConnections(1, "c0")
		r := s.dialect.perform(cs, 0, &operation{entry: &s.mix[0], key: "k", value: "v"}, deadlineIn(t))
		if r.typ != c.want || r.output != c.output || r.found != c.found || asked != 1 {
			t.Errorf("%s, %d %s: %+v after %d requests; want %s %q %v", c.operation, c.status, c.body, r, asked, c.want, c.output, c.found)
		}
		cs.close()
		server.Close()
	}
}

// range_put reads at a revision of the past that replies have named.
func TestEtcdRevisions(t *testing.T) {
	var revisions []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Success []struct {
				Range struct{ Revision string } `json:"request_range"`
			}
		}
		json.NewDecoder(r.Body).Decode(&body)
		for _, s := range body.Success {
			if s.Range.Revision != "" {
				revisions = append(revisions, s.Range.Revision)
			}
		}
		fmt.Fprint(w, `{"header":{"revision":"40"},"succeeded":true}`)
	}))
	defer server.Close()
	d := newDrives(t)
	events, _ := d.run(world.Workload{Driver: "etcd", Clients: 1, Operations: 3, Targets: []string{server.URL}, Options: map[string]string{"back": "15"},
		Mix: []world.Operation{{Kind: "range_put", Weight: 1}}})
	if got := strings.Join(revisions, " "); got != "1 25 25" {
		t.Errorf("ranges at revisions %s", got)
	}
	if len(events) != 6 || events[0].Op != "put" {
		t.Errorf("%s", short(events))
	}
}
