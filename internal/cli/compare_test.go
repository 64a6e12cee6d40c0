package cli

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/dashboard/dashboardtest"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// A test that was not run on a commit is no test without new failures.
func TestCompareNamesTestsThatWereNotRun(t *testing.T) {
	folder := t.TempDir()
	db, err := store.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := dashboardtest.Entries()
	entries = slices.DeleteFunc(entries, func(e store.Entry) bool {
		return strings.HasPrefix(e.Key, "failure/") || strings.HasPrefix(e.Key, "replay/")
	})
	if err := db.Add(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		code, base string
		exit       int
		tests      []string
		notRun     []string
	}{
		{"c0ffee12", "", check.ExitUnknown, []string{dashboardtest.Queue, dashboardtest.Store}, []string{dashboardtest.Late}},
		{"c0ffee12", "c0ffee12", check.ExitHolds, []string{dashboardtest.Queue, dashboardtest.Store}, nil},
		{"8d4e6b2a", "c0ffee12", check.ExitUnknown, []string{dashboardtest.Late, dashboardtest.Queue, dashboardtest.Store}, nil},
		{"5005005", "8d4e6b2a", check.ExitUnknown, nil, []string{dashboardtest.Late, dashboardtest.Queue, dashboardtest.Store}},
	} {
		var out, said bytes.Buffer
		code := Main([]string{"db", "compare", "--store", folder, "--code", test.code, "--base", test.base, "--json"}, &out, &said)
		var doc compareDocument
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%v\n%s%s", err, &out, &said)
		}
		var names []string
		for _, x := range doc.Tests {
			names = append(names, x.Name)
		}
		if code != test.exit || !slices.Equal(names, test.tests) || !slices.Equal(doc.NotRun, test.notRun) {
			t.Errorf("%s since %s: exit code %d, %q, not run %q", test.code, test.base, code, names, doc.NotRun)
		}
	}
}
