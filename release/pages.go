package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/cli"
	"github.com/bloodhound-dst/bloodhound/internal/program/manpages"
)

// manual makes a page of each verb of bloodhound. Those of live come from its module, and its first page replaces the root's.
func manual(src *source) ([]file, error) {
	dir, err := os.MkdirTemp("", "bloodhound-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := manpages.Write(dir, cli.Commands(), src.time, src.version); err != nil {
		return nil, err
	}
	if err := src.goRun("live", "./internal/cli/manpages", dir, src.version, strconv.FormatInt(src.time.Unix(), 10)); err != nil {
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
