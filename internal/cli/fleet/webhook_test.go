package fleet

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/records"
)

func TestWebhook(t *testing.T) {
	got := make(chan Announcement, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var a Announcement
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v, %s", err, r.Header.Get("Content-Type"))
		}
		got <- a
		if a.Property == "refused" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	noted := make(chan string, 1)
	h, err := newWebhook(server.URL+"/secret", func(text string) { noted <- text })
	if err != nil {
		t.Fatal(err)
	}
	h.announce("kv", &records.Failure{Failure: failure.New("kv", "r", "p", "p: a", "a \x1b[31mread"), Reason: "a \x1b[31mread"})
	h.wait()
	if a := <-got; !strings.HasPrefix(a.Text, "kv: p is violated: a ") || strings.ContainsRune(a.Text, '\x1b') ||
		a.ID != failure.IDOf("kv", "p: a") || a.Of != a.ID || a.RunID != "r" {
		t.Errorf("%+v", a)
	}
	h.announce("kv", &records.Failure{Failure: failure.Failure{Property: "refused"}})
	h.wait()
	<-got
	if text := <-noted; strings.Contains(text, "secret") {
		t.Errorf("the note has the secret: %s", text)
	}
	for _, bad := range []string{"ftp://x", "x", "http://"} {
		if _, err := newWebhook(bad, nil); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	if h, err := newWebhook("", nil); err != nil {
		t.Error(err)
	} else {
		h.announce("kv", &records.Failure{})
	}
}
