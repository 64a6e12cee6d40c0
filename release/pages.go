package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra/doc"

	"github.com/bloodhound-dst/bloodhound/internal/cli"
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

// completions are the scripts of three shells, which ask the program what may follow.
func completions() (bash, zsh, fish []byte, err error) {
	root := cli.Commands()
	var b, z, f bytes.Buffer
	err = errors.Join(root.GenBashCompletionV2(&b, true), root.GenZshCompletion(&z), root.GenFishCompletion(&f, true))
	return b.Bytes(), z.Bytes(), f.Bytes(), err
}
