package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// released are the folders of the modules that a release has, in the order of their release: a module comes after those that it requires.
// All other modules, such as bench and examples, are built only in a checkout.
var released = []string{".", "live", "drivers", "sdk/grpcfault", "sdk/redisfault"}

// proxyFolder is the part of a release that GOPROXY=file://... serves (go.dev/ref/mod#goproxy-protocol).
const proxyFolder = "proxy"

// modulePathIn is the path of the module in a folder.
func modulePathIn(folder string) string { return path.Join(modulePath, folder) }

// requirement is the version of another module of this repository that a go.mod requires; empty if it requires none.
func requirement(mod *modfile.File, of string) string {
	for _, r := range mod.Require {
		if r.Mod.Path == of {
			return r.Mod.Version
		}
	}
	return ""
}

// readMod reads the go.mod in a folder.
func (s *source) readMod(folder string) (*modfile.File, error) {
	name := path.Join(folder, "go.mod")
	text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, text, nil)
}

// writeProxy serves some of the released modules from a folder. Their version is the one they require of each
// other. On a tagged commit, it is the tag.
func (s *source) writeProxy(folder string, modules []string) error {
	live, err := s.readMod("live")
	if err != nil {
		return err
	}
	version := requirement(live, modulePath)
	for _, name := range modules {
		if err := s.serve(folder, name, version); err != nil {
			return fmt.Errorf("module %s: %w", modulePathIn(name), err)
		}
	}
	return nil
}

// serve puts one module into the folder of a proxy.
func (s *source) serve(proxy, folder, version string) error {
	m := module.Version{Path: modulePathIn(folder), Version: version}
	to := filepath.Join(proxy, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(folder), "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, s.time})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(to, name), content, 0o666); err != nil {
			return err
		}
	}
	files, err := s.files(folder)
	if err != nil {
		return err
	}
	zip, err := os.Create(filepath.Join(to, version+".zip"))
	if err != nil {
		return err
	}
	if err := modzip.Create(zip, m, files); err != nil {
		zip.Close()
		return err
	}
	return zip.Close()
}

// member is a file of a module (modzip.File).
type member struct{ dir, name string }

func (f member) Path() string { return f.name }
func (f member) Lstat() (os.FileInfo, error) {
	return os.Lstat(filepath.Join(f.dir, filepath.FromSlash(f.name)))
}
func (f member) Open() (io.ReadCloser, error) {
	return os.Open(filepath.Join(f.dir, filepath.FromSlash(f.name)))
}

// files lists the files in a folder of the checkout without those that builds and runs make. modzip leaves out what belongs to modules below it.
func (s *source) files(folder string) (list []modzip.File, err error) {
	dir := filepath.Join(s.root, filepath.FromSlash(folder))
	out, err := git(dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	names := strings.Split(strings.TrimRight(out, "\x00"), "\x00")
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if f := (member{dir, name}); exists(f) {
			list = append(list, f)
		}
	}
	return list, nil
}

// exists reports whether a file is still there: git also lists those whose removal is not committed.
func exists(f member) bool {
	_, err := f.Lstat()
	return err == nil
}
