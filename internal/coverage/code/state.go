package code

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
)

// State holds the coverage of a campaign so far.
type State struct {
	Files []*File `json:"files"` // in the order in which they were met
}

// File holds the coverage of one binary. If another version replaces a program during a campaign, there is a File for
// each.
type File struct {
	Digest  string         `json:"digest"`
	Path    string         `json:"path"` // in the world
	Host    string         `json:"host"` // on this machine
	Source  blocks.Source  `json:"source,omitempty"`
	Total   int            `json:"total"`
	Module  *blocks.Module `json:"module,omitempty"` // for Edges
	Covered blocks.Bits    `json:"covered"`
	// Always are blocks that each run reports, covered or not: those of code that has changed.
	Always blocks.Bits `json:"always,omitempty"`
	Off    string      `json:"off,omitempty"` // why it is not watched
}

// Get returns the coverage of a binary, or nil if it has not been seen yet.
func (s *State) Get(digest string) *File {
	if s == nil {
		return nil
	}
	if i := slices.IndexFunc(s.Files, func(f *File) bool { return f.Digest == digest }); i >= 0 {
		return s.Files[i]
	}
	return nil
}

// Merge takes in what a run has hit of one binary, and returns the blocks that are new.
func (s *State) Merge(h blocks.Hits) (fresh blocks.List) {
	f := s.Get(h.Digest)
	if f == nil {
		f = &File{Digest: h.Digest, Path: h.Path, Host: h.File, Source: h.Source, Module: h.Module, Total: h.Total, Covered: blocks.NewBits(h.Total)}
		s.Files = append(s.Files, f)
	}
	if h.Off != "" {
		f.Off = h.Off
	}
	for _, n := range h.Blocks {
		if int(n) < f.Total && !f.Covered.Has(int(n)) {
			f.Covered.Set(int(n))
			fresh = append(fresh, n)
		}
	}
	return fresh
}

// Quiet are the blocks that runs do not report.
func (f *File) Quiet() blocks.Bits {
	if f.Always == nil {
		return f.Covered
	}
	quiet := slices.Clone(f.Covered)
	for i, always := range f.Always {
		quiet[i] &^= always
	}
	return quiet
}

// Load reads a State that Save has written.
func Load(path string) (*State, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := new(State)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, f := range s.Files {
		if f.Total < 0 || len(f.Covered) != len(blocks.NewBits(f.Total)) || f.Always != nil && len(f.Always) != len(f.Covered) {
			return nil, fmt.Errorf("%s: the set of %s does not have %d places", path, f.Path, f.Total)
		}
	}
	return s, nil
}

// Save writes a State to a new file.
func (s *State) Save(path string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o666)
}

// Names reads the names of a binary's blocks from its file on this machine. The error is why there are none.
func (f *File) Names() (*Names, error) {
	if f.Host == "" {
		return nil, edgesUnknown(f.Module)
	}
	file, err := os.ReadFile(f.Host)
	digest := Digest(file)
	if f.Module != nil {
		digest = ModuleDigest(f.Module, digest, f.Total)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("its file can no longer be read: %w", err)
	case digest != f.Digest:
		return nil, fmt.Errorf("its file on this machine, %s, has changed", f.Host)
	case f.Module != nil && f.Module.Symbols != "":
		return symbolNames(file, f.Total)
	}
	var debug []byte
	if name := DebugFile(file); name != "" {
		debug, _ = os.ReadFile(name) // most machines have none
	}
	if f.Module != nil {
		return guardNames(file, debug, f.Module.Guards, f.Total)
	}
	b, err := Analyse(file)
	if err != nil {
		return nil, err
	}
	if b.Total() != f.Total {
		return nil, fmt.Errorf("it has %d blocks, not the %d that were watched", b.Total(), f.Total)
	}
	return NewNames(b, file, debug)
}
