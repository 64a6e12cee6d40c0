package dashboard

import (
	"bufio"
	"errors"
	"html"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/fleet"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/open"
	"github.com/bloodhound-dst/bloodhound/internal/store/remote"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/dashboardtest"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/storetest"
)

// What was removed from a store vanishes from its dashboard, which goes on, also where the store fails meanwhile.
func TestSweptStore(t *testing.T) {
	db := &storetest.Failing{Store: filled(t)}
	d := of(db)
	h := d.Handler(t.Context())
	entries := func() (n uint64) {
		d.model.Read(func(v *records.View) {
			for _, k := range v.Held {
				n += k.Entries
			}
		})
		return n
	}
	until := func(what string, is func() bool) {
		t.Helper()
		for !is() {
			_, changed := d.model.State()
			if is() {
				return
			}
			select {
			case <-changed:
			case <-t.Context().Done():
				t.Fatal(what)
			}
		}
	}
	<-d.model.Caught()
	before := entries()
	p, err := fleet.Pack(t.Context(), db, dashboardtest.Now.Add(time.Hour), false)
	if err != nil || p.Spans < 100 || p.Counts != 8 {
		t.Fatalf("%+v, %v", p, err)
	}
	after := before - uint64(p.Spans) + uint64(p.Packs) - uint64(p.Counts) + 1 // which says that entries were dropped
	until("nothing has vanished", func() bool { return entries() == after })
	if body := show(h, "/test?id="+string(testID)); !strings.Contains(body, "from 8,000 counted runs of this build") {
		t.Error("packing has changed what the dashboard says of a test")
	}
	db.Down.Store(true)
	if err := db.Store.Add(t.Context(), (&records.Swept{AtMs: 1 << 60}).Entry()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Store.Drop(t.Context(), "corpus/", func(store.Entry) bool { return true }); err != nil {
		t.Fatal(err)
	}
	until("no problem is reported", func() bool { s, _ := d.model.State(); return s.Problem != "" })
	db.Down.Store(false)
	until("nothing has vanished after the store came back", func() bool { return entries() == after+1-130 })
	if body := show(h, "/corpus?test="+string(testID)); !strings.Contains(body, "0 entries") {
		t.Error("the corpus is still there")
	}
}

// A database on a server has the same pages as one in memory, and the dashboard follows it.
func TestPagesOfServers(t *testing.T) {
	want := exported(t, filled(t))
	for name, start := range map[string]func(testing.TB) *storetest.Server{"postgres": storetest.Postgres,
		"redis": func(t testing.TB) *storetest.Server { return storetest.Redis(t) }} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			db, err := open.Open(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			dashboardtest.Fill(t, db)
			got := exported(t, db)
			if !maps.Equal(got, want) {
				for file := range want {
					if got[file] != want[file] && file != "database.html" { // which has the size of blobs as they are stored
						t.Errorf("%s is another one, of %d and %d bytes", file, len(got[file]), len(want[file]))
					}
				}
			}
			s := serve(t, of(db))
			for page, path := range addresses() {
				body, r := get(t, s, path)
				if r.StatusCode != 200 || strings.Contains(body, "has not answered") || strings.Contains(body, storetest.Password) {
					t.Errorf("%s: %s\n%.2000s", page, r.Status, body)
				}
			}
			for _, path := range []string{"/api/v1/database", "/metrics"} {
				if body, r := get(t, s, path); r.StatusCode != 200 || !strings.Contains(body, "span") {
					t.Errorf("%s: %s\n%.2000s", path, r.Status, body)
				}
			}
			other, err := open.Open(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			note := records.Note{By: "ann", Text: "seen elsewhere", AtMs: 1}
			if err := other.Add(t.Context(), note.Entry(testID, lostID)); err != nil {
				t.Fatal(err)
			}
			events, err := s.Client().Get(s.URL + "/events")
			if err != nil {
				t.Fatal(err)
			}
			defer events.Body.Close()
			for lines := bufio.NewScanner(events.Body); ; {
				if body, _ := get(t, s, addresses()["failure"]); strings.Contains(body, "seen elsewhere") {
					break
				}
				if !lines.Scan() {
					t.Fatal("no event reports the note")
				}
			}
		})
	}
}

// Workers use the store of a dashboard with its token, and not without.
func TestStoreOverHTTP(t *testing.T) {
	const token = "a-token-of-the-test-that-is-long"
	d := of(store.NewMemory())
	d.Guard.Token, d.Mounted = token, remote.Handler(d.Store, "")
	s := serve(t, d)
	entry := store.Entry{Key: "k", Value: []byte("v")}
	for given, want := range map[string]string{"": "requires a token", "another-token-of-the-test": "rejected the token"} {
		c, err := remote.Open(s.URL, given)
		if err == nil {
			err = c.Add(t.Context(), entry)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the token %q: %v", given, err)
		}
	}
	c, err := remote.Open(s.URL, token)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Add(t.Context(), entry); err != nil {
		t.Fatal(err)
	}
	if got := storetest.All(t, d.Store, ""); len(got) != 1 || got[0] != "k = v" {
		t.Errorf("%q", got)
	}
	if _, err := c.Blob(t.Context(), store.DigestOf(nil)); !errors.Is(err, store.ErrNoBlob) {
		t.Errorf("%v", err)
	}
}

