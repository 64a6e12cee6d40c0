package code

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

const source = `#include <stdio.h>
static int pick(int n) {
	switch (n) {
	case 1: return 10;
	case 2: return 27;
	case 3: puts("three"); return 31;
	case 4: return 44;
	case 5: return 59;
	case 6: puts("six"); return 66;
	}
	return 0;
}
int main(int argc, char **argv) {
	int sum = 0;
	for (int i = 0; i < argc; i++)
		sum += pick(i);
	return sum;
}
`

// build compiles a program.
func build(t *testing.T, compiler, name, text string, flags ...string) string {
	t.Helper()
	needs.Program(t, compiler)
	dir := t.TempDir()
	from, to := filepath.Join(dir, name), filepath.Join(dir, "program")
	if err := os.WriteFile(from, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(compiler, append(flags, "-o", to, from)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GO111MODULE=off", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		needs.Missing(t, compiler, err, string(out))
	}
	return to
}

func analyse(t *testing.T, path string) (*Binary, *Names) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Analyse(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := NewNames(b, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b, n
}

func named(n *Names, name string) *Function {
	if i := slices.IndexFunc(n.Functions, func(f Function) bool { return strings.HasPrefix(f.Name, name) }); i >= 0 {
		return &n.Functions[i]
	}
	return nil
}

func TestNamesOfC(t *testing.T) {
	for _, flags := range [][]string{{"-O2"}, {"-O0", "-no-pie"}, {"-O2", "-static"}, {"-O2", "-static-pie"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			program := build(t, "cc", "p.c", source, append(flags, "-g", "-fno-inline")...)
			b, n := analyse(t, program)
			pick := named(n, "pick")
			if pick == nil || filepath.Base(pick.File) != "p.c" || pick.Line < 2 || pick.Line > 3 || pick.Last-pick.First < 4 {
				t.Fatalf("pick is %+v", pick)
			}
			lines := map[int]bool{}
			for i := pick.First; i < pick.Last; i++ {
				for _, l := range n.Lines(i) {
					lines[l.Line] = true
				}
			}
			if !lines[6] || !lines[9] || lines[15] { // the cases that do something are blocks, behind a table of jumps
				t.Errorf("the lines of pick are %v", lines)
			}
			if out, err := exec.Command("strip", program).CombinedOutput(); err != nil {
				needs.Missing(t, "strip", err, string(out))
			}
			stripped, names := analyse(t, program)
			if !slices.Contains(stripped.Places, b.Places[pick.First]) || len(stripped.Places) < len(b.Places)*9/10 {
				t.Errorf("%d places, and %d after strip", len(b.Places), len(stripped.Places))
			}
			if named(names, "0x") == nil {
				t.Errorf("no function without a name in %+v", names.Functions)
			}
		})
	}
}

// A compiler that is given a path below its folder writes that path and the folder.
func TestNamesOfSourcesBelowTheFolder(t *testing.T) {
	program := build(t, "cc", "p.c", source, "-g")
	dir := filepath.Dir(program)
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "p.c"), filepath.Join(dir, "src", "p.c")); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		cmd := exec.Command("cc", "-g", version, "-o", "program", "src/p.c")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			needs.Missing(t, "cc", err, string(out))
		}
		_, n := analyse(t, program)
		if f := named(n, "pick"); f == nil || f.File != filepath.Join(dir, "src", "p.c") {
			t.Errorf("%s: pick is %+v", version, f)
		}
	}
}

func TestNamesOfCPlusPlusAndRust(t *testing.T) {
	t.Run("c++", func(t *testing.T) {
		_, n := analyse(t, build(t, "g++", "p.cc",
			"#include <string>\nnamespace kv { struct Store { std::string get(int n); }; std::string Store::get(int n) { if (n > "+
				"3) throw 5; return std::to_string(n); } }\nint main(int c, char**) { kv::Store s; return s.get(c).size(); }\n", "-g", "-O1"))
		if f := named(n, "kv::Store::get"); f == nil || f.Last-f.First < 2 || f.Line != 2 {
			t.Errorf("get is %+v", f)
		}
	})
	t.Run("rust", func(t *testing.T) {
		_, n := analyse(t, build(t, "rustc", "p.rs",
			"#[inline(never)]\nfn pick(n: usize) -> usize { if n > 2 { 7 } else { n } }\nfn main() { "+
				"std::process::exit(pick(std::env::args().count()) as i32) }\n", "-g"))
		if f := named(n, "p::pick"); f == nil || filepath.Base(f.File) != "p.rs" || f.Line != 2 {
			t.Errorf("pick is %+v", f)
		}
	})
}

func TestNamesOfGo(t *testing.T) {
	program := "package main\n\nimport \"os\"\n\n//go:noinline\nfunc pick(n int) int {\n\tif n > 2 {\n\t\treturn 7\n\t}\n\treturn " +
		"n\n}\n\nfunc main() { os.Exit(pick(len(os.Args))) }\n"
	for _, flags := range [][]string{{"build"}, {"build", "-ldflags=-s -w"}, {"build", "-buildmode=pie", "-ldflags=-s -w"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			b, n := analyse(t, build(t, "go", "p.go", program, flags...))
			f := named(n, "main.pick")
			if f == nil || filepath.Base(f.File) != "p.go" || (f.Line != 6 && f.Line != 7) || f.Last-f.First < 2 {
				t.Fatalf("pick is %+v, of %d places", f, len(b.Places))
			}
			found := false
			for i := f.First; i < f.Last; i++ {
				found = found || slices.ContainsFunc(n.Lines(i), func(l Line) bool { return l.Line == 8 })
			}
			if !found {
				t.Error("no block of pick begins at line 8")
			}
		})
	}
}

func TestWhatIsNoProgram(t *testing.T) {
	for _, file := range [][]byte{nil, []byte("#!/bin/sh\n"), []byte("\x7fELF"), make([]byte, 4096)} {
		if b, err := Analyse(file); err == nil {
			t.Errorf("%d bytes have %d places", len(file), len(b.Places))
		}
	}
	// A file that is broken anywhere is refused or has fewer places, and nothing worse happens.
	file, err := os.ReadFile(build(t, "cc", "p.c", source, "-O2", "-g"))
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(file); at += 31 {
		broken := slices.Clone(file)
		for i := range min(4, len(file)-at) {
			broken[at+i] ^= 0xa5
		}
		if b, err := Analyse(broken); err == nil {
			NewNames(b, broken, nil)
		}
		if at%310 == 0 {
			if b, err := Analyse(file[:at]); err == nil {
				NewNames(b, file[:at], nil)
			}
		}
	}
}

// What packers leave has no sections at all: the program headers lead to .eh_frame, but not in static programs, which report
// nothing then.
func TestWithoutSections(t *testing.T) {
	for _, flags := range []string{"-O2", "-static-pie", "-static"} {
		file, err := os.ReadFile(build(t, "cc", "p.c", source, flags, "-s"))
		if err != nil {
			t.Fatal(err)
		}
		with, err := Analyse(file)
		if err != nil {
			t.Fatal(err)
		}
		clear(file[0x28:0x30]) // e_shoff
		clear(file[0x3c:0x40]) // e_shnum, e_shstrndx
		without, err := Analyse(file)
		if flags == "-static" && errors.Is(err, errNoFunctions) {
			continue
		}
		if err != nil {
			t.Fatal(flags, err)
		}
		if len(without.Places) < len(with.Places)*9/10 {
			t.Errorf("%s: %d places with sections, %d without", flags, len(with.Places), len(without.Places))
		}
	}
}
