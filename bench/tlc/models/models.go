// Package models compares package tla with TLC on the models of a folder, such as that with which TLC's own tests are written: test-model of
// github.com/tlaplus/tlaplus, below tlatools/org.lamport.tlatools. A table has what TLC finds in each; the files are not part of this repository.
package models

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/bench/tlc/batch"
	"github.com/bloodhound-dst/bloodhound/bench/tlc/random"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// Model is a module with a configuration, by the names of their files below the folder.
type Model struct {
	Spec, Config string
	NoDeadlock   bool   // states without a successor are no violation
	Digest       string // of both files, and of the modules beside that they name
}

// Row is a line of the table.
type Row struct {
	Model
	random.Answer
}

// Late is the kind of an answer that took TLC too long.
const Late = "late"

func (r Row) String() string {
	deadlock := ""
	if r.NoDeadlock {
		deadlock = "no deadlock"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", r.Spec, r.Config, deadlock, r.Digest, r.Answer)
}

// Read reads a table.
func Read(file string) (rows []Row, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.SplitN(lines.Text(), "\t", 5)
		if len(fields) < 5 {
			return nil, fmt.Errorf("%s: %q is not a row", file, lines.Text())
		}
		answer, err := random.ParseAnswer(fields[4])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		rows = append(rows, Row{Model{fields[0], fields[1], fields[2] != "", fields[3]}, answer})
	}
	return rows, nil
}

var embedded = regexp.MustCompile(`(?m)^-{4,} *CONFIG`)

// Find finds the models of a folder: each configuration with the module of its name, or of the longest beginning of its name; and
// each module that has its configuration with it.
func Find(folder string) (list []Model, err error) {
	var modules, configs []string
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		switch name = filepath.ToSlash(name); filepath.Ext(name) {
		case ".cfg":
			configs = append(configs, name)
		case ".tla":
			modules = append(modules, name)
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if embedded.Match(text) {
				configs = append(configs, name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, config := range configs {
		stem := strings.TrimSuffix(strings.TrimSuffix(config, ".cfg"), ".tla")
		best := ""
		for _, m := range modules {
			if name := strings.TrimSuffix(m, ".tla"); strings.HasPrefix(stem, name) && filepath.Dir(stem) == filepath.Dir(name) && len(m) > len(best) {
				best = m
			}
		}
		if best == "" {
			continue
		}
		m := Model{Spec: best, Config: config}
		if m.Digest, err = digest(folder, m); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

var word = regexp.MustCompile(`\w+`)

// digest tells the files of a model apart from others.
func digest(folder string, m Model) (string, error) {
	hash := sha256.New()
	dir := filepath.Dir(m.Spec)
	seen := map[string]bool{}
	var add func(name string) error
	add = func(name string) error {
		if seen[name] {
			return nil
		}
		seen[name] = true
		text, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
		if filepath.Ext(name) != ".tla" {
			return nil
		}
		names := word.FindAllString(string(text), -1)
		slices.Sort(names)
		for _, n := range slices.Compact(names) {
			if err := add(filepath.ToSlash(filepath.Join(dir, n+".tla"))); err != nil {
				return err
			}
		}
		return nil
	}
	if err := errors.Join(add(m.Config), add(m.Spec)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:8]), nil
}

// Ask has TLC check each model. One that ends in a deadlock it checks again, without looking for deadlocks. limit is the seconds that one may take.
func Ask(jars []string, folder string, list []Model, limit int) (rows []Row, err error) {
	folder, err = filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	var runs []batch.Model
	for _, m := range list {
		run := batch.Model{Spec: filepath.Join(folder, m.Spec), Config: filepath.Join(folder, m.Config)}
		if filepath.Ext(m.Config) == ".tla" {
			run.Config = filepath.Base(m.Config) // TLC finds no configuration in a module that has a path
		}
		if m.NoDeadlock {
			run.Options = []string{"-deadlock"}
		}
		runs = append(runs, run)
	}
	opinions, err := batch.Run(jars, runs, limit)
	if err != nil {
		return nil, err
	}
	for i, o := range opinions {
		answer := random.Answer{Kind: Late}
		if o != nil {
			answer = random.AnswerOf(o)
		}
		rows = append(rows, Row{list[i], answer})
		if answer.Kind == string(tla.Deadlocked) && !list[i].NoDeadlock {
			again := list[i]
			again.NoDeadlock = true
			more, err := Ask(jars, folder, []Model{again}, limit)
			if err != nil {
				return nil, err
			}
			rows = append(rows, more...)
		}
	}
	return rows, nil
}

// Check is the answer of package tla, of so many distinct states at most, and why it is random.Failed.
func Check(folder string, m Model, most int) (random.Answer, error) {
	failed := random.Answer{Kind: random.Failed}
	config, err := tla.ReadConfig(filepath.Join(folder, m.Config))
	if err != nil {
		return failed, err
	}
	config.NoDeadlock = config.NoDeadlock || m.NoDeadlock
	spec, err := tla.Load(filepath.Join(folder, m.Spec), config)
	if err != nil {
		return failed, err
	}
	r, err := tla.Check(spec, tla.Options{Distinct: most})
	switch {
	case err != nil:
		return failed, err
	case r.Stopped != "" && r.Stopped != tla.ByExit && len(r.Violations) == 0:
		return random.Answer{Kind: Late, Generated: r.Generated, Distinct: r.Distinct}, errors.New(r.Stopped)
	}
	return random.Reported(r)
}
