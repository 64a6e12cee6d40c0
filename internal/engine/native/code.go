//go:build linux && amd64

package native

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/host"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
)

// codeWatch is a world's state of the binaries whose blocks are watched. Checkpoint.Watched has the copies of those
// that have breakpoints, in the same order.
type codeWatch struct {
	Hits   []blocks.Hits // of binaries that were met; their blocks are filled in at the end
	Counts []*code.Tally // of each that counts by itself, else nil
	Silent []bool        // of each: its coverage is not asked for
	Points []bool        // of each: threads may be switched in it
}

// underTest reports whether a thread belongs to a server, and not to a driver or a check.
func (w *World) underTest(t *kernel.Thread) bool {
	tag := w.kernel.Procs[t.Proc].Tag
	return !w.kernel.Nodes[t.Node].Driver && tag != 0 && w.director.Jobs[tag-1].Kind == director.JobMain
}

// watched gives the copy of a file with breakpoints to execute in its place, if its blocks are to be watched, or threads may be switched at them: the kernel
// asks at each exec and each map of code. What counts by itself is executed as it is, and counts is its number.
func (w *World) watched(t *kernel.Thread, path, real string, fd int, library bool) (inPlace machine.Code, counts int) {
	c := &w.code
	if !w.underTest(t) || real == linux.Self {
		return nil, 0
	}
	if !strings.HasPrefix(path, "/") {
		path = real
	}
	watches := func(c code.Choice) bool { return c.Watches(path, library) || path != real && c.Watches(real, library) }
	watch := w.options.Code
	if watch != nil && !watches(watch.Choice) {
		watch = nil
	}
	switches := w.spec.Sched.Blocks > 0 && watches(nil)
	if watch == nil && !switches {
		return nil, 0
	}
	copied, digest, err := host.Watch(fd, watch, w.real.Watched, w.real.Machine.Mark())
	if copied == nil && switches && watch != nil { // what is not asked for must not change the run
		watch = nil
		copied, digest, err = host.Watch(fd, nil, w.real.Watched, w.real.Machine.Mark())
	}
	if digest == "" {
		return nil, 0
	}
	counting := copied != nil && copied.Binary.Counters != nil
	i := slices.IndexFunc(c.Hits, func(h blocks.Hits) bool { return h.Digest == digest })
	if i < 0 {
		h := blocks.Hits{Digest: digest, Path: path, File: host.RealName(fd)}
		held, tally := copied, (*code.Tally)(nil)
		if err != nil {
			h.Off = err.Error()
		} else {
			h.Total = copied.Binary.Total()
		}
		if counting {
			h.Source, held, tally = blocks.GoCover, nil, copied.Binary.NewTally()
		}
		i = len(c.Hits)
		w.add(h, held, tally, watch == nil)
		if held != nil && switches {
			c.Points[i] = true
			w.kernel.Handles.Codes[i] = held
			w.kernel.LayIn(held)
		}
	}
	switch {
	case counting && c.Silent[i]:
		return nil, 0
	case counting:
		return nil, i + 1
	case copied == nil:
		return nil, 0
	}
	return copied, 0
}

// add notes a binary: all lists have one more element.
func (w *World) add(h blocks.Hits, copied *host.Watched, tally *code.Tally, silent bool) {
	c := &w.code
	c.Hits, c.Counts, c.Silent, c.Points = append(c.Hits, h), append(c.Counts, tally), append(c.Silent, silent), append(c.Points, false)
	w.real.Watched = append(w.real.Watched, copied)
	w.kernel.Handles.Codes = append(w.kernel.Handles.Codes, nil)
}

// edges takes a module of edges that a process announces; counts is its number, 0 where it is not recorded.
func (w *World) edges(t *kernel.Thread, a *kernel.Announced) (counts int) {
	c := &w.code
	m := &blocks.Module{Symbols: a.Symbols, Guards: a.Guards}
	program := w.kernel.Procs[t.Proc].Path
	if m.Symbols == "" && a.Path != "" {
		program = a.Path
	}
	if !w.underTest(t) || !w.options.Code.Choice.Watches(program, false) {
		return 0
	}
	h := blocks.Hits{Path: program, Source: blocks.Edges, Module: m, Total: int(a.Count)}
	file := ""
	if a.FD >= 0 {
		if d, err := host.Digest(a.FD); err == nil {
			file, h.File = d, host.RealName(a.FD)
		}
	}
	h.Digest = code.ModuleDigest(m, file, h.Total)
	switch {
	case a.Beyond: // one name for all of them: there is no end of what a process may announce
		h = blocks.Hits{Path: w.kernel.Procs[t.Proc].Path, Source: blocks.Edges,
			Off: fmt.Sprintf("a process of it has more than %d modules of edges, and those beyond are not counted", linux.MostModules)}
		h.Digest = code.Digest([]byte(h.Path + "\n" + h.Off))
	case a.First >= linux.MostEdges:
		h.Off, h.Total = fmt.Sprintf("a process of it has more than %d edges", linux.MostEdges), 0
	}
	if w.options.Code.Only != "" && w.options.Code.Only != h.Digest {
		return 0
	}
	if i := slices.IndexFunc(c.Hits, func(o blocks.Hits) bool { return o.Digest == h.Digest }); i >= 0 {
		if h.Off != "" {
			c.Hits[i].Off = h.Off // in another process there was room
		}
		return i + 1
	}
	w.add(h, nil, code.NewEdges(h.Total), false)
	return len(c.Hits)
}

// counted reads what a process has counted so far. That of one that ends by itself, is killed or crashes is read alike.
func (w *World) counted(p *kernel.Proc) {
	k := w.kernel
	space := k.Spaces[p.Space]
	i := slices.IndexFunc(p.Threads, func(id kernel.ThreadID) bool { return k.Threads[id].State != kernel.Dead })
	if space == nil || i < 0 {
		return
	}
	read := func(addr uint64, b []byte) bool { return k.M.Read(p.Threads[i], addr, b) == len(b) }
	if space.Counts > 0 {
		tally := w.code.Counts[space.Counts-1]
		tally.Read(tally.Bias(p.Auxv), read)
	}
	for _, m := range space.Modules {
		edges := m.Count // with one more, where they are numbered from 1
		if w.code.Hits[m.Counts-1].Module.Symbols != "" {
			edges++
		}
		skip := m.First % 8
		bits := make([]byte, (skip+edges+7)/8)
		if read(m.Ran+m.First/8, bits) {
			w.code.Counts[m.Counts-1].AddEdges(bits, int(skip), int(edges))
		}
	}
}

// codeHits are the blocks that were executed so far. Binaries of which nothing is new are left out if the State knows them.
func (w *World) codeHits() []blocks.Hits {
	for _, id := range slices.Sorted(maps.Keys(w.kernel.Procs)) {
		w.counted(w.kernel.Procs[id])
	}
	var list []blocks.Hits
	for i, h := range w.code.Hits {
		if w.code.Silent[i] {
			continue
		}
		known := w.options.Code.State.Get(h.Digest)
		if c := w.real.Watched[i]; c != nil {
			h.Blocks = c.Hits()
		}
		if t := w.code.Counts[i]; t != nil {
			var quiet blocks.Bits
			if known != nil && known.Total == h.Total {
				quiet = known.Quiet()
			}
			h.Blocks = t.Ran.Without(quiet)
		}
		if len(h.Blocks) > 0 || known == nil || h.Off != "" && known.Off == "" {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b blocks.Hits) int { return strings.Compare(a.Digest, b.Digest) })
	return list
}
