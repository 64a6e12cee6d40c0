// Package modules copies modules of the module cache, where the go command lets nobody replace or add a file. A second go.mod
// names the copies, so that the user's own stays as it is.
package modules

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Options say what to copy.
type Options struct {
	Dir      string   // of the main module, or below it
	Patterns []string // packages whose files will be replaced, as the go command names them
	Added    []Added
	Cache    string // the folder for copies, of which those that were used last stay
	Out      string // the folder for the second go.mod
}

// Added is a file that becomes a part of a package of another module.
type Added struct {
	Package string // its import path
	File    string
}

// ParseAdded reads PACKAGE=FILE.
func ParseAdded(text string) (Added, error) {
	pkg, file, ok := strings.Cut(text, "=")
	if !ok || pkg == "" || filepath.Ext(file) != ".go" {
		return Added{}, fmt.Errorf("%q adds no file to a package: write PACKAGE=FILE.go", text)
	}
	return Added{pkg, file}, nil
}

// listed is a package, as go list has it.
type listed struct {
	Dir, ImportPath string
	Module          *struct {
		Path, Version, Dir, GoMod string
		Main                      bool
	}
}

// Copy copies the modules of packages that lie in the module cache, and adds files to them. It gives the flags by which the go
// command uses the copies: none if there is none.
func Copy(ctx context.Context, o Options) (flags []string, err error) {
	patterns := slices.Clone(o.Patterns)
	for _, a := range o.Added {
		patterns = append(patterns, a.Package)
	}
	packages, err := list(ctx, o.Dir, patterns)
	if err != nil {
		return nil, err
	}
	environment, err := command(ctx, o.Dir, "env", "GOMODCACHE", "GOMOD", "GOWORK")
	if err != nil {
		return nil, err
	}
	variables := strings.Split(string(environment), "\n")
	cache, gomod, gowork := variables[0], variables[1], variables[2]
	copies := map[string]string{} // the copy of each folder of the cache
	var replace []string
	for _, p := range packages {
		m := p.Module
		if m == nil || m.Main || copies[m.Dir] != "" || !strings.HasPrefix(m.Dir, cache+string(filepath.Separator)) {
			continue
		}
		if gowork != "" && gowork != "off" {
			return nil, fmt.Errorf("%s is in the module cache, where files cannot be replaced, and the workspace "+
				"%s prevents a copy: set GOWORK=off",
				m.Path, gowork)
		}
		added, err := addedTo(m.Dir, packages, o.Added)
		if err != nil {
			return nil, err
		}
		if copies[m.Dir], err = copyModule(m.Path+"@"+m.Version, m.Dir, m.GoMod, added, o.Cache); err != nil {
			return nil, err
		}
		replace = append(replace, fmt.Sprintf("-replace=%s@%s=%s", m.Path, m.Version, copies[m.Dir]))
	}
	for _, a := range o.Added {
		if !slices.ContainsFunc(packages, func(p listed) bool { return p.ImportPath == a.Package && p.Module != nil && copies[p.Module.Dir] != "" }) {
			return nil, fmt.Errorf("package %s is of no module in the module cache: put %s into its folder instead", a.Package, a.File)
		}
	}
	if len(copies) == 0 {
		return nil, nil
	}
	name := filepath.Join(o.Out, "go.mod")
	for from, to := range map[string]string{gomod: name, strings.TrimSuffix(gomod, ".mod") + ".sum": strings.TrimSuffix(name, ".mod") + ".sum"} {
		if err := copyFile(from, to); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	if _, err := command(ctx, o.Out, append(append([]string{"mod", "edit"}, replace...), name)...); err != nil {
		return nil, err
	}
	return []string{"-modfile=" + name}, nil
}

func list(ctx context.Context, dir string, patterns []string) (packages []listed, err error) {
	text, err := command(ctx, dir, append([]string{"list", "-find", "-json=Dir,ImportPath,Module", "--"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

func command(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("`go %s`: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return text, nil
}

// addedTo are the texts of files that are added to a module, by their names in it.
func addedTo(dir string, packages []listed, files []Added) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for _, a := range files {
		for _, p := range packages {
			if p.ImportPath != a.Package || p.Module == nil || p.Module.Dir != dir {
				continue
			}
			below, err := filepath.Rel(dir, p.Dir)
			if err != nil {
				return nil, err
			}
			name := filepath.Join(below, filepath.Base(a.File))
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil || texts[name] != nil {
				return nil, fmt.Errorf("package %s already has a file %s: give the added one another "+
					"name", a.Package, filepath.Base(a.File))
			}
			if texts[name], err = os.ReadFile(a.File); err != nil {
				return nil, err
			}
		}
	}
	return texts, nil
}

// copyModule copies a module with added files to a folder whose name they decide, so that the go command finds what it has built
// of them before. A module from the time before modules has its go.mod elsewhere in the cache.
func copyModule(name, from, gomod string, added map[string][]byte, cache string) (to string, err error) {
	digest := sha256.New()
	fmt.Fprintf(digest, "%s %s\n", name, from)
	for _, file := range slices.Sorted(maps.Keys(added)) {
		fmt.Fprintf(digest, "%s %d\n%s", file, len(added[file]), added[file])
	}
	to = filepath.Join(cache, fmt.Sprintf("%x", digest.Sum(nil)[:16]))
	if _, err := os.Stat(to); err == nil {
		now := time.Now()
		return to, os.Chtimes(to, now, now)
	}
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return "", err
	}
	made, err := os.MkdirTemp(cache, "new-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(made)
	if err := os.CopyFS(made, os.DirFS(from)); err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(made, "go.mod")); err != nil {
		if err := copyFile(gomod, filepath.Join(made, "go.mod")); err != nil {
			return "", err
		}
	}
	for file, text := range added {
		if err := os.WriteFile(filepath.Join(made, file), text, 0o666); err != nil {
			return "", err
		}
	}
	if err := os.Rename(made, to); err != nil {
		if _, other := os.Stat(to); other == nil { // another process was faster
			return to, nil
		}
		return "", err
	}
	return to, prune(cache)
}

// Bounds of the copies.
const (
	copiesMax = 16
	inUse     = time.Hour // after its last use, a copy may be one of a build that runs
)

// prune removes the copies that were used least lately, beyond a number, and what copying has left that was interrupted.
func prune(cache string) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	var copies []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			copies = append(copies, info)
		}
	}
	slices.SortFunc(copies, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var errs []error
	kept := 0
	for _, c := range copies {
		if (kept >= copiesMax || strings.HasPrefix(c.Name(), "new-")) && time.Since(c.ModTime()) > inUse {
			errs = append(errs, os.RemoveAll(filepath.Join(cache, c.Name())))
		} else {
			kept++
		}
	}
	return errors.Join(errs...)
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o666)
}
