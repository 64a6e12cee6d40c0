package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/group"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// builtVariable lists folders, separated as in PATH. Projects in them are built already, so no verb but build runs their build steps.
// An image sets it: its programs lie in it, and the tools to build them do not.
const builtVariable = "BLOODHOUND_BUILT"

func (a *app) buildVerb() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "build [FOLDER or FILE]...",
		Short: "Build the programs of projects, and run nothing else",
		Long: `Runs the build: commands of one or more projects, which the other verbs run before their first run. The Dockerfile of an image runs
it, and sets BLOODHOUND_BUILT to the project's folder: there the other verbs build nothing.
Exit code 0: all are built; 2: a command has failed.`,
		Args: func(_ *cobra.Command, args []string) error { return noneEmpty(args) },
		RunE: func(c *cobra.Command, args []string) error { return a.build(c.Context(), f, args) },
	}
	c.Flags().Var(filesFlag{&f.compose}, "compose", "read the nodes from this Compose `file`; given again, from several that are merged")
	c.Flags().Var(fileFlag{&f.config}, "config", "read this configuration `file` instead of bloodhound.yaml")
	return c
}

func (a *app) build(ctx context.Context, f *flags, args []string) error {
	if len(args) == 0 {
		return a.buildProject(ctx, f, nil)
	}
	for project := range slices.Chunk(args, 1) {
		if err := a.buildProject(ctx, f, project); err != nil {
			return err
		}
	}
	return nil
}

// buildProject builds one project: the one that is named, or else that of the flags or of the current folder.
func (a *app) buildProject(ctx context.Context, f *flags, named []string) error {
	o, err := f.options(named)
	if err != nil {
		return err
	}
	o.Describe = true // images are not needed for this
	r, err := config.Load(o)
	if err != nil {
		return err
	}
	p := &project{spec: r.Spec, config: r.File, steps: r.Builds}
	if err := p.runBuilds(ctx, a); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: %s done\n", r.File, plural.Count(len(p.steps), "build step"))
	return nil
}

// build runs the build steps, unless the project is built already.
func (p *project) build(ctx context.Context, a *app) error {
	if builtAhead(p.spec.Dir) {
		return nil
	}
	return p.runBuilds(ctx, a)
}

// builtAhead reports whether the environment says that the project in a folder is built already.
func builtAhead(dir string) bool {
	for _, folder := range filepath.SplitList(os.Getenv(builtVariable)) {
		if abs, err := filepath.Abs(folder); folder != "" && err == nil && (dir == abs || isBelow(abs, dir)) {
			return true
		}
	}
	return false
}

// runBuilds runs the build steps. Their output is shown if one fails, which is exit code 2.
func (p *project) runBuilds(ctx context.Context, a *app) error {
	show := newProgress(a.err, false, p.quiet)
	defer show.end()
	for i, s := range p.steps {
		cmd := exec.CommandContext(ctx, s.Argv[0], s.Argv[1:]...)
		cmd.Dir = s.Dir
		cmd.Env = append(cmd.Environ(), s.Env...)
		var out group.Output
		cmd.Stdout, cmd.Stderr = &out, &out
		stop := show.every(func(elapsed time.Duration) []part { return buildLine(&p.steps[i], elapsed) })
		err := group.Run(cmd)
		stop()
		if err == nil {
			continue
		}
		show.end()
		if ctx.Err() != nil {
			return errInterrupted
		}
		io.WriteString(a.err, report.Printable(out.String()))
		return fmt.Errorf("%s: the build of node %s failed: `%s` in %s: %w%s", p.config, s.Node, strings.Join(s.Argv, " "), s.Dir, err, buildRemedy(err, s))
	}
	return nil
}

// buildRemedy says what to do about a build that failed because of the machine: it lacks the tool, or the folder cannot be written to.
func buildRemedy(err error, s config.Build) string {
	problem, _ := report.Unwritable(filepath.Join(s.Dir, ".bloodhound-try"))
	if errors.Is(err, exec.ErrNotFound) {
		problem = "this machine has no " + s.Argv[0]
	}
	if problem == "" {
		return "; mend the program, or the node's `build:`"
	}
	return "; " + problem + ": run `bloodhound build` where it can be built, and set " + builtVariable + "=" + shellQuote(s.Dir) +
		" here, as deploy/project.Dockerfile does (docs/how-to/run-a-fleet.md)"
}

// buildLine is the line of progress of a build.
func buildLine(s *config.Build, elapsed time.Duration) []part {
	return []part{{"building " + s.Node, bold}, {elapsed.Round(time.Second).String(), noColour}, {strings.Join(s.Argv, " "), grey}}
}
