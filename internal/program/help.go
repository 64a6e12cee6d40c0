package program

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
)

// helpColumns is how wide the lists of flags are.
const helpColumns = 100

// FlagGroup names the flags of one purpose.
type FlagGroup struct {
	Title string
	Names []string
}

// Document gives each verb its examples, which are by the paths of verbs, and lists its flags by their purpose.
func Document(root *cobra.Command, examples map[string][]string, groups []FlagGroup) {
	var each func(c *cobra.Command, path string)
	each = func(c *cobra.Command, path string) {
		if lines := examples[path]; len(lines) > 0 {
			c.Example = "  " + strings.Join(lines, "\n  ")
		}
		for _, sub := range c.Commands() {
			each(sub, strings.TrimSpace(path+" "+sub.Name()))
		}
	}
	each(root, "")
	root.SetUsageFunc(func(c *cobra.Command) error { return PrintUsage(c.OutOrStdout(), c, groups) })
}

// PrintUsage prints how a verb is used: its lines, examples, verbs below it, and flags.
func PrintUsage(w io.Writer, c *cobra.Command, groups []FlagGroup) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.Runnable() {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\nAvailable Commands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	for _, g := range GroupsOf(c.LocalFlags(), groups) {
		fmt.Fprintf(&b, "\n%s:\n%s", g.Title, g.Flags.FlagUsagesWrapped(helpColumns))
	}
	if inherited := c.InheritedFlags(); inherited.HasAvailableFlags() {
		fmt.Fprintf(&b, "\nFlags of %s:\n%s", c.Parent().CommandPath(), inherited.FlagUsagesWrapped(helpColumns))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", c.CommandPath())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// GroupedFlags are the flags of a verb that have one purpose.
type GroupedFlags struct {
	Title string
	Flags *pflag.FlagSet
}

// GroupsOf parts the flags of a verb by their purpose. A verb with few of them has one group.
func GroupsOf(flags *pflag.FlagSet, groups []FlagGroup) (list []GroupedFlags) {
	const few = 8
	sorted := map[string]*pflag.FlagSet{}
	count := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		count++
		title := ""
		for _, g := range groups {
			if slices.Contains(g.Names, f.Name) {
				title = g.Title
			}
		}
		if sorted[title] == nil {
			sorted[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		}
		sorted[title].AddFlag(f)
	})
	if count == 0 {
		return nil
	}
	if count <= few {
		return []GroupedFlags{{"Flags", flags}}
	}
	for _, g := range groups {
		if sorted[g.Title] != nil {
			list = append(list, GroupedFlags{g.Title + " flags", sorted[g.Title]})
		}
	}
	if sorted[""] != nil {
		list = append(list, GroupedFlags{"Other flags", sorted[""]})
	}
	return list
}

// UnknownVerb is the error of a verb that a program does not have. It suggests one that is near.
func UnknownVerb(root *cobra.Command, verb string) error {
	text := fmt.Sprintf("unknown verb %q", verb)
	if near := root.SuggestionsFor(verb); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return fmt.Errorf("%s\nRun `%s --help` for the list of verbs", text, root.CommandPath())
}

// unknownFlag is the error of pflag for a flag that a command does not have.
var unknownFlag = regexp.MustCompile(`^unknown flag: --([^ =]+)`)

// NearFlag suggests the flag of a command that is nearest to an unknown one; empty if none is near.
func NearFlag(cmd *cobra.Command, err error) string {
	m := unknownFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := suggest.Nearest(m[1], names); near != "" {
		return "; did you mean --" + near + "?"
	}
	return ""
}
