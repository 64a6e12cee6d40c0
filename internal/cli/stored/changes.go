package stored

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/filetree"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// changesShown bounds how many of the differences from the stored run are listed.
const changesShown = 20

// ChangesSince lists what is different now from when a failure was stored.
func ChangesSince(p *project.Project, failure *report.Failure, o *check.Judged) []string {
	list := failure.Changes(o)
	if failure.Tree != nil && failure.Then() == nil { // the run has the permissions of now
		list = append(list, failure.Tree.ModesChanged(treeOf(failure.Spec))...)
	}
	if p.MovedFrom != "" {
		list = append([]string{fmt.Sprintf("the project has moved from %s to %s, and paths are part of a run", p.MovedFrom, p.Spec.Dir)}, list...)
	}
	return append(list, BuildChanges(failure, o)...)
}

// BuildChanges lists what another build of bloodhound changes by itself: its version, and its driver program.
func BuildChanges(f *report.Failure, o *check.Judged) (list []string) {
	if v := program.Version(); v != f.Bloodhound {
		list = append(list, fmt.Sprintf("bloodhound was %q and is now %q", f.Bloodhound, v))
	}
	if f.OtherDriver(o) {
		list = append(list, fmt.Sprintf("the driver program was sha256:%.12s and is now sha256:%.12s", f.Driver, o.Driver))
	}
	return list
}

// PrintOtherChanges prints what has changed since a failure was stored, under a heading of its own.
func PrintOtherChanges(a *console.App, changes []string) {
	if len(changes) == 0 {
		return
	}
	fmt.Fprintln(a.Out, "\nother changes")
	PrintChanges(a.Out, changes)
}

// PrintChanges prints a list of changes, as far as a person reads it.
func PrintChanges(w io.Writer, changes []string) {
	for i, change := range changes {
		if i == changesShown {
			fmt.Fprintf(w, "  ... and %d more\n", len(changes)-i)
			break
		}
		fmt.Fprintf(w, "  %s\n", change)
	}
}

// DiffRuns tells how the second of two runs of a tape is another one, and which files changed since the first began; empty if both are equal.
func DiffRuns(began time.Time, first, second *explore.Reply) string {
	d := explore.Differs(first.Summary, second.Summary)
	if d == "" || first.Outcome == nil || second.Outcome == nil {
		return d
	}
	if list := filedigest.Meanwhile(began, first.Outcome.Files, second.Outcome.Files); len(list) > 0 {
		d += "; changed during the runs, which may be the cause: " + report.Some(list, maxFilesNamed)
	}
	return d
}

// maxFilesNamed bounds the changed files that a line names.
const maxFilesNamed = 5

// WhyChanged lists changes below a message, or says how to find out why there are none.
func WhyChanged(changes []string) string {
	if len(changes) == 0 {
		return "  no other change was found; `bloodhound verify` shows whether runs repeat on this machine"
	}
	if more := len(changes) - maxFilesNamed; more > 0 {
		changes = append(slices.Clone(changes[:maxFilesNamed]), fmt.Sprintf("... and %d more", more))
	}
	return "  " + strings.Join(changes, "\n  ")
}

// treeOf lists the folder of a project, without what nodes do not see.
func treeOf(spec *world.Spec) *filetree.Tree {
	unseen := project.HiddenFiles(spec, nil)
	return filetree.Read(spec.Dir, func(path string) bool { return slices.Contains(unseen, path) })
}