// Pages and metrics say that a part of the store is damaged.
func TestDamage(t *testing.T) {
	folder := t.TempDir()
	db, err := store.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	test := records.Test{Name: "t", Definition: "d"}
	if err := db.Add(t.Context(), test.Entry()); err != nil {
		t.Fatal(err)
	}
	s := serve(t, of(db))
	if text, _ := get(t, s, "/metrics"); !strings.Contains(text, "bloodhound_database_damaged_segments 0\n") {
		t.Error(text)
	}
	storetest.Damage(t, folder)
	s = serve(t, of(db))
	if text, _ := get(t, s, "/metrics"); !strings.Contains(text, "bloodhound_database_damaged_segments 1\n") {
		t.Error(text)
	}
	if text, _ := get(t, s, "/"); !strings.Contains(text, "The database is damaged: log/") {
		t.Error(text)
	}
}

// A dashboard whose store is down as it starts says that alone, and nothing of what it cannot know.
func TestStoreThatIsDownAtTheStart(t *testing.T) {
	db := &storetest.Failing{Store: filled(t)}
	db.Down.Store(true)
	d := of(db)
	s := serve(t, d)
	for {
		state, changed := d.model.State()
		if state.Problem != "" {
			break
		}
		<-changed
	}
	body, _ := get(t, s, "/")
	if !strings.Contains(body, "The database has not answered since") {
		t.Errorf("nothing says that the database is away:\n%.2000s", body)
	}
	for _, wrong := range []string{"still being read", "Start a worker", "No test", "0001-01-01", "last data read"} {
		if strings.Contains(body, wrong) {
			t.Errorf("the page says %q of a database that nobody has read", wrong)
		}
	}
}

// A request for a commit shows which revisions it is about.
func TestRevisionsOfRequests(t *testing.T) {
	db := store.NewMemory()
	r := records.Request{Kind: records.BisectRequest, Test: "t", Failure: "f", Good: "v1.4.0", By: "ann", AtMs: 1}
	if err := db.Add(t.Context(), r.Entry()); err != nil {
		t.Fatal(err)
	}
	if body, _ := get(t, serve(t, of(db)), "/workers"); !strings.Contains(body, "v1.4.0..HEAD") {
		t.Error("the page of workers does not show the revisions")
	}
}

// The file of a failure is saved under the name that the command has which replays it.
func TestNameOfTheFile(t *testing.T) {
	s := serve(t, of(filled(t)))
	body, _ := get(t, s, addresses()["failure"])
	link := regexp.MustCompile(`href="(file\?digest=[^"]*)" download="([0-9a-f]+-[0-9a-f]+\.json)"`).FindStringSubmatch(body)
	if link == nil || !strings.Contains(body, "bloodhound replay "+link[2]) {
		t.Fatalf("%q", link)
	}
	path := "/" + html.UnescapeString(link[1])
	if _, r := get(t, s, path); r.Header.Get("Content-Disposition") != `attachment; filename="`+link[2]+`"` {
		t.Errorf("%s, want %s", r.Header.Get("Content-Disposition"), link[2])
	}
	digest, _, _ := strings.Cut(path, "&")
	if _, r := get(t, s, digest+"&id=%22x%0d%0a"); !regexp.MustCompile(`^attachment; filename="[0-9a-f]{16}\.json"$`).MatchString(r.Header.Get("Content-Disposition")) {
		t.Error(r.Header.Get("Content-Disposition"))
	}
}

// A worker that is paused is alive on all pages, also if it has made no run.
func TestPausedWorker(t *testing.T) {
	db := store.NewMemory()
	now := dashboardtest.Now.UnixMilli()
	w := records.Worker{Host: "h", StartedMs: now - 3600_000}
	seen := w
	seen.SeenMs = now - 60_000
	pause := records.Pause{On: true, By: "ann", AtMs: now - 1800_000}
	if err := db.Add(t.Context(), seen.Entry("w"), w.Entry("w"), pause.Entry()); err != nil {
		t.Fatal(err)
	}
	s := serve(t, of(db))
	for path, want := range map[string]string{
		"/": "1 worker paused", "/workers": `<span class="state waiting">paused</span></td>`,
		"/metrics": "bloodhound_workers_alive 1\n", "/metrics?": "bloodhound_workers_paused 1\n",
		"/api/v1/overview": `"workers_alive": 1`,
	} {
		if body, _ := get(t, s, path); !strings.Contains(strings.ReplaceAll(body, `":1`, `": 1`), want) {
			t.Errorf("%s has no %s", path, want)
		}
	}
}
