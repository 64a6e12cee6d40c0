package dashboard

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/dashboard/dashboardtest"
	"github.com/bloodhound-dst/bloodhound/internal/fleet"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/remote"
	"github.com/bloodhound-dst/bloodhound/internal/store/storetest"
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
	if body := show(h, "/test?id="+string(testID)); !strings.Contains(body, "of 8,000 runs of this code") {
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

// Workers use the store of a dashboard with its token, and not without.
func TestStoreOverHTTP(t *testing.T) {
	const token = "a-token-of-the-test-that-is-long"
	d := of(store.NewMemory())
	d.Guard.Token, d.Mounted = token, remote.Handler(d.Store, "")
	s := serve(t, d)
	entry := store.Entry{Key: "k", Value: []byte("v")}
	for given, want := range map[string]string{"": "wants a token", "another-token-of-the-test": "does not take the token"} {
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
