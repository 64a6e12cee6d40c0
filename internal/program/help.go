package program

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
)

// helpColumns is the width of help on a terminal.
const helpColumns = 100

// FlagGroup names the flags of one purpose, in the order in which help lists them.
type FlagGroup struct {
	Title string
	Names []string
}

// Exit says when a command ends with an exit code.
type Exit struct {
	Code int
	When string
}

// Manual documents one command beyond its flags.
type Manual struct {
	Examples []string
	Prints   string // where results go
	Exits    []Exit
}

// Annotations of commands that hold their manuals.
const (
	printsNote = "prints"
	exitsNote  = "exits" // one line per code: CODE, two blanks, and when
)

// Document gives each command its manual, by the command's path, and lists its flags by their purpose.
func Document(root *cobra.Command, manuals map[string]Manual, groups []FlagGroup) {
	var document func(c *cobra.Command, path string)
	document = func(c *cobra.Command, path string) {
		m := manuals[path]
		if len(m.Examples) > 0 {
			c.Example = "  " + strings.Join(m.Examples, "\n  ")
		}
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[printsNote] = m.Prints
		var exits []string
		for _, e := range m.Exits {
			exits = append(exits, fmt.Sprintf("%d  %s", e.Code, e.When))
		}
		c.Annotations[exitsNote] = strings.Join(exits, "\n")
		for _, sub := range c.Commands() {
			document(sub, strings.TrimSpace(path+" "+sub.Name()))
		}
	}
	document(root, "")
	root.SetUsageFunc(func(c *cobra.Command) error { return PrintHelp(c.OutOrStdout(), c, groups) })
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { PrintHelp(c.OutOrStdout(), c, groups) })
}

// ExitLines lists a command's exit codes, one a line; it is empty if the command has none of its own.
func ExitLines(c *cobra.Command) []string {
	if text := c.Annotations[exitsNote]; text != "" {
		return strings.Split(text, "\n")
	}
	return nil
}

// describe returns what a command does, in full sentences where there are some.
func describe(c *cobra.Command) string {
	if text := strings.TrimSpace(c.Long); text != "" {
		return text
	}
	return c.Short + "."
}

// PrintHelp prints a command's usage line, what it does, examples, the commands below it, flags and exit codes.
func PrintHelp(w io.Writer, c *cobra.Command, groups []FlagGroup) error {
	var b strings.Builder
	for i, line := range usageLines(c) {
		fmt.Fprintf(&b, "%s%s\n", []string{"Usage: ", "       "}[min(i, 1)], line)
	}
	fmt.Fprintf(&b, "\n%s\n", wrap(describe(c), helpColumns, ""))
	if prints := c.Annotations[printsNote]; prints != "" {
		fmt.Fprintf(&b, "\n%s\n", wrap(prints, helpColumns, ""))
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	for _, g := range GroupsOf(flagsOf(c), groups) {
		fmt.Fprintf(&b, "\n%s:\n%s", g.Title, g.Flags.FlagUsagesWrapped(helpColumns))
	}
	if exits := ExitLines(c); exits != nil {
		b.WriteString("\nExit codes:\n")
		for _, line := range exits {
			fmt.Fprintf(&b, "  %s\n", wrap(line, helpColumns-2, "     "))
		}
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n`%s COMMAND --help` describes a command.\n", c.CommandPath())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// flagsOf has the flags that a command understands: its own, and those of the commands above it.
func flagsOf(c *cobra.Command) *pflag.FlagSet {
	all := pflag.NewFlagSet(c.Name(), pflag.ContinueOnError)
	all.AddFlagSet(c.LocalFlags())
	all.AddFlagSet(c.InheritedFlags())
	return all
}

// usageLines are the ways to write a command.
func usageLines(c *cobra.Command) (lines []string) {
	if c.Runnable() && (c.HasExample() || !c.HasAvailableSubCommands()) { // others only print their help
		lines = append(lines, c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		lines = append(lines, c.CommandPath()+" COMMAND")
	}
	return lines
}

// wrap breaks lines of text at a number of columns; further lines of a paragraph begin with indent. Lines that begin with
// a blank stay as they are.
func wrap(text string, columns int, indent string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, " ") {
			lines = append(lines, line)
			continue
		}
		for len(line) > columns {
			at := breakAt(line, columns, len(indent))
			if at < 0 {
				break
			}
			lines = append(lines, line[:at])
			line = indent + line[at+1:]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// breakAt finds the blank at which to break a line: the last one that fits, or else the first one. Commands between backticks
// stay whole. It is -1 if there is none behind the indent.
func breakAt(line string, columns, indent int) int {
	at, inCommand := -1, false
	for i, r := range line {
		switch {
		case r == '`':
			inCommand = !inCommand
		case r != ' ' || inCommand || i <= indent:
		case i <= columns || at < 0:
			at = i
		}
	}
	return at
}

// GroupedFlags are the flags of a verb that have one purpose.
type GroupedFlags struct {
	Title string
	Flags *pflag.FlagSet
}

// GroupsOf parts the flags of a verb by their purpose. A verb with few of them has one group.
func GroupsOf(flags *pflag.FlagSet, groups []FlagGroup) (list []GroupedFlags) {
	const few = 8
	grouped, count := map[string]bool{}, 0
	listed := func(f *pflag.Flag) bool { return f != nil && !f.Hidden && f.Name != "help" }
	add := func(title string, names []string) {
		set := pflag.NewFlagSet(title, pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range names {
			if f := flags.Lookup(name); listed(f) {
				set.AddFlag(f)
				grouped[name] = true
			}
		}
		if set.HasFlags() {
			list = append(list, GroupedFlags{title + " flags", set})
		}
	}
	for _, g := range groups {
		add(g.Title, g.Names)
	}
	var rest, all []string
	flags.VisitAll(func(f *pflag.Flag) {
		if listed(f) && !grouped[f.Name] {
			rest = append(rest, f.Name)
		}
	})
	add("Other", rest)
	for _, g := range list {
		g.Flags.VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	}
	if count = len(all); count == 0 {
		return nil
	}
	if count <= few {
		list = nil
		add("", all)
		list[0].Title = "Flags"
	}
	return list
}

// UnknownVerb is the error of a command that a program does not have. It suggests one that is near.
func UnknownVerb(root *cobra.Command, verb string) error {
	text := fmt.Sprintf("unknown command %q", verb)
	if near := root.SuggestionsFor(verb); len(near) > 0 {
		text += fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return fmt.Errorf("%s\n`%s --help` lists the commands", text, root.CommandPath())
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
