package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/bloodhound-dst/bloodhound/internal/cli"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// manual makes a page of each verb.
func manual(src *source) ([]file, error) {
	dir, err := os.MkdirTemp("", "bloodhound-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	root := cli.Commands()
	root.DisableAutoGenTag = true
	appendExitCodes(root)
	header := &doc.GenManHeader{Section: "1", Date: &src.time, Source: "Bloodhound " + src.version, Manual: "Bloodhound"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []file
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, file{e.Name(), 0o644, text})
	}
	return list, nil
}

// appendExitCodes adds the exit codes of each command to its description, which is all that its manual page shows.
func appendExitCodes(c *cobra.Command) {
	if exits := program.ExitLines(c); exits != nil {
		if c.Long == "" {
			c.Long = c.Short + "."
		}
		c.Long += "\n\nExit codes:\n\n    " + strings.Join(exits, "\n    ")
	}
	for _, sub := range c.Commands() {
		appendExitCodes(sub)
	}
}

// completions are the scripts of three shells, which ask the program what may follow.
func completions() (bash, zsh, fish []byte, err error) {
	root := cli.Commands()
	var b, z, f bytes.Buffer
	err = errors.Join(root.GenBashCompletionV2(&b, true), root.GenZshCompletion(&z), root.GenFishCompletion(&f, true))
	return b.Bytes(), z.Bytes(), f.Bytes(), err
}
