package workload

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// TestOnce: a workload that does each operation once continues with what did not succeed, reads again what it has changed, and
// ends.
func TestOnce(t *testing.T) {
	refused := 3 // writes of b
	store := &kv{values: map[string][]string{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "b") && refused > 0 {
			refused--
			w.WriteHeader(503)
			return
		}
		store.ServeHTTP(w, r)
	}))
	defer server.Close()
	d := newDrives(t)
	events, _ := d.run(world.Workload{Name: "load/recovery", Driver: "http", Clients: 1, DurationNs: 20e9, Targets: []string{server.URL}, Once: true,
		Options: map[string]string{"fail_status": "503"},
		Mix: []world.Operation{{Kind: "put", Weight: 1, KeyPattern: "a"}, {Kind: "put", Weight: 1, KeyPattern: "b"},
			{Kind: "get", Weight: 1, KeyPattern: "a"}, {Kind: "get", Weight: 1, KeyPattern: "b"}}})
	var done []string
	for _, e := range events {
		if e.Type != "invoke" {
			done = append(done, e.Op+" "+e.Key+" "+string(e.Type))
		}
		if e.Client != "load/recovery/c0" {
			t.Errorf("client %s", e.Client)
		}
	}
	want := "put a ok, put b fail, get a ok, get b ok, put b fail, put b fail, put b ok, get b ok"
	if got := strings.Join(done, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
