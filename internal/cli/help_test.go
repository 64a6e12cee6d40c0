package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// Each verb has an example that it understands, and no example is about a verb that there is not.
func TestExamplesOfVerbs(t *testing.T) {
	left := map[string]bool{}
	for path := range examples {
		left[path] = true
	}
	var each func(c *cobra.Command, path string)
	each = func(c *cobra.Command, path string) {
		delete(left, path)
		if c.Runnable() && !c.Hidden && path != "" && c.Name() != "help" && !c.HasAvailableSubCommands() && len(examples[path]) == 0 {
			t.Errorf("%q has no example", path)
		}
		for _, line := range examples[path] {
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

// Help lists each flag once, and no group names a flag that no verb has.
func TestFlagsHaveOneGroup(t *testing.T) {
	used := map[string]bool{}
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		var b strings.Builder
		if err := program.PrintUsage(&b, c, flagGroups); err != nil {
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
