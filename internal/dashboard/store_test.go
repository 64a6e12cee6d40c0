package dashboard

import (
	"errors"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/store/remote"
	"github.com/bloodhound-dst/bloodhound/internal/store/storetest"
)

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
