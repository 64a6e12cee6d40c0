package code

import (
	"bytes"
	"debug/buildinfo"
	"slices"
	"strings"
	"unicode"
)

// own reports for each function whether it belongs to the program, and not to the runtime and the standard library of its language that
// are linked into it. nil is no difference: those of C come as libraries, or cannot be told apart.
func (f *elfFile) own(functions []function) []bool {
	names := f.goOwners()
	if names == nil {
		names = f.rustOwners()
	}
	if len(names) == 0 {
		return nil
	}
	list := make([]bool, len(functions))
	for i, fn := range functions {
		list[i] = names[fn.start]
	}
	return list
}

// goOwners are the entries of functions of the modules of a Go program.
func (f *elfFile) goOwners() map[uint64]bool {
	table := f.goTable()
	if table == nil {
		return nil
	}
	roots := []string{"main"}
	if info, err := buildinfo.Read(bytes.NewReader(f.bytes)); err == nil {
		roots = append(roots, info.Main.Path, "command-line-arguments")
		for _, d := range info.Deps {
			roots = append(roots, d.Path)
		}
	}
	own := map[uint64]bool{}
	for i := range table.Funcs {
		fn := &table.Funcs[i]
		of := fn.PackageName()
		for _, root := range roots {
			if root != "" && (of == root || strings.HasPrefix(of, root+"/")) {
				own[fn.Entry] = true
				break
			}
		}
	}
	return own
}

// rustStandard are the crates of Rust's standard library, and those that it is made of.
var rustStandard = strings.Fields("core alloc std std_detect hashbrown compiler_builtins rustc_demangle rustc_std_workspace_core " +
	"panic_unwind panic_abort unwind gimli addr2line miniz_oxide object memchr adler adler2 cfg_if ___rust ___rustc")

// rustOwners are the entries of functions of a Rust program's own crates. Linkers put the standard library last; what lies before the last
// function with a name of another crate is the program's, be it generic code of the standard library that was compiled for it.
func (f *elfFile) rustOwners() map[uint64]bool {
	last, standard := uint64(0), false
	symbols := f.functionSymbols()
	for _, s := range symbols {
		crate := rustCrate(s.Name)
		isStandard := slices.Contains(rustStandard, crate)
		standard = standard || isStandard
		if crate != "" && !isStandard {
			last = max(last, s.Value)
		}
	}
	if !standard { // C++ has names of the same form
		return nil
	}
	own := map[uint64]bool{}
	for _, s := range symbols {
		own[s.Value] = s.Value <= last
	}
	return own
}

// rustCrate is the crate that a symbol's name begins with, or empty.
func rustCrate(name string) string {
	var rest string
	switch {
	case strings.HasPrefix(name, "_ZN"):
		rest = name[len("_ZN"):]
	case strings.HasPrefix(name, "_R"):
		i := strings.IndexByte(name, 'C') // crate-root, before which there are tags of what is nested in it
		if i < 0 {
			return ""
		}
		rest = name[i+1:]
		if strings.HasPrefix(rest, "s") { // a disambiguator, in base 62
			_, rest, _ = strings.Cut(rest, "_")
		}
	default:
		return ""
	}
	digits := 0
	n := 0
	for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' && n < 1000 {
		n = 10*n + int(rest[digits]-'0')
		digits++
	}
	if rest = rest[digits:]; digits == 0 || n > len(rest) {
		return ""
	}
	crate, _, _ := strings.Cut(strings.TrimPrefix(rest[:n], "_$LT$"), "..") // an implementation: _$LT$crate..Type$u20$as...
	if strings.ContainsFunc(crate, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return ""
	}
	return crate
}
