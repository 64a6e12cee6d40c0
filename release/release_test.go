package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
	modzip "golang.org/x/mod/zip"

	"github.com/bloodhound-dst/bloodhound/internal/cli"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

const tested = "0123456789abcdef0123456789abcdef01234567" // a commit

var (
	noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	src  = &source{root: "..", commit: tested, version: "v1.2.3-rc.1", time: noon}
)

// own is a program with a record of its modules: this test.
func own(t *testing.T) []byte {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestVersions(t *testing.T) {
	for _, c := range []struct{ exact, last, want string }{
		{"v1.2.3", "v1.2.3", "v1.2.3"},
		{"", "v1.2.3", "v1.2.4-0.20261128120000-0123456789ab"},
		{"", "v1.2.3-rc.1", "v1.2.3-rc.1.0.20261128120000-0123456789ab"},
		{"", "", "v0.0.0-20261128120000-0123456789ab"},
		{"v1-of-many", "v1-of-many", "v0.0.0-20261128120000-0123456789ab"},
	} {
		if got := versionOf(c.exact, c.last, tested, noon); got != c.want {
			t.Errorf("%q behind %q is %s, want %s", c.exact, c.last, got, c.want)
		}
	}
}

// dpkg orders versions as the module system does.
func TestVersionsOfDebian(t *testing.T) {
	dpkg := needs.Program(t, "dpkg")
	order := []string{"v0.0.0-20261128120000-0123456789ab", "v0.1.0", "v1.2.3-0.20261128120000-0123456789ab", "v1.2.3-rc.1", "v1.2.3", "v1.10.0"}
	for i := range order[1:] {
		older, newer := debVersion(order[i]), debVersion(order[i+1])
		if out, err := exec.Command(dpkg, "--compare-versions", older, "lt", newer).CombinedOutput(); err != nil {
			t.Errorf("%s is not older than %s: %v %s", older, newer, err, out)
		}
	}
}

func TestCheckout(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-11-28T12:00:00Z", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "")
	if _, err := checkout(dir); err == nil || !strings.Contains(err.Error(), "a release is made of a commit") {
		t.Errorf("no repository: %v", err)
	}
	run("init", "-q")
	run("commit", "-q", "--allow-empty", "-m", "x")
	s, err := checkout(dir)
	if err != nil || !s.time.Equal(noon) || !strings.HasPrefix(s.version, "v0.0.0-20261128120000-") {
		t.Errorf("%+v, %v", s, err)
	}
	run("tag", "v2.0.0")
	t.Setenv("SOURCE_DATE_EPOCH", "12")
	s, err = checkout(dir)
	if err != nil || s.time.Unix() != 12 || s.version != "v2.0.0" {
		t.Errorf("%+v, %v", s, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "noon")
	if _, err := checkout(dir); err == nil || !strings.Contains(err.Error(), `"noon"`) {
		t.Errorf("SOURCE_DATE_EPOCH=noon: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "more"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := checkout(dir); err == nil || !strings.Contains(err.Error(), "?? more") {
		t.Errorf("a file that is not committed: %v", err)
	}
}

// A tag is that of the release which live requires of the root.
func TestLiveRequiresTheRelease(t *testing.T) {
	for version, problem := range map[string]string{"v99.0.0": "and not v99.0.0", "v0.0.0-20261128120000-0123456789ab": ""} {
		err := (&source{root: "..", version: version}).requiresItself()
		if (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestArchive(t *testing.T) {
	files := []file{{"top/b/c", 0o755, []byte("run me")}, {"top/a", 0o644, []byte("read me")}, {"top/b/empty/", 0o1777, nil}}
	once, err := tarGz(files, noon)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(files)
	if twice, _ := tarGz(files, noon); !bytes.Equal(once, twice) {
		t.Error("two archives of the same files differ")
	}
	z, err := gzip.NewReader(bytes.NewReader(once))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(r)
		if !h.ModTime.Equal(noon) || h.Uid != 0 || h.Gid != 0 || h.Uname != "root" {
			t.Errorf("%+v", h)
		}
		got = append(got, strings.TrimSpace(fs.FileMode(h.Mode).String()[1:]+" "+h.Name+" "+string(content)))
	}
	want := []string{"rwxr-xr-x top/", "rw-r--r-- top/a read me", "rwxr-xr-x top/b/", "rwxr-xr-x top/b/c run me", "rwxrwxrwx top/b/empty/"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A package that dpkg installs, verifies and removes, in a file system of its own.
func TestPackage(t *testing.T) {
	dpkg := needs.Program(t, "dpkg")
	bash, zsh, fish, err := completions()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := manual(src)
	if err != nil {
		t.Fatal(err)
	}
	c := &content{program: []byte("#!/bin/sh\necho odd\n"), live: []byte("#!/bin/sh\necho live\n"),
		drivers: []byte("#!/bin/sh\necho drivers\n"),
		license: []byte("do what you like\n"), third: []byte("theirs\n"),
		changes: []byte("# Changelog\n"), manual: pages, bash: bash, zsh: zsh, fish: fish}
	d, err := debOf(src, target{"linux", architecture(t, dpkg)}, c)
	if err != nil {
		t.Fatal(err)
	}
	once, err := d.build(noon)
	if err != nil {
		t.Fatal(err)
	}
	if twice, _ := d.build(noon); !bytes.Equal(once, twice) {
		t.Error("two packages of the same files differ")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, d.file())
	if err := os.WriteFile(path, once, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("dpkg-deb", "--field", path, "Package", "Version").CombinedOutput(); err != nil ||
		string(out) != "Package: bloodhound\nVersion: 1.2.3~rc.1\n" {
		t.Errorf("%v\n%s", err, out)
	}
	if os.Getuid() != 0 {
		t.Skip("dpkg installs as root alone")
	}
	root := filepath.Join(dir, "root")
	for _, name := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "usr/bin"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	call := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(dpkg, append([]string{"--root=" + root}, args...)...)
		cmd.Env = append(os.Environ(), "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("dpkg %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	call("--install", path)
	if out := call("--verify", "bloodhound"); out != "" {
		t.Errorf("dpkg --verify: %s", out)
	}
	for name, want := range map[string]string{"bloodhound": "odd\n", "bloodhound-live": "live\n", "bloodhound-drivers": "drivers\n"} {
		if out, err := exec.Command(filepath.Join(root, "usr/bin", name)).Output(); err != nil || string(out) != want {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	for _, name := range []string{"usr/share/man/man1/bloodhound-run.1.gz", "usr/share/man/man1/bloodhound-live-test.1.gz",
		"usr/share/bash-completion/completions/bloodhound",
		"usr/share/doc/bloodhound/changelog.gz"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	call("--purge", "bloodhound")
	filepath.WalkDir(root, func(path string, _ fs.DirEntry, _ error) error {
		name := strings.TrimPrefix(path, root)
		if !strings.HasPrefix(name, "/var/lib/dpkg") &&
			!slices.Contains([]string{"", "/usr", "/usr/bin", "/var", "/var/lib", "/var/log", "/var/log/dpkg.log"}, name) {
			t.Errorf("%s is left", name)
		}
		return nil
	})
}

// architecture is that of this machine, in the words of Debian.
func architecture(t *testing.T, dpkg string) string {
	out, err := exec.Command(dpkg, "--print-architecture").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// There is a page for each verb that users see, and completions that a shell can read.
func TestPages(t *testing.T) {
	pages, err := manual(src)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		want = append(want, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "help" {
				walk(sub)
			}
		}
	}
	walk(cli.Commands())
	// Those of another module, whose page of live replaces the root's.
	for _, verb := range []string{"build", "federate", "federate-audit", "federate-check", "federate-key", "federate-origin", "test", "try"} {
		want = append(want, "bloodhound-live-"+verb+".1")
	}
	slices.Sort(want)
	var got []string
	for _, p := range pages {
		got = append(got, p.name)
		if !strings.Contains(string(p.content), `"Nov 2026" "Bloodhound v1.2.3-rc.1"`) || strings.Contains(string(p.content), "Auto generated") {
			t.Errorf("the first lines of %s are\n%.300s", p.name, p.content)
		}
		if p.name == "bloodhound-live.1" && !strings.Contains(string(p.content), "bloodhound-live-try(1)") {
			t.Errorf("%s is not the page of live's own module:\n%s", p.name, p.content)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	bash, zsh, fish, err := completions()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-n")
	cmd.Stdin = bytes.NewReader(bash)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("bash: %v\n%s", err, out)
	}
	if !strings.HasPrefix(string(zsh), "#compdef bloodhound\n") || !strings.Contains(string(fish), "complete -c bloodhound ") {
		t.Errorf("%.100s\n%.100s", zsh, fish)
	}
}

func TestBillOfMaterials(t *testing.T) {
	text, err := bom(src, modulePath, own(t))
	if err != nil {
		t.Fatal(err)
	}
	var b bomDocument
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	if b.Metadata.Timestamp != "2026-11-28T12:00:00Z" || b.Metadata.Component.PURL != "pkg:golang/github.com/bloodhound-dst/bloodhound@v1.2.3-rc.1" {
		t.Errorf("%+v", b.Metadata)
	}
	refs := map[string]bool{}
	for _, c := range b.Components {
		if refs[c.Ref] || c.Version == "" || c.Name != "std" && (len(c.Properties) != 1 || !strings.HasPrefix(c.Properties[0].Value, "h1:")) {
			t.Errorf("%+v", c)
		}
		refs[c.Ref] = true
	}
	if !slices.ContainsFunc(b.Components, func(c bomComponent) bool { return c.Name == "github.com/spf13/cobra" }) ||
		len(b.Dependencies[0].DependsOn) != len(b.Components) {
		t.Errorf("the modules are %v", refs)
	}
	if got := packageURL("github.com/Docker/CLI", "v29.0.0+incompatible"); got != "pkg:golang/github.com/docker/cli@v29.0.0%2Bincompatible" {
		t.Error(got)
	}
}

func TestLicenses(t *testing.T) {
	text, err := licenses(src, own(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"\nGo 1.", "\ngithub.com/spf13/cobra v", "Apache License", "The Go Authors"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%q is missing in %d bytes", part, len(text))
		}
	}
}

func TestImage(t *testing.T) {
	programs := &content{program: []byte("program"), live: []byte("live"), drivers: []byte("drivers")}
	once, err := image(src, target{"linux", "arm64"}, programs)
	if err != nil {
		t.Fatal(err)
	}
	if twice, _ := image(src, target{"linux", "arm64"}, programs); !bytes.Equal(once, twice) {
		t.Error("two images of the same programs differ")
	}
	img, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(once)), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c.Architecture != "arm64" || c.OS != "linux" || !c.Created.Equal(noon) || c.Config.User != "1000:1000" ||
		c.Config.Labels["org.opencontainers.image.revision"] != tested {
		t.Errorf("%+v", c)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	layer, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer layer.Close()
	got := map[string]string{}
	for r := tar.NewReader(layer); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		if name, ok := strings.CutPrefix(h.Name, path.Dir(c.Config.Entrypoint[0])[1:]+"/"); ok && name != "" && h.Mode == 0o755 {
			got[name] = string(text)
		}
	}
	want := map[string]string{"bloodhound": "program", "bloodhound-live": "live", "bloodhound-drivers": "drivers"}
	if !maps.Equal(got, want) {
		t.Errorf("beside the entrypoint are %q, not %q", got, want)
	}
	if n := strings.Count(string(authorities()), "BEGIN CERTIFICATE"); n < 50 {
		t.Errorf("%d authorities", n)
	}
}

// The quickstart of an archive is a project that loads, and needs no Go.
func TestQuickstart(t *testing.T) {
	files, err := quickstart("../examples/quickstart", []byte("#!/bin/sh\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.content, f.mode); err != nil {
			t.Fatal(err)
		}
		if text := string(f.content); strings.Contains(text, "go build") || strings.Contains(text, ".bloodhound/bin") {
			t.Errorf("%s needs a build:\n%s", f.name, text)
		}
	}
	for _, name := range []string{"bloodhound.yaml", "fixed.yaml"} {
		r, err := config.Load(config.Options{Path: filepath.Join(dir, name)})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Builds) > 0 || len(r.Notes) > 0 || r.Spec.Nodes[0].Command[0] != "bin/kv" {
			t.Errorf("%s: builds %v, notes %v, command %v", name, r.Builds, r.Notes, r.Spec.Nodes[0].Command)
		}
	}
}

// committed lists the files of the project without those that builds and runs make.
func committed(t *testing.T) (list []modzip.File) {
	made := []string{".git", ".bloodhound", "bin", "dist"} // see .gitignore
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(made, d.Name()):
			return filepath.SkipDir
		case d.Type().IsRegular():
			name, _ := filepath.Rel("..", path)
			list = append(list, member{"..", filepath.ToSlash(name)})
		}
		return nil
	})
	if err != nil || len(list) < 1000 {
		t.Fatalf("%d files, %v", len(list), err)
	}
	return list
}

// A module that users could import is released, or lies where modules are kept for this checkout alone.
func TestModulesAreReleased(t *testing.T) {
	for _, file := range committed(t) {
		folder, name := path.Split(file.Path())
		folder = path.Clean(folder)
		if name != "go.mod" || slices.Contains(released, folder) {
			continue
		}
		kept := func(top string) bool { return strings.HasPrefix(file.Path(), top+"/") }
		if !kept("bench") && !kept("examples") && !strings.Contains(file.Path(), "/testdata/") {
			t.Errorf("%s is a module that no release has: enter its folder in released, or move it below bench or examples", file.Path())
		}
	}
}

// `go install MODULE@latest` refuses replacements, and files that no module may have. All modules require the same release of the root, and
// workspaces replace it.
func TestModule(t *testing.T) {
	var version string
	for _, name := range []string{"../go.mod", "../live/go.mod", "../drivers/go.mod"} {
		f := modOf(t, name)
		if len(f.Replace) > 0 || len(f.Exclude) > 0 {
			t.Errorf("go install MODULE@latest refuses %s with %d replace and %d exclude lines", name, len(f.Replace), len(f.Exclude))
		}
		for _, r := range f.Require {
			if r.Mod.Path == modulePath {
				version = r.Mod.Version
			}
		}
	}
	if !semver.IsValid(version) {
		t.Fatalf("live/go.mod requires %q of the root", version)
	}
	files := committed(t)
	checked, err := modzip.CheckFiles(files)
	if err != nil || checked.SizeError != nil || len(checked.Invalid) > 0 {
		t.Errorf("%v, %v, %v", err, checked.SizeError, checked.Invalid)
	}
	modules, workspaces := 0, 0
	for _, file := range files {
		name := filepath.Join("..", file.Path())
		switch path.Base(file.Path()) {
		case "go.work":
			workspaces++
			if replaced := replacedIn(t, name); replaced != version {
				t.Errorf("%s replaces %q of the root, and live/go.mod requires %s", file.Path(), replaced, version)
			}
		case "go.mod":
			f := modOf(t, name)
			inner := strings.Contains(file.Path(), "/testdata/") && requirement(f, livePath) == ""
			if v := requirement(f, modulePath); v != "" && !inner {
				modules++
				if v != version {
					t.Errorf("%s requires %s of the root, and live requires %s", file.Path(), v, version)
				}
			}
			if v := requirement(f, livePath); v != "" && v != version {
				t.Errorf("%s requires %s of live, and live requires %s of the root", file.Path(), v, version)
			}
		}
	}
	if modules < 10 || workspaces != 3 {
		t.Errorf("only %d modules require the root, in %d workspaces", modules, workspaces)
	}
}

// replacedIn is the version of the root that a workspace replaces.
func replacedIn(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := modfile.ParseWork(name, text, nil)
	if err != nil || len(w.Replace) != 1 || w.Replace[0].Old.Path != modulePath {
		t.Errorf("%s does not replace the root alone: %v", name, err)
		return ""
	}
	return w.Replace[0].Old.Version
}

// A module is released after those that it requires.
func TestOrderOfReleases(t *testing.T) {
	for i, folder := range released {
		for _, r := range modOf(t, filepath.Join("..", folder, "go.mod")).Require {
			own, ok := strings.CutPrefix(r.Mod.Path+"/", modulePath+"/")
			if before := cmp.Or(strings.TrimSuffix(own, "/"), "."); ok && !slices.Contains(released[:i], before) {
				t.Errorf("%s requires %s, which is not released before it", modulePathIn(folder), r.Mod.Path)
			}
		}
	}
}

func modOf(t *testing.T, name string) *modfile.File {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := modfile.Parse(name, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
