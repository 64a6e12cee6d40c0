package stored

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner/engines"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// LoadFailure reads a failure and, where there is one, the project that it belongs to, whose programs are built
// first. A failure file needs no project; without one, the project has no Spec, and a state folder to be removed.
func LoadFailure(a *console.App, c *cobra.Command, f *flags.Set, args []string) (*project.Project, *report.Failure, error) {
	name, named := args[0], len(args) > 1 || f.Config != "" || len(f.Compose) > 0
	file := report.IsFailurePath(name)
	p, err := project.Load(c.Context(), a, f, args[1:])
	if err != nil && f.Config == "" && len(f.Compose) == 0 {
		if path := configOf(name, args[1:]); path != "" {
			p, err = project.Load(c.Context(), a, f, []string{path})
		}
	}
	var mistakes config.Errors
	switch {
	case err != nil && (named || errors.As(err, &mistakes)):
		return nil, nil, err
	case err != nil && !file:
		return nil, nil, fmt.Errorf("%w; or give the project's folder: bloodhound replay %s "+
			"FOLDER", err, flags.ShellQuote(name))
	}
	state := ""
	if p != nil {
		state = p.State
	}
	failure, err := report.Load(state, name)
	if p != nil && errors.As(err, new(*report.UnknownFailure)) {
		failure, err = inStore(c.Context(), a, p, name, err)
	}
	if err != nil {
		return nil, nil, err
	}
	if p != nil && !p.FromAnother(failure) {
		failure.Belongs(p.TestName())
	}
	if failure.Spec.Engine == world.InProcess {
		return nil, nil, fmt.Errorf("%s is a failure of the Go test over the world %q: run go test -run '^%s$' "+
			"-sim.replay=%s in the folder of its package", name, failure.Spec.Name,
			strings.ReplaceAll(failure.Spec.Name, "/", "$/^"), failure.ID)
	}
	if f.Engine != "" {
		if _, err := engines.Choose(failure.Spec, f.Engine); err != nil {
			return nil, nil, err
		}
	}
	if p != nil && !named && file && !sameNodes(p.Spec, failure.Spec) {
		a.Note("note: %s is not the failure's project, so it is not used", p.Config)
		p = nil
	}
	if p != nil && p.Spec.Dir != failure.Spec.Dir {
		p.MovedFrom = failure.Spec.Dir
		failure.Relocate(p.Spec.Dir)
		if failure.Spec, err = failure.Spec.Moved(p.Spec.Dir); err != nil {
			return nil, nil, err
		}
	}
	if info, err := os.Stat(failure.Spec.Dir); err != nil || !info.IsDir() {
		return nil, nil, fmt.Errorf("%s: the project of this failure was in %s, and that folder is gone; give "+
			"the folder where the project is now: bloodhound replay %s FOLDER",
			name, failure.Spec.Dir, flags.ShellQuote(name))
	}
	if p != nil {
		if p.FromAnother(failure) {
			a.Note("note: %s is a failure of %s, so the world of %[2]s runs; %[3]s only provides the built programs",
				failure.ID, filepath.Base(failure.Config),
				filepath.Base(p.Config))
		}
		takeImages(failure.Spec, p.Spec)
		return p, failure, p.Build(c.Context(), a)
	}
	if state, err = os.MkdirTemp("", "bloodhound-replay-"); err != nil {
		return nil, nil, console.Failed(err)
	}
	return &project.Project{State: state}, failure, nil
}

// configOf gives the configuration that a failure of a folder's own names, where the folder has no bloodhound.yaml; or "".
func configOf(name string, args []string) string {
	folder := append(args, ".")[0]
	if _, err := os.Stat(filepath.Join(folder, "bloodhound.yaml")); err == nil {
		return ""
	}
	failure, err := report.Load(project.StateFolder(folder), name)
	if err != nil || failure.Config == "" {
		return ""
	}
	return filepath.Join(folder, filepath.Base(failure.Config))
}

// sameNodes reports whether two Specs name the same nodes, as those of one project do.
func sameNodes(a, b *world.Spec) bool {
	return slices.EqualFunc(a.Nodes, b.Nodes, func(x, y world.Node) bool { return x.Name == y.Name })
}

// sameSpec compares two Specs as failure files hold them. Rules that campaigns have derived belong to no configuration.
func sameSpec(a, b *world.Spec) bool {
	x, errX := json.Marshal(fault.Underived(a))
	y, errY := json.Marshal(fault.Underived(b))
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// ExplainLacking says what the machine lacks for the world of a failure, and why that may be.
func ExplainLacking(p *project.Project, name string, failure *report.Failure, err error) error {
	var list engine.Mistakes
	switch {
	case !errors.As(err, &list):
		return err
	case p.Spec == nil:
		return fmt.Errorf("%s: %w\n  or give the project, to build its programs first: bloodhound replay %s "+
			"FOLDER", name, err, flags.ShellQuote(name))
	case sameSpec(p.Spec.UnderRules(failure.Spec.RulesVersion), failure.Spec):
		return p.Result.Locate(list)
	}
	return fmt.Errorf("%s: %w\n  %s has changed since this failure was stored, and the failure still needs it", name, err, p.Config)
}

// takeImages gives the nodes of a failure the images that their names mean now: these are programs of the project, as those in
// its folder are.
func takeImages(spec, now *world.Spec) {
	ids := map[string]string{}
	for i := range now.Nodes {
		if img := now.Nodes[i].Image; img != nil {
			ids[img.Name] = img.ID
		}
	}
	for i := range spec.Nodes {
		if img := spec.Nodes[i].Image; img != nil && ids[img.Name] != "" {
			img.ID = ids[img.Name]
		}
	}
}
