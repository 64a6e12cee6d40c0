package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/bloodhound-dst/bloodhound/internal/driver/driverfile"
)

// file is one of an archive. Its name is a path with slashes; the folders that lead to it are implied.
type file struct {
	name    string
	mode    fs.FileMode
	content []byte
}

// content is what a release brings, wherever it is put.
type content struct {
	program, live   []byte
	drivers         []byte // for Linux
	license, third  []byte // of Bloodhound, and of what it is built from
	readme, changes []byte
	manual          []file // pages of section 1, by their file names
	bash, zsh, fish []byte // completions
	quickstart      []file // a project that needs no Go
}

// collect gathers it; server is the program of the quickstart's nodes.
func collect(src *source, program, live, drivers, server []byte) (*content, error) {
	c := &content{program: program, live: live, drivers: drivers}
	for name, to := range map[string]*[]byte{"LICENSE": &c.license, "README.md": &c.readme, "CHANGELOG.md": &c.changes} {
		text, err := os.ReadFile(filepath.Join(src.root, name))
		if err != nil {
			return nil, err
		}
		*to = text
	}
	var err error
	if c.third, err = licenses(src, program, live, drivers); err != nil {
		return nil, err
	}
	if c.manual, err = manual(src); err != nil {
		return nil, err
	}
	if c.bash, c.zsh, c.fish, err = completions(); err != nil {
		return nil, err
	}
	c.quickstart, err = quickstart(filepath.Join(src.root, "examples", "quickstart"), server)
	return c, err
}

// programs are the files that belong beside each other: bloodhound finds the others in its own folder.
func (c *content) programs() []file {
	return []file{
		{"bloodhound", 0o755, c.program},
		{"bloodhound-live", 0o755, c.live},
		{driverfile.DriversName, 0o755, c.drivers},
	}
}

// archive lays the content out below one folder.
func (c *content) archive(top string) []file {
	list := append(c.programs(), []file{
		{"LICENSE", 0o644, c.license},
		{"LICENSE.third-party", 0o644, c.third},
		{"README.md", 0o644, c.readme},
		{"CHANGELOG.md", 0o644, c.changes},
		{"completions/bloodhound.bash", 0o644, c.bash},
		{"completions/_bloodhound", 0o644, c.zsh},
		{"completions/bloodhound.fish", 0o644, c.fish},
	}...)
	for _, f := range c.manual {
		list = append(list, file{"man/man1/" + f.name, f.mode, f.content})
	}
	for _, f := range c.quickstart {
		list = append(list, file{"quickstart/" + f.name, f.mode, f.content})
	}
	return under(top, list)
}

// under puts files below a folder.
func under(folder string, list []file) []file {
	list = slices.Clone(list)
	for i := range list {
		list[i].name = folder + "/" + list[i].name
	}
	return list
}

// quickstart is examples/quickstart with the program of its nodes in the place of its source: whoever has an archive may have no Go.
func quickstart(dir string, server []byte) ([]file, error) {
	list := []file{{"bin/kv", 0o755, server}}
	for _, name := range []string{"bloodhound.yaml", "fixed.yaml", "has-leader.sh"} {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		var lines []string
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(strings.TrimSpace(line), "build: go build ") {
				lines = append(lines, strings.ReplaceAll(line, ".bloodhound/bin/", "bin/"))
			}
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		list = append(list, file{name, mode, []byte(strings.Join(lines, ""))})
	}
	return list, nil
}

// licenses are those of the modules that programs were built from, and of Go.
func licenses(src *source, programs ...[]byte) ([]byte, error) {
	deps := map[string]*debug.Module{}
	for _, program := range programs {
		info, err := buildinfo.Read(bytes.NewReader(program))
		if err != nil {
			return nil, err
		}
		for _, d := range info.Deps {
			if d.Path != modulePath {
				deps[d.Path+" "+d.Version] = d
			}
		}
	}
	var b bytes.Buffer
	fmt.Fprintln(&b, "Bloodhound contains the standard library of Go and the modules below, under their own licences.")
	add := func(what, dir string) error {
		var found bool
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := strings.ToUpper(e.Name())
			if e.Type().IsRegular() && (strings.HasPrefix(name, "LICEN") || strings.HasPrefix(name, "COPYING") ||
				strings.HasPrefix(name, "NOTICE")) && filepath.Ext(name) != ".GO" {
				text, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					return err
				}
				found = true
				fmt.Fprintf(&b, "\n%s\n%s, %s\n\n%s\n", strings.Repeat("=", 80), what, e.Name(), bytes.TrimSpace(text))
			}
		}
		if !found {
			return fmt.Errorf("%s has no file with its licence in %s", what, dir)
		}
		return nil
	}
	goroot, err := goEnv(src, "GOROOT")
	if err != nil {
		return nil, err
	}
	cache, err := goEnv(src, "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	all := []error{add("Go "+strings.TrimPrefix(runtime.Version(), "go"), goroot)}
	for _, name := range slices.Sorted(maps.Keys(deps)) {
		d := deps[name]
		path, err := module.EscapePath(d.Path)
		if err != nil {
			return nil, err
		}
		version, err := module.EscapeVersion(d.Version)
		if err != nil {
			return nil, err
		}
		all = append(all, add(name, filepath.Join(cache, filepath.FromSlash(path)+"@"+version)))
	}
	return b.Bytes(), errors.Join(all...)
}

// goEnv asks the go command for one of its settings.
func goEnv(src *source, name string) (string, error) {
	cmd := exec.Command("go", "env", name)
	cmd.Dir = src.root
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
