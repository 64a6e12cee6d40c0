package project

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/group"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// BuiltVariable lists folders, separated as in PATH. Projects in them are built already, so no verb but build runs their build steps.
// An image sets it: its programs lie in it, and the tools to build them do not.
const BuiltVariable = "BLOODHOUND_BUILT"

// Build runs the build steps, unless the project is built already.
func (p *Project) Build(ctx context.Context, a *console.App) error {
	if BuiltAhead(p.Spec.Dir) {
		return nil
	}
	return p.RunBuilds(ctx, a)
}

// BuiltAhead reports whether the environment says that the project in a folder is built already.
func BuiltAhead(dir string) bool {
	for _, folder := range filepath.SplitList(os.Getenv(BuiltVariable)) {
		if abs, err := filepath.Abs(folder); folder != "" && err == nil && (dir == abs || IsBelow(abs, dir)) {
			return true
		}
	}
	return false
}

// RunBuilds runs the build steps. Their output is shown if one fails, which is exit code 2.
func (p *Project) RunBuilds(ctx context.Context, a *console.App) error {
	show := console.NewProgress(a.Err, false, p.quiet)
	defer show.End()
	for i, s := range p.Steps {
		cmd := exec.CommandContext(ctx, s.Argv[0], s.Argv[1:]...)
		cmd.Dir = s.Dir
		cmd.Env = append(cmd.Environ(), s.Env...)
		var out group.Output
		cmd.Stdout, cmd.Stderr = &out, &out
		stop := show.Every(func(elapsed time.Duration) []console.Part { return BuildLine(&p.Steps[i], elapsed) })
		err := group.Run(cmd)
		stop()
		if err == nil {
			continue
		}
		show.End()
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		io.WriteString(a.Err, report.Printable(out.String()))
		return fmt.Errorf("%s: the build of node %s failed: `%s` in %s: %w%s", p.Config, s.Node, strings.Join(s.Argv, " "), s.Dir, err, buildRemedy(err, s))
	}
	return nil
}

// buildRemedy says what to do about a build that failed because of the machine: it lacks the tool, or the folder cannot be written to.
func buildRemedy(err error, s config.Build) string {
	problem, _ := report.Unwritable(filepath.Join(s.Dir, ".bloodhound-try"))
	if errors.Is(err, exec.ErrNotFound) {
		problem = "this machine lacks " + s.Argv[0]
	}
	if problem == "" {
		return "; fix the program, or the node's `build:`"
	}
	return "; " + problem + ": run `bloodhound build` on a machine that has it, and set " + BuiltVariable + "=" + flags.ShellQuote(s.Dir) +
		" here, as deploy/project.Dockerfile does (docs/how-to/run-a-fleet.md)"
}

// BuildLine is the line of progress of a build.
func BuildLine(s *config.Build, elapsed time.Duration) []console.Part {
	return []console.Part{{Text: "building " + s.Node, Colour: console.Bold}, {Text: elapsed.Round(time.Second).String()},
		{Text: strings.Join(s.Argv, " "), Colour: console.Grey}}
}
