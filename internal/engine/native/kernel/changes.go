//go:build linux && amd64

package kernel

import (
	"cmp"
	"path"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Bounds of the changes of files that a node keeps.
const (
	changesAround = 24  // before and after each fault
	maxChanges    = 720 // around all faults; the first ones are dropped
	maxRemovals   = 40  // of names, wherever they lie; the first ones are dropped
)

// Changes are the latest changes of a node's files, and those around faults. They are no part of the trace.
type Changes struct {
	Recent []Change
	Kept   []Change
	// Removals are the latest changes that took a name away.
	Removals []Change
	After    int  // how many further changes belong to the last fault
	Apart    bool // a fault divides the next change from the last one
}

// Change is a change of a file with its number.
type Change struct {
	record.DiskChange
	Inode fs.InodeID
}

// last is the change that was noted last, or nil.
func (c *Changes) last() *Change {
	switch {
	case len(c.Recent) > 0:
		return &c.Recent[len(c.Recent)-1]
	case len(c.Kept) > 0:
		return &c.Kept[len(c.Kept)-1]
	}
	return nil
}

// Continues adds a call to the last change if that is the same call on the same file, whose bytes end where these begin, and reports
// whether it is.
func (c *Changes) Continues(inode fs.InodeID, call string, from, to, nowNs int64) bool {
	last := c.last()
	if last == nil || c.Apart || last.To != from || last.Inode != inode || last.Call != call || last.Errno != "" || last.Fault != "" || last.Short != 0 {
		return false
	}
	last.Calls = max(last.Calls, 1) + 1
	last.To, last.LastNs = to, nowNs
	return true
}

// repeats adds a call that fails to the last change, if that has failed in the same way, and reports whether it has.
func (c *Changes) repeats(x *Change) bool {
	last := c.last()
	if x.Errno == "" || last == nil {
		return false
	}
	a, b := &last.DiskChange, &x.DiskChange
	if a.Call != b.Call || a.Path != b.Path || a.Old != b.Old || a.From != b.From || a.To != b.To || a.Errno != b.Errno || a.Fault != b.Fault {
		return false
	}
	last.Calls = max(last.Calls, 1) + 1
	last.LastNs = x.TimeNs
	return true
}

// Note takes a change in. One that a fault was injected into is kept, with those around it.
func (c *Changes) Note(x Change) {
	if c.repeats(&x) {
		return
	}
	c.Apart = false
	if x.Removes() {
		if len(c.Removals) >= maxRemovals {
			c.Removals = append(c.Removals[:0], c.Removals[1:]...)
		}
		c.Removals = append(c.Removals, x)
	}
	if c.After > 0 {
		c.After--
		c.keep(x)
	} else {
		if len(c.Recent) >= changesAround {
			c.Recent = append(c.Recent[:0], c.Recent[1:]...)
		}
		c.Recent = append(c.Recent, x)
	}
	if x.Fault != "" {
		c.Strike()
	}
}

// Beside reports whether a path is in the same folder as a file whose change is kept.
func (c *Changes) Beside(name string) bool {
	return slices.ContainsFunc(c.Kept, func(x Change) bool { return path.Dir(x.Path) == path.Dir(name) })
}

// Strike keeps the changes around a fault that begins or ends now.
func (c *Changes) Strike() {
	c.keep(c.Recent...)
	c.Recent, c.After, c.Apart = nil, changesAround, true
}

func (c *Changes) keep(list ...Change) {
	c.Kept = append(c.Kept, list...)
	if over := len(c.Kept) - maxChanges; over > 0 {
		c.Kept = append(c.Kept[:0], c.Kept[over:]...)
	}
}

// DiskChanges are those around the faults of all nodes, in their order.
func (s *State) DiskChanges() (list []record.DiskChange) {
	for _, n := range s.Nodes {
		kept := map[uint64]bool{}
		first := len(list)
		for _, some := range [][]Change{n.Changes.Kept, n.Changes.Removals} {
			for i := range some {
				if c := &some[i].DiskChange; !kept[c.Event] || !c.Removes() {
					kept[c.Event] = true
					list = append(list, *c)
				}
			}
		}
		slices.SortStableFunc(list[first:], func(a, b record.DiskChange) int { return cmp.Compare(a.Event, b.Event) })
	}
	return list
}
