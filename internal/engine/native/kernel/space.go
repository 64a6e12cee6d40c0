//go:build linux && amd64

package kernel

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// MadeUnsafe takes what was found in the code that a thread's program has made.
func (s *State) MadeUnsafe(t *Thread, name string, tooMuch bool) {
	switch path := s.Proc(t).Path; {
	case name != "":
		s.Unrepeatable("%s generated code at run time that may execute %s", path, name)
	case tooMuch:
		s.Unrepeatable("%s generated more code at run time than Bloodhound can search", path)
	}
}

// CheckMade looks through the code that a program has made, whose memory is about to go, for instructions that no run repeats: no
// breakpoint is set at them there.
func (k *Kernel) CheckMade(p *Proc) {
	s := k.Spaces[p.Space]
	if s == nil || !s.Made || k.Unsafe != "" {
		return
	}
	i := slices.IndexFunc(p.Threads, func(id ThreadID) bool { return k.Threads[id].State != Dead })
	if i < 0 {
		return
	}
	t := k.Threads[p.Threads[i]]
	name, tooMuch := k.M.AllMadeChance(t.ID)
	k.MadeUnsafe(t, name, tooMuch)
}

// FileAt finds the file that was mapped to an address last.
func (s *Space) FileAt(addr uint64) *FileMap {
	for i := len(s.Files) - 1; i >= 0; i-- {
		if f := &s.Files[i]; addr >= f.Start && addr < f.End {
			return f
		}
	}
	return nil
}

// Mapped finds the file of a line of the real map, by what is mapped there: munmap and mremap pass the engine by. What is one file of the
// machine and several of the node's is distinguished by where it was mapped.
func (s *Space) Mapped(m *machine.RealMap) (found *FileMap) {
	for i := len(s.Files) - 1; i >= 0; i-- {
		f := &s.Files[i]
		switch {
		case f.Real != m.Name:
		case m.Start >= f.Start && m.Start < f.End:
			return f
		case found == nil:
			found = f
		}
	}
	return found
}

// MappedFiles are the files that were mapped by what the real map calls them; nil for one that is several.
func (s *Space) MappedFiles() map[string]*FileMap {
	files := map[string]*FileMap{}
	for i := range s.Files {
		f := &s.Files[i]
		if o, known := files[f.Real]; known && (o == nil || o.File != f.File) {
			f = nil
		}
		files[s.Files[i].Real] = f
	}
	return files
}

// DropSpace gives up one reference of a process to its address space.
func (k *Kernel) DropSpace(p *Proc) {
	s := k.Spaces[p.Space]
	p.Space = 0
	if s == nil {
		return
	}
	if s.Refs--; s.Refs > 0 {
		return
	}
	for _, r := range s.Regions {
		if seg := k.Segs[r.Seg]; seg != nil {
			k.Detach(seg)
		}
	}
	if s.Exe != 0 {
		n := k.Nodes[s.Node]
		n.FS.Unref(k.TreeEnv(n), s.Exe)
	}
	delete(k.Spaces, s.ID)
}

// System V shared memory (shmget(2)).

// Detach ends one attachment of System V shared memory.
func (k *Kernel) Detach(s *ShmSegment) {
	if s.Attach--; s.Attach <= 0 && s.Removed {
		k.Handles.Blobs.Free(fs.BlobID(s.Blob))
		delete(k.Segs, s.ID)
	}
}

// Announced is a process' announcement of a module of edges (struct module of voidstar/voidstar.c).
type Announced struct {
	Module
	Guards  uint64 // the first guard of clang's trace-pc-guard, from where the module's file is mapped on; 0 for other modules
	Symbols string // the name of the file that reports what edges mean; empty for guards
	Path    string // the module's file, or the file of symbols; empty if there is none
	FD      int    // that file, of this process, for the time of the call
	Beyond  bool   // the process has MostModules already
}

// Module is a module of edges in a process' memory.
type Module struct {
	Counts int    // names it to whom Kernel.Edges belongs
	Ran    uint64 // the address of bits, one an edge
	First  uint64 // the bit of the module's edge 0, MostEdges if the process has too many
	Count  uint64
}
