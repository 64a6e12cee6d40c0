package flags

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// OneArgument accepts a folder or a file.
func OneArgument(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one folder or file, but %d were given: %s", c.Name(), len(args), strings.Join(args, " "))
	}
	return NoneEmpty(args)
}

// FailureArguments accepts a failure, and what names its project.
func FailureArguments(c *cobra.Command, args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return fmt.Errorf("usage: bloodhound %[1]s ID [FOLDER or FILE]; ID is the id or the file of a failure, and `bloodhound list` shows them",
			c.Name())
	}
	return NoneEmpty(args)
}

// NoneEmpty refuses what a shell makes of a variable that is not set.
func NoneEmpty(args []string) error {
	if slices.Contains(args, "") {
		return errors.New("an argument is empty, perhaps from an unset shell variable; leave it out for the current folder")
	}
	return nil
}

// RelativeTo is a path from a folder on, wherever the program was started.
func RelativeTo(dir, path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		if rel, err := filepath.Rel(dir, abs); err == nil {
			return rel
		}
	}
	return path
}

// ShellQuote writes a word so that a shell reads it as one.
func ShellQuote(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%", r)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// ArgumentsOf writes what names a project on the command line.
func ArgumentsOf(f *Set, args []string) string {
	var b strings.Builder
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			arg = "./" + arg // it came after --
		}
		b.WriteString(" " + ShellQuote(arg))
	}
	for _, name := range f.Compose {
		b.WriteString(" --compose " + ShellQuote(name))
	}
	if f.Config != "" {
		b.WriteString(" --config " + ShellQuote(f.Config))
	}
	if f.Engine != "" {
		b.WriteString(" --engine " + ShellQuote(f.Engine))
	}
	return b.String()
}
