package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// commandGroup lists commands of one purpose on the first screen.
type commandGroup struct {
	title string
	names []string
}

// commandGroups are the first screen, which has each command once.
var commandGroups = []commandGroup{
	{"Start here", []string{"init", "run", "explore"}},
	{"Search", []string{"test", "sweep", "verify"}},
	{"Understand a failure", []string{"list", "replay", "explain", "report", "debug", "shrink", "bisect"}},
	{"Set up", []string{"doctor", "docs", "config", "build", "import", "schema"}},
	{"Run on many machines", []string{"worker", "dashboard", "db"}},
	{"Other tools", []string{"check", "model", "live", "image", "vm"}},
}

// about says what the program is.
const about = `Bloodhound finds bugs in distributed systems. It runs your unmodified programs in a simulated world,
injects faults, checks your properties, and replays every failure exactly.`

// printFirstScreen prints the help of the whole program.
func printFirstScreen(w io.Writer, root *cobra.Command) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage: bloodhound COMMAND [FOLDER or FILE] [flags]\n", about)
	for _, g := range commandGroups {
		fmt.Fprintf(&b, "\n%s\n", g.title)
		for _, name := range g.names {
			if c, _, err := root.Find([]string{name}); err == nil {
				fmt.Fprintf(&b, "  %-10s %s\n", name, c.Short)
			}
		}
	}
	b.WriteString(`
FOLDER is a folder with a bloodhound.yaml (default: the current one); FILE is a configuration.
Exit codes: 0 holds, 1 violated, 2 wrong usage, 3 machine failed, 4 not reproducible, 5 unknown.

bloodhound COMMAND --help   flags and examples of a command
bloodhound docs tutorial    find and fix a first bug in ten minutes
bloodhound --version        version, commit and toolchain
`)
	_, err := io.WriteString(w, b.String())
	return err
}
