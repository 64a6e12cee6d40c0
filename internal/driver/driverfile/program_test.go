//go:build unix

package driverfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func pack(t *testing.T, content string) []byte {
	t.Helper()
	archive, err := Pack([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

func unpacked(t *testing.T, archive []byte, folders ...string) string {
	t.Helper()
	path, err := unpack(archive, folders)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != fileMode {
		t.Errorf("%s has the mode %v, %v", path, info.Mode(), err)
	}
	return string(content)
}

// What another build, a crash or a hand has left in the folder is never executed for the program.
func TestUnpackedProgramIsTheEmbeddedOne(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "drivers")
	archive := pack(t, "one")
	if got := unpacked(t, archive, folder); got != "one" {
		t.Fatalf("unpacked %q", got)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	path := filepath.Join(folder, entries[0].Name())
	for what, spoil := range map[string]func() error{
		"other content":      func() error { return os.WriteFile(path, []byte("two"), fileMode) },
		"cut off":            func() error { return os.Truncate(path, 1) },
		"no right to run it": func() error { return os.Chmod(path, 0o644) },
		"writable for all":   func() error { return os.Chmod(path, 0o777) },
		"gone":               func() error { return os.Remove(path) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if got := unpacked(t, archive, folder); got != "one" {
			t.Errorf("%s: unpacked %q", what, got)
		}
	}
	if got := unpacked(t, pack(t, "two"), folder); got != "two" {
		t.Errorf("a second program: unpacked %q", got)
	}
	if got := unpacked(t, archive, folder); got != "one" {
		t.Errorf("the first program, beside a second: unpacked %q", got)
	}
}

// A folder that others can write to is passed over: they could put a program of theirs into it.
func TestUnpackPassesOverFoldersOfOthers(t *testing.T) {
	open, own := filepath.Join(t.TempDir(), "open"), filepath.Join(t.TempDir(), "own")
	if err := os.Mkdir(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	archive := pack(t, "one")
	if got := unpacked(t, archive, open, link, file, own); got != "one" {
		t.Errorf("unpacked %q", got)
	}
	for _, folder := range []string{open, link} {
		if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v, %v", folder, entries, err)
		}
	}
	_, err := unpack(archive, []string{open, file})
	if err == nil || !strings.Contains(err.Error(), "nobody else can write") || !strings.Contains(err.Error(), "set HOME or TMPDIR") {
		t.Errorf("without a folder: %v", err)
	}
}

func TestUnpackRefusesSpoiltArchives(t *testing.T) {
	good := pack(t, strings.Repeat("program", 1000))
	flipped := bytes.Clone(good)
	flipped[3] ^= 1
	for what, archive := range map[string][]byte{"short": good[:20], "cut off": good[:len(good)-9], "another digest": flipped} {
		folder := t.TempDir()
		if err := os.Chmod(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if path, err := unpack(archive, []string{folder}); err == nil {
			t.Errorf("%s: unpacked to %s", what, path)
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
			t.Errorf("%s: left %v, %v", what, entries, err)
		}
	}
}

func TestNamedProgramMustBeExecutable(t *testing.T) {
	folder := t.TempDir()
	plain, run := filepath.Join(folder, "plain"), filepath.Join(folder, "run")
	for path, mode := range map[string]os.FileMode{plain: 0o644, run: 0o755} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := named(Variable, run); err != nil || got != run {
		t.Errorf("named gives %q, %v", got, err)
	}
	for _, path := range []string{plain, folder, filepath.Join(folder, "missing")} {
		if got, err := named(Variable, path); err == nil || !strings.Contains(err.Error(), Variable) {
			t.Errorf("named(%s) gives %q, %v", path, got, err)
		}
	}
}

// A file beside the program that is no driver of the same version is refused, and not executed.
func TestProgramBesideIsChecked(t *testing.T) {
	folder := t.TempDir()
	self := filepath.Join(folder, "bloodhound")
	if got, err := beside(self); err != nil || got != self {
		t.Errorf("alone: %q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(folder, FileName), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := beside(self); err == nil || !strings.Contains(err.Error(), "is not Bloodhound's driver program") {
		t.Errorf("a script: %q, %v", got, err)
	}
}
