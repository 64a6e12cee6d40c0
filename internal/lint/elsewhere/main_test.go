package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

const modules = `
-- one/go.mod --
module example.com/one

go 1.26
-- one/kept/kept.go --
package kept

import "fmt"

func Print(s string) { fmt.Println(s) }

func Printf(s string, a ...any) { fmt.Printf(s, a...) }
-- one/kept/kept_test.go --
package kept_test

import (
	"testing"

	"example.com/one/kept"
)

func TestPrint(t *testing.T) { kept.Print(1) }
-- one/call/call.go --
package call

import "syscall"

var Number = syscall.SYS_EPOLL_WAIT
-- one/words/words.go --
package words
-- one/words/words_darwin.go --
package words

import "os"
-- one/lines/lines_darwin.go --
package lines

import "example.com/one/kept"

func Say() { kept.Printf("%d\n", "one") }
-- one/gone/gone_linux.go --
package gone
-- one/needs/needs.go --
package needs

import _ "example.com/one/gone"
-- one/asm/asm.go --
package asm

func Add(a, b int) int
-- two/go.mod --
module example.com/two

go 1.26

require example.com/one v1.0.0

replace example.com/one => ../one
-- two/two.go --
package two

import "example.com/one/kept"

func Say() { kept.Print(2) }
`

func TestFindings(t *testing.T) {
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(modules)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	find := func(system string, folders ...string) string {
		t.Helper()
		for i, folder := range folders {
			folders[i] = filepath.Join(dir, folder)
		}
		findings, err := vetFor(system, folders)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(findings, "\n")
	}
	all := find("darwin/arm64", "one", "two")
	wants := []string{
		"asm/asm.go:3:1: Add has no body",
		"build constraints exclude all Go files in " + filepath.Join(dir, "one/gone"),
		"call/call.go:5:22: undefined: syscall.SYS_EPOLL_WAIT",
		"kept/kept_test.go:9:43: cannot use 1",
		"lines/lines_darwin.go:5:27: example.com/one/kept.Printf format %d has arg",
		"needs/needs.go:3:10: could not import example.com/one/gone",
		`words/words_darwin.go:3:8: "os" imported and not used`,
		"two.go:5:25: cannot use 2",
	}
	for _, want := range wants {
		if !strings.Contains(all, want) {
			t.Errorf("no finding has %q", want)
		}
	}
	if t.Failed() || strings.Count(all, "\n") != len(wants)-1 {
		t.Errorf("findings:\n%s", all)
	}
	// What go vet finds there is left to it.
	if got := find("linux/amd64", "two"); strings.Contains(got, "\n") || !strings.Contains(got, "two.go:5:25: cannot use 2") {
		t.Errorf("findings on linux/amd64:\n%s", got)
	}
}
