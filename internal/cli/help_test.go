package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// Each verb has an example that it understands, and no example is about a verb that there is not.
func TestExamplesOfVerbs(t *testing.T) {
	left := map[string]bool{}
	for path := range manuals {
		left[path] = true
	}
	var each func(c *cobra.Command, path string)
	each = func(c *cobra.Command, path string) {
		delete(left, path)
		if c.Runnable() && !c.Hidden && path != "" && c.Name() != "help" && !c.HasAvailableSubCommands() && len(manuals[path].Examples) == 0 {
			t.Errorf("%q has no example", path)
		}
		for _, line := range manuals[path].Examples {
			words, err := shell.Words(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			words, named := words[1+len(strings.Fields(path)):], strings.HasPrefix(line, "bloodhound "+path)
			if !named {
				t.Errorf("%q is an example of another verb than %q", line, path)
			}
			if err := c.ParseFlags(words); err != nil {
				t.Errorf("%s: %v", line, err)
			} else if err := c.ValidateArgs(c.Flags().Args()); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		for _, sub := range c.Commands() {
			each(sub, strings.TrimSpace(path+" "+sub.Name()))
		}
	}
	each(Commands(), "")
	for path := range left {
		t.Errorf("there is no verb %q", path)
	}
}

// The first screen has each command once.
func TestFirstScreenHasAllCommands(t *testing.T) {
	count := map[string]int{}
	for _, g := range commandGroups {
		for _, name := range g.names {
			count[name]++
		}
	}
	for _, c := range Commands().Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" && count[c.Name()] != 1 {
			t.Errorf("%s is on the first screen %d times", c.Name(), count[c.Name()])
		}
		delete(count, c.Name())
	}
	for name := range count {
		t.Errorf("the first screen has %s, and there is no such command", name)
	}
}

// pagesFolder has a page for each command.
var pagesFolder = filepath.Join("..", "..", "docs", "reference", "commands")

// Each command has a page, whose first part is its help. -update writes that part.
func TestPagesOfCommands(t *testing.T) {
	names := map[string]bool{"live.md": true} // bloodhound-live writes it
	for _, c := range Commands().Commands() {
		if !c.IsAvailableCommand() || c.Name() == "help" || c.Name() == "live" {
			continue
		}
		names[c.Name()+".md"] = true
		if err := program.CheckPage(filepath.Join(pagesFolder, c.Name()+".md"), c, flagGroups, "./internal/cli", *update); err != nil {
			t.Error(err)
		}
	}
	files, err := os.ReadDir(pagesFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !names[f.Name()] {
			t.Errorf("%s is the page of no command", f.Name())
		}
	}
}

// Help lists each flag once, and no group names a flag that no verb has.
func TestFlagsHaveOneGroup(t *testing.T) {
	used := map[string]bool{}
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		var b strings.Builder
		if err := program.PrintHelp(&b, c, flagGroups); err != nil {
			t.Fatal(err)
		}
		c.InitDefaultHelpFlag()
		for _, g := range program.GroupsOf(c.Flags(), flagGroups) {
			if g.Flags == nil {
				t.Errorf("%s: group %s has no flags", c.CommandPath(), g.Title)
			}
		}
		for _, g := range flagGroups {
			for _, name := range g.Names {
				if f := c.Flags().Lookup(name); f != nil {
					used[name] = true
					if !f.Hidden && strings.Count(b.String(), "--"+name+" ")+strings.Count(b.String(), "--"+name+"\n") == 0 {
						t.Errorf("%s: --%s is not listed", c.CommandPath(), name)
					}
				}
			}
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(Commands())
	seen := map[string]string{}
	for _, g := range flagGroups {
		for _, name := range g.Names {
			if seen[name] != "" {
				t.Errorf("--%s is in the groups %s and %s", name, seen[name], g.Title)
			}
			seen[name] = g.Title
			if !used[name] {
				t.Errorf("no verb has --%s, which is in the group %s", name, g.Title)
			}
		}
	}
}
