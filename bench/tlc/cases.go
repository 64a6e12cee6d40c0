//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/bench/tlc/cases"
	"github.com/bloodhound-dst/bloodhound/bench/tlc/random"
	"github.com/bloodhound-dst/bloodhound/internal/model/tlc"
)

// record asks TLC about the cases of a file that have no answer yet, and writes its answers to the file.
func record(jars []string, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	comment, list, err := cases.Read(string(text))
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].TLC.Kind == "" {
			if list[i].TLC, err = opinion(jars, &list[i]); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(file, []byte(cases.Write(comment, list)), 0o644)
}

// opinion is TLC's answer for a case.
func opinion(jars []string, c *cases.Case) (random.Answer, error) {
	dir, err := os.MkdirTemp("", "case")
	if err != nil {
		return random.Answer{}, err
	}
	defer os.RemoveAll(dir)
	if err := c.Put(dir); err != nil {
		return random.Answer{}, err
	}
	root := filepath.Join(dir, cases.Root)
	run := tlc.Run{Jars: jars, Spec: root + ".tla", Config: root + ".cfg"}
	o, err := run.Check(context.Background())
	switch {
	case o == nil || o.Version == "":
		return random.Answer{}, err
	case len(o.Violations) > 0:
		v := o.Violations[0]
		return random.Answer{Kind: string(v.Kind), Name: v.Name, Generated: o.Generated, Distinct: o.Distinct}, nil
	case !o.Completed:
		fmt.Fprintf(os.Stderr, "%s: %v\n", c.Title, err)
		return random.Answer{Kind: random.Failed}, nil
	}
	return random.Answer{Kind: random.Holds, Generated: o.Generated, Distinct: o.Distinct}, nil
}
