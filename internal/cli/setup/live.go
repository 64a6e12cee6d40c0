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
const getLive = "install it with `go install github.com/bloodhound-dst/bloodhound/live/cmd/bloodhound-live@latest`,\n" +
	"or copy it from the release archive beside bloodhound or into a folder of PATH"

func liveVerb(a *console.App) *cobra.Command {
	return &cobra.Command{
		Use:   "live [COMMAND] [ARGUMENTS]",
		Short: "Copy running programs and explore the next steps of the copies",
		Long: "Take checkpoints of running programs and let copies of them try new inputs, which a solver derives from the conditions " +
			"in their code. The programs themselves are not disturbed. `live` is a program of its own, bloodhound-live. Its commands:\n\n" +
			"  build      build a Go program that can be explored while it runs\n" +
			"  federate   check the routers of several domains together\n" +
			"  test       explore handlers in the tests of a Go package\n" +
			"  try        try a new configuration on copies\n\n" +
			"If bloodhound-live is missing,\n" + getLive + ".",
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
		return fmt.Errorf("%s is missing: %s", LiveProgram, getLive)
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
