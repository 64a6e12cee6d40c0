package setup

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// LiveProgram is the program of the verb live, from a module of its own.
const LiveProgram = "bloodhound-live"

// getLive says how to get it.
const getLive = "install it by `go install github.com/bloodhound-dst/bloodhound/live/cmd/bloodhound-live@latest`,\n" +
	"or put it from the archive of the release beside bloodhound or into a folder of PATH"

func liveVerb(a *console.App) *cobra.Command {
	return &cobra.Command{
		Use:   "live [VERB] [ARGUMENTS]",
		Short: "Explore what running programs could do next, without touching them",
		Long: `Takes checkpoints of running programs and has copies of them try inputs that are solved for from the conditions in their code. Verbs below it:
build (a Go program that can be explored while it runs), federate (routers of several domains), test (handlers in the tests of a Go package) and
try (a new configuration).

All of this is a program of its own, bloodhound-live, which is executed in the place of this one. If it is missing,
` + getLive + `.`,
		DisableFlagParsing:    true,
		DisableFlagsInUseLine: true,
		RunE:                  live,
		ValidArgsFunction:     completeLive,
	}
}

// live becomes bloodhound-live.
func live(c *cobra.Command, args []string) error {
	path, err := program.Companion(LiveProgram)
	switch {
	case err == nil:
		return console.Failed(fmt.Errorf("%s: %w", path, program.Become(path, args)))
	case slices.ContainsFunc(args, func(arg string) bool { return arg == "-h" || arg == "--help" }):
		return c.Help()
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("there is no %s: %s", LiveProgram, getLive)
	}
	return fmt.Errorf("%w; %s", err, getLive)
}

// completeLive asks bloodhound-live what may follow arguments.
func completeLive(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	path, err := program.Companion(LiveProgram)
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	out, err := exec.Command(path, slices.Concat([]string{cobra.ShellCompRequestCmd}, args, []string{begun})...).Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	last := lines[len(lines)-1]
	directive, wrong := strconv.Atoi(strings.TrimPrefix(last, ":"))
	if err != nil || wrong != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return lines[:len(lines)-1], cobra.ShellCompDirective(directive)
}
