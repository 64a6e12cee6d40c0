package routes

import (
	"net/http/httptest"
	"testing"
)

// Patterns that cannot be are errors of one line with a remedy, and the most specific one of those that can counts.
func TestAdd(t *testing.T) {
	var table Table[string]
	if table.Lookup(httptest.NewRequest("GET", "/a", nil)) != nil {
		t.Error("an empty table has a route")
	}
	all, one := "all", "one"
	for _, add := range []struct {
		pattern, want string
		at            *string
	}{
		{"/", "", &all},
		{"GET /a/{x}", "", &one},
		{"", `the Pattern is missing: write one as for http.ServeMux, such as "POST /charges/{order}"`, &one},
		{"nonsense", `the pattern "nonsense" is not valid for http.ServeMux (parsing "nonsense": at offset 0: host/path missing /): write one such as "POST /charges/{order}"`, &one},
		{"GET /a/{x}", `the pattern "GET /a/{x}" is there twice: remove one`, &one},
		{"GET /{y}/b", `the pattern "GET /{y}/b" and "GET /a/{x}", which was there before, have requests in common, and neither is more specific: change one`,
			&one},
	} {
		got := ""
		if err := table.Add(add.pattern, add.at); err != nil {
			got = err.Error()
		}
		if got != add.want {
			t.Errorf("%q: %s\nnot %s", add.pattern, got, add.want)
		}
	}
	for path, want := range map[string]*string{"/a/1": &one, "/a": &all} {
		if got := table.Lookup(httptest.NewRequest("GET", path, nil)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
