package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMatching(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"a_test.go": "package a\n\n//ci:series\nfunc TestA(t *testing.T) {}\n\n" +
			"// TestB has both.\n//\n//ci:later x y\n//ci:series\nfunc TestB(t *testing.T) {}\n",
		"below/b_test.go": "package b\n\n//ci:later\nfunc TestC(t *testing.T) {}\n",
		"a.go":            "package a\n\n//ci:later\nfunc TestNot() {}\n",
		"bad/c_test.go":   "package c\n\n//ci:never\nfunc TestD(t *testing.T) {}\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		marks, folder, want, mistake string
	}{
		{"series", "", "^TestA$|^TestB$", ""},
		{"later", "", "^TestB$/^(x|y)$", ""},
		{"later", "below/...", "^TestC$", ""},
		{"later,series", "", "^TestA$|^TestB$|^TestB$/^(x|y)$", ""},
		{"underway", "", "", "no test below"},
		{"sometimes", "", "", `"sometimes" is not a mark`},
		{"series", "...", "", `TestD has the mark "//ci:never"`},
		{"series", "nowhere", "", "no such file"},
	} {
		where := folder
		if test.folder != "" {
			where += "/" + test.folder
		}
		got, err := matching(strings.Split(test.marks, ","), []string{where})
		if got != test.want || (err == nil) != (test.mistake == "") || err != nil && !strings.Contains(err.Error(), test.mistake) {
			t.Errorf("%s in %q: %q, %v", test.marks, test.folder, got, err)
		}
	}
}
