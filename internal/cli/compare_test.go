package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/fleet"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/dashboardtest"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// A test that was not run on a commit is no test without new failures.
func TestCompareNamesTestsThatWereNotRun(t *testing.T) {
	const unrun = "5005005005005005005005005005005005005005"
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
		{unrun, "8d4e6b2a", check.ExitUnknown, nil, []string{dashboardtest.Late, dashboardtest.Queue, dashboardtest.Store}},
		{"c0ffee12", unrun, check.ExitUnknown, nil, nil},
	} {
		var out, said bytes.Buffer
		code := Main([]string{"db", "compare", "--store", folder, "--code", test.code, "--base", test.base, "--json"}, &out, &said)
		var doc fleet.CompareDocument
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
		named := slices.Contains(doc.Unrun, fleet.UnrunCommit{Commit: unrun})
		if asked := test.code == unrun || test.base == unrun; named != asked {
			t.Errorf("%s since %s: %+v did not run", test.code, test.base, doc.Unrun)
		}
	}
	for _, flag := range []string{"--code", "--base"} {
		var out, said bytes.Buffer
		if code := Main([]string{"db", "compare", "--store", folder, "--code", "c0ffee12", flag, "zzz"}, &out,
			&said); code != check.ExitUsage || !strings.Contains(said.String(), flag+" zzz: neither ") {
			t.Errorf("%s zzz: exit code %d, %s%s", flag, code, &out, &said)
		}
	}
}

// Changes that are not committed are no part of a commit that is named: a failure that they brought is new on a commit that has it too.
func TestCompareTellsChangesFromTheirCommit(t *testing.T) {
	needs.Program(t, "git")
	repository, folder := t.TempDir(), t.TempDir()
	t.Chdir(repository)
	git := func(arguments ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, arguments...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", arguments, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile("code", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q", "-b", "main")
	write("fine")
	git("add", "code")
	git("commit", "-q", "-m", "main")
	main := git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "only changed")
	changed := git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "feature")
	feature := git("rev-parse", "HEAD")

	db, err := store.OpenDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	test := records.Test{Name: "qs"}
	fails := func(c records.Code) []store.Entry {
		return []store.Entry{c.Entry(), (&records.Failure{Failure: failure.Failure{Signature: "p: a/s", Property: "p"}, Code: c.ID(), Env: "e",
			Level: records.Raw}).Entry(records.TestID(test.Name))}
	}
	clean := records.Code{Commit: main, Line: "main", AtMs: 1}
	entries := slices.Concat([]store.Entry{test.Entry(), clean.Entry(),
		(&records.Replay{Code: clean.ID(), Env: "e", Result: records.Clean}).Entry(records.TestID(test.Name),
			records.FailureID(records.TestID(test.Name), "p: a/s"))},
		fails(records.Code{Commit: main, Line: "main", Dirty: "d1", AtMs: 2}), fails(records.Code{Commit: changed, Line: "main", Dirty: "d2", AtMs: 3}),
		fails(records.Code{Commit: feature, Line: "pr", AtMs: 4}))
	if err := db.Add(t.Context(), entries...); err != nil {
		t.Fatal(err)
	}
	compare := func(want int, arguments ...string) (doc fleet.CompareDocument, text string) {
		t.Helper()
		arguments = append([]string{"db", "compare", "--store", folder}, arguments...)
		var out, plain, said bytes.Buffer
		Main(arguments, &plain, &said)
		if code := Main(append(arguments, "--json"), &out, &said); code != want {
			t.Errorf("%q: exit code %d, %s%s", arguments, code, &plain, &said)
		}
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%v\n%s%s", err, &out, &said)
		}
		return doc, plain.String()
	}
	for _, base := range [][]string{{"--base", "main~2"}, {"--base", main}, nil} {
		doc, text := compare(check.ExitViolated, append([]string{"--code", feature}, base...)...)
		if len(doc.Tests) != 1 || doc.Tests[0].Base != main || len(doc.Tests[0].Of(records.NewChange)) != 1 || strings.Contains(text, "with changes") {
			t.Errorf("since %q: %+v\n%s", base, doc, text)
		}
	}
	// A commit that was run only with changes was not run.
	doc, text := compare(check.ExitUnknown, "--code", feature, "--base", changed)
	if !slices.Equal(doc.Unrun, []fleet.UnrunCommit{{Commit: changed, Changed: true}}) ||
		!strings.Contains(text, "Commit ` "+changed[:12]+" ` ran only with uncommitted changes.") {
		t.Errorf("%+v\n%s", doc, text)
	}
	git("checkout", "-q", changed)
	if doc, _ := compare(check.ExitUnknown); !slices.Equal(doc.Unrun, []fleet.UnrunCommit{{Commit: changed, Changed: true}}) {
		t.Errorf("a folder without changes: %+v", doc)
	}
	// It stands for the folder while that has changes.
	write("changed")
	for range 2 {
		doc, text = compare(check.ExitViolated)
		if doc.Code != changed+" with changes" || len(doc.Tests) != 1 || doc.Tests[0].Code != doc.Code ||
			!strings.HasPrefix(text, "### Bloodhound: ` "+changed[:12]+" with changes `\n") {
			t.Errorf("a folder with changes: %+v\n%s", doc, text)
		}
		// So do its own changes, although the commit was run too.
		own := records.Code{Commit: changed, AtMs: 1, Dirty: project.DirtyDigest(t.Context(), ".")}
		if err := db.Add(t.Context(), slices.Concat(fails(own), []store.Entry{(&records.Code{Commit: changed, AtMs: 9}).Entry()})...); err != nil {
			t.Fatal(err)
		}
	}
}
