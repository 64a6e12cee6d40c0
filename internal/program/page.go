package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Marks of the part of a command's page that is its help. People write what follows.
const (
	pageBegin = "<!-- help: written by `go test %s -run TestPagesOfCommands -update` -->"
	pageEnd   = "<!-- help: end -->"
)

// pageColumns is the width of a page's paragraphs.
const pageColumns = 150

// CheckPage compares the page of a command, which a test of a package writes, with the command's help; update writes it first.
func CheckPage(file string, c *cobra.Command, groups []FlagGroup, pkg string, update bool) error {
	before, err := os.ReadFile(file)
	if err != nil && !(update && errors.Is(err, fs.ErrNotExist)) {
		return err
	}
	page, err := makePage(c, groups, pkg, string(before))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if page == string(before) {
		return nil
	}
	if update {
		return os.WriteFile(file, []byte(page), 0o666)
	}
	return fmt.Errorf("%s differs from the help of %s: go test %s -run TestPagesOfCommands -update", file, c.CommandPath(), pkg)
}

// makePage writes the page of a command in Markdown: its help, and the part of the earlier page that people wrote.
func makePage(c *cobra.Command, groups []FlagGroup, pkg, before string) (string, error) {
	written := ""
	if before != "" {
		_, after, found := strings.Cut(before, pageEnd+"\n")
		if !found {
			return "", errors.New("the page has no line " + pageEnd)
		}
		written = after
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", c.CommandPath())
	fmt.Fprintf(&b, pageBegin+"\n\n", pkg)
	pageSection(&b, c, groups)
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "help" {
				fmt.Fprintf(&b, "## %s\n\n", sub.CommandPath())
				pageSection(&b, sub, groups)
				each(sub)
			}
		}
	}
	each(c)
	b.WriteString(pageEnd + "\n")
	return b.String() + written, nil
}

// pageSection writes the help of one command.
func pageSection(b *strings.Builder, c *cobra.Command, groups []FlagGroup) {
	if c.HasExample() {
		for line := range strings.SplitSeq(strings.TrimSuffix(c.Example, "\n"), "\n") {
			fmt.Fprintf(b, "    %s\n", strings.TrimSpace(line))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "%s\n\n", wrap(markdown(describe(c)), pageColumns, ""))
	if prints := c.Annotations[printsNote]; prints != "" {
		fmt.Fprintf(b, "%s\n\n", wrap(markdown(prints), pageColumns, ""))
	}
	for _, line := range usageLines(c) {
		fmt.Fprintf(b, "Usage: `%s`\n\n", line)
	}
	c.InitDefaultHelpFlag()
	for _, g := range GroupsOf(flagsOf(c), groups) {
		fmt.Fprintf(b, "| %s | |\n|---|---|\n", strings.ToLower(g.Title))
		g.Flags.VisitAll(func(f *pflag.Flag) { fmt.Fprintf(b, "| `%s` | %s |\n", flagWords(f), flagMeaning(f)) })
		b.WriteString("\n")
	}
	if exits := ExitLines(c); exits != nil {
		b.WriteString("| exit code | when |\n|---|---|\n")
		for _, line := range exits {
			code, when, _ := strings.Cut(line, "  ")
			fmt.Fprintf(b, "| %s | %s |\n", code, cell(when))
		}
		b.WriteString("\n")
	}
}

// flagWords shows a flag as it is typed.
func flagWords(f *pflag.Flag) string {
	words := "--" + f.Name
	if f.Shorthand != "" {
		words = "-" + f.Shorthand + ", " + words
	}
	if value, _ := pflag.UnquoteUsage(f); value != "" {
		words += " " + strings.ReplaceAll(value, "|", `\|`)
	}
	return words
}

// flagMeaning explains a flag, with its default.
func flagMeaning(f *pflag.Flag) string {
	_, usage := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "0", "0s", "false", "[]":
		return cell(usage)
	}
	return cell(fmt.Sprintf("%s (default: %s)", usage, f.DefValue))
}

// cell escapes text for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(markdown(text), "|", `\|`) }

// markdown escapes plain text, which may have code between backticks, and lines of code that begin with a blank.
func markdown(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "  ") {
			lines = append(lines, "    "+strings.TrimSpace(line))
			continue
		}
		parts := strings.Split(line, "`")
		for i := 0; i < len(parts); i += 2 {
			parts[i] = strings.NewReplacer("*", `\*`, "<", "&lt;").Replace(parts[i])
		}
		lines = append(lines, strings.Join(parts, "`"))
	}
	return strings.Join(lines, "\n")
}
