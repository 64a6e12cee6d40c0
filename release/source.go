package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/bloodhound-dst/bloodhound/internal/driver/driverfile"
)

const (
	modulePath  = "github.com/bloodhound-dst/bloodhound"
	livePath    = modulePath + "/live"
	driversPath = modulePath + "/drivers"
)

// target is a system that a program is built for, in the words of Go.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// source is the commit that a release is made of.
type source struct {
	root    string // of the checkout
	commit  string
	version string    // as `go install MODULE@COMMIT` calls it
	time    time.Time // of all files of the release
}

// checkout reads what is checked out in the folder of the repository that dir lies in.
func checkout(dir string) (*source, error) {
	root, err := git(dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("a release is made of a commit: %w", err)
	}
	changes, err := git(root, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		return nil, fmt.Errorf("files differ from the commit; commit them, or put them away by `git stash -u`:\n%s", changes)
	}
	s := &source{root: root}
	if s.commit, err = git(root, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	seconds, err := git(root, "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	committed, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	s.time = time.Unix(committed, 0).UTC()
	// A version that is not a tag follows the last tag; a checkout without tags has none, and then the version is that of a module without releases.
	exact, _ := git(root, "describe", "--tags", "--exact-match", "--match", "v[0-9]*")
	last, _ := git(root, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")
	s.version = versionOf(exact, last, s.commit, s.time)
	if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds < 0 {
			return nil, fmt.Errorf("SOURCE_DATE_EPOCH is %q; it must be a number of seconds since 1970", text)
		}
		s.time = time.Unix(seconds, 0).UTC()
	}
	return s, nil
}

// versionOf is the tag of a commit, or the pseudo-version behind its last tag (go.dev/ref/mod#pseudo-versions).
func versionOf(exact, last, commit string, at time.Time) string {
	if semver.IsValid(exact) {
		return exact
	}
	if !semver.IsValid(last) {
		last = ""
	}
	return module.PseudoVersion(cmp.Or(semver.Major(last), "v0"), last, at, commit[:12])
}

// requiresItself is an error if a release has a tag and one of its modules requires another release of the root: the go command would build
// what this commit does not have.
func (s *source) requiresItself() error {
	if module.IsPseudoVersion(s.version) {
		return nil
	}
	for _, folder := range released[1:] {
		f, err := s.readMod(folder)
		if err != nil {
			return err
		}
		if v := requirement(f, modulePath); v != s.version {
			return fmt.Errorf("%s/go.mod requires %s of %s, and not %s; CONTRIBUTING.md has the steps of a release", folder, v, modulePath, s.version)
		}
	}
	return nil
}

func git(dir string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("git %s: %s", args[0], bytes.TrimSpace(exit.Stderr))
	}
	return strings.TrimSpace(string(out)), err
}

// build compiles a command of the source and returns the program. It has no path of this machine in it, no record of the state of the checkout
// beyond the commit, and no C library.
func (s *source) build(t target, pkg string, flags ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "bloodhound-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, filepath.Base(pkg))
	shared := modulePath + "/internal/program"
	stamps := fmt.Sprintf("-s -w -buildid= -X %s.version=%s -X %s.revision=%s", shared, s.version, shared, s.commit)
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", stamps, "-o", file}, flags...)
	cmd := exec.Command("go", append(args, pkg)...)
	cmd.Dir = s.root
	workspace := "off"
	for _, module := range []string{"live", "drivers", "examples/quickstart"} { // modules of their own
		if within, ok := strings.CutPrefix(pkg, "./"+module+"/"); ok {
			cmd.Dir = filepath.Join(s.root, module)
			cmd.Args[len(cmd.Args)-1] = "./" + within
		}
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "go.work")); err == nil { // live and drivers take the root from this commit
		workspace = filepath.Join(cmd.Dir, "go.work")
	}
	// GOFLAGS must not be empty: then the go command would look for it in its own file of settings.
	cmd.Env = append(os.Environ(), "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0", "GOWORK="+workspace, "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return os.ReadFile(file)
}

// goRun executes a command of a module of the source on this machine.
func (s *source) goRun(module, pkg string, args ...string) error {
	folder, err := filepath.Abs(filepath.Join(s.root, module))
	if err != nil {
		return err
	}
	cmd := exec.Command("go", append([]string{"run", pkg}, args...)...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(folder, "go.work")) // it takes the root from this commit
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go run %s in %s: %w\n%s", pkg, module, err, out)
	}
	return nil
}

// buildBloodhound compiles the command bloodhound with the driver program in it. Worlds are Linux, whatever system this program is for.
func (s *source) buildBloodhound(t target) ([]byte, error) {
	driver, err := s.build(target{"linux", t.arch}, "./cmd/"+driverfile.FileName)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bloodhound-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	flags, err := driverfile.Overlay(s.root, dir, driver)
	if err != nil {
		return nil, err
	}
	return s.build(t, "./cmd/bloodhound", flags...)
}
