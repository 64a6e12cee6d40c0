package failures

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

func listVerb(a *console.App) *cobra.Command {
	f := &flags.Set{}
	c := &cobra.Command{
		Use:   "list [FOLDER]",
		Short: "List the failures and the tests of a folder",
		Long: "List the tests of a folder and its failures (stored and committed, newest first). Each configuration file " +
			"is a test. Nothing runs.",
		Args: flags.OneArgument,
		RunE: func(_ *cobra.Command, args []string) error { return listFailures(a, f, append(args, ".")[0]) },
	}
	f.AddDocument(c)
	return c
}

// ListDocument is the JSON document of list.
type ListDocument struct {
	Bloodhound string          `json:"bloodhound"`
	Verb       string          `json:"verb"`
	ExitCode   int             `json:"exit_code"`
	Folder     string          `json:"folder"`
	Failures   []listedFailure `json:"failures"`
	Tests      []listedTest    `json:"tests"`
}

// Standings of a listed failure.
const (
	foundState     = "found"     // its run is as it was found
	shrunkState    = "shrunk"    // there is a smaller run
	committedState = "committed" // `test` replays it
	brokenState    = "broken"    // the file cannot be read
)

// listedFailure is a failure of a folder.
type listedFailure struct {
	failure.Failure
	File    string    `json:"file"`
	Reason  string    `json:"reason,omitempty"`
	Config  string    `json:"config,omitempty"` // the configuration, by its file's name
	Stored  time.Time `json:"stored"`
	State   string    `json:"state"`
	Problem string    `json:"problem,omitempty"` // why the file cannot be read
	// Faults and Operations are those of the smallest run, where the failure was shrunk.
	Faults     *int `json:"faults,omitempty"`
	Operations *int `json:"operations,omitempty"`
}

// listedTest is a configuration of a folder.
type listedTest struct {
	Config   string `json:"config"`
	Failures int    `json:"failures"` // stored and committed ones that name it
}

func listFailures(a *console.App, f *flags.Set, dir string) error {
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no folder or file %s; give the folder of a project", dir)
	} else if err != nil {
		return err
	} else if !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	doc := ListDocument{Bloodhound: program.Version(), Verb: "list", Folder: dir, Failures: []listedFailure{}, Tests: []listedTest{}}
	state := project.StateFolder(dir)
	paths, err := stored.FailureFiles(dir, state)
	if err != nil {
		return err
	}
	for _, path := range paths {
		standing := committedState
		if strings.HasPrefix(path, state+string(filepath.Separator)) {
			standing = foundState
		}
		doc.Failures = append(doc.Failures, listFailure(path, standing))
	}
	doc.Failures = withoutCopies(doc.Failures)
	slices.SortStableFunc(doc.Failures, func(x, y listedFailure) int {
		return cmp.Or(y.Stored.Compare(x.Stored), strings.Compare(x.File, y.File))
	})
	doc.Tests = append(doc.Tests, listTests(dir, doc.Failures)...)
	if f.JSON {
		return a.PrintJSON(doc)
	}
	printList(a, &doc, flags.ArgumentsOf(&flags.Set{}, slices.DeleteFunc([]string{dir}, func(d string) bool { return d == "." })))
	return nil
}

// withoutCopies drops stored failures that are also committed.
func withoutCopies(list []listedFailure) []listedFailure {
	committed := map[string]bool{}
	for _, l := range list {
		committed[l.Name()] = committed[l.Name()] || l.State == committedState
	}
	return slices.DeleteFunc(list, func(l listedFailure) bool {
		return committed[l.Name()] && (l.State == foundState || l.State == shrunkState)
	})
}

// listFailure reads the file of a failure.
func listFailure(path, state string) listedFailure {
	l := listedFailure{Failure: failure.Failure{ID: strings.TrimSuffix(filepath.Base(path), ".json")}, File: path, State: state}
	if info, err := os.Stat(path); err == nil {
		l.Stored = info.ModTime().UTC().Truncate(time.Second)
	}
	f, err := report.Load("", path)
	if err != nil {
		l.State, l.Problem = brokenState, err.Error()
		return l
	}
	l.Failure, l.Reason, l.Config = f.Failure, f.Verdict.Reason, filepath.Base(f.Config)
	if small := f.Smallest; small != nil {
		faults, operations := int(small.Shrunk.To.Faults), int(small.Shrunk.To.Operations)
		l.Faults, l.Operations, l.Reason = &faults, &operations, small.Verdict.Reason
		if state == foundState {
			l.State = shrunkState
		}
	}
	return l
}

// maxListedConfig bounds the files in which configurations are looked for.
const maxListedConfig = 1 << 20

// listTests are the configurations of a folder: its bloodhound.yaml, and other YAML files that describe nodes.
func listTests(dir string, failures []listedFailure) (list []listedTest) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.y*ml"))
	for _, path := range paths {
		name := filepath.Base(path)
		text, err := regular.Read(path, maxListedConfig)
		if err != nil || name != project.ConfigName && !describesWorld(string(text)) {
			continue
		}
		t := listedTest{Config: name}
		for i := range failures {
			if failures[i].Config == name {
				t.Failures++
			}
		}
		list = append(list, t)
	}
	return list
}

// describesWorld reports whether a YAML file has the keys of a configuration: nodes, and something that is done with them.
func describesWorld(text string) bool {
	has := func(key string) bool {
		return strings.HasPrefix(text, key+":") || strings.Contains(text, "\n"+key+":")
	}
	return (has("nodes") || has("compose")) && (has("workload") || has("workloads") || has("properties") || has("faults"))
}

// printList prints failures and tests as a table.
func printList(a *console.App, doc *ListDocument, arguments string) {
	if len(doc.Failures) == 0 {
		fmt.Fprintf(a.Out, "no failures yet; search with `bloodhound explore%s`\n", arguments)
	} else {
		fmt.Fprintln(a.Out, "failures")
	}
	for i := range doc.Failures {
		l := &doc.Failures[i]
		what, size := l.Property, ""
		if l.Faults != nil {
			size = fmt.Sprintf(", %s, %s", plural.Count(*l.Faults, "fault"), plural.Count(*l.Operations, "operation"))
		}
		if l.State == brokenState {
			what = l.Problem
		}
		fmt.Fprintf(a.Out, "  %-12s  %-8s  %-*s  (%s%s)\n", l.ID, age(time.Since(l.Stored)), listedColumns, report.Fit(what, listedColumns), l.State, size)
	}
	if len(doc.Tests) > 0 {
		fmt.Fprintln(a.Out, "tests")
	}
	for _, t := range doc.Tests {
		fmt.Fprintf(a.Out, "  %-30s  %s\n", t.Config, plural.Count(t.Failures, "failure"))
	}
	if len(doc.Failures) > 0 && doc.Failures[0].State != brokenState {
		fmt.Fprintf(a.Out, "\nReplay the newest: bloodhound replay %s%s\n", doc.Failures[0].ID, arguments)
	}
}

// listedColumns is how much room a property has in a list.
const listedColumns = 30

// age says how long ago something was, in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return plural.Count(int(d.Hours()/24), "day")
}
