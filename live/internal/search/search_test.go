package search

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
	"github.com/bloodhound-dst/bloodhound/live/internal/shadow"
)

// handler is a program over one input of 16 bits, as instrumented code would record it.
type handler struct {
	bv.Builder
	shadow.Path
	x *bv.Expr
}

func newHandler(values []uint64) *handler {
	h := &handler{Path: shadow.Path{Lost: map[uint32]int{}, Sides: make([]uint8, 10)}}
	value := uint64(5)
	if len(values) > 0 {
		value = values[0]
	}
	h.Inputs = []shadow.Input{{Name: "x", Width: 16, Value: value}}
	h.x = h.Input(0, 16, value)
	return h
}

// decides records a branch.
func (h *handler) decides(site uint32, cond *bv.Expr) bool {
	taken := cond.Concrete != 0
	h.Branches = append(h.Branches, shadow.Branch{Site: site, Taken: taken, Cond: cond})
	h.Sides[site] |= map[bool]uint8{true: shadow.TookTrue, false: shadow.TookFalse}[taken]
	return taken
}

// picks records that a value was fixed.
func (h *handler) picks(site uint32, e *bv.Expr) uint64 {
	h.Branches = append(h.Branches, shadow.Branch{Site: site, Kind: shadow.Pick, Taken: true, Cond: h.Eq(e, h.Const(e.Concrete, e.Width))})
	return e.Concrete
}

func TestSearch(t *testing.T) {
	bug := []Failure{{What: "bug"}}
	// Four paths, of which one has a bug: x above 1000, even, and 4242 or not.
	tree := func(values []uint64) Run {
		h := newHandler(values)
		var failures []Failure
		if h.decides(1, h.Ult(h.Const(1000, 16), h.x)) && h.decides(2, h.Eq(h.And(h.x, h.Const(1, 16)), h.Const(0, 16))) &&
			h.decides(3, h.Eq(h.x, h.Const(4242, 16))) {
			failures = bug
		}
		return Run{Path: h.Path, Failures: failures}
	}
	for _, c := range []struct {
		name     string
		paths    int
		run      func([]uint64) Run
		takes    int
		findings int
		left     string
	}{
		{"all paths", 100, tree, 4, 1, ""},
		{"a budget", 2, tree, 2, 0, "the budget ended"},
		{"a value that is fixed", 100, func(values []uint64) Run {
			h := newHandler(values)
			h.picks(1, h.And(h.x, h.Const(3, 16)))
			return Run{Path: h.Path}
		}, 4, 0, ""},
		{"one with many values", 100, func(values []uint64) Run {
			h := newHandler(values)
			h.picks(1, h.x)
			return Run{Path: h.Path}
		}, picksMax, 0, "some indices or lengths have more values than were tried"},
		{"a condition that the fixed value decides, too", 100, func(values []uint64) Run {
			h := newHandler(values)
			h.picks(1, h.x)
			if h.decides(2, h.Eq(h.x, h.Const(4242, 16))) {
				return Run{Path: h.Path, Failures: bug}
			}
			return Run{Path: h.Path}
		}, picksMax + 1, 1, "some indices or lengths have more values than were tried"},
		{"a value that is lost", 100, func(values []uint64) Run {
			r := tree(values)
			r.Path.Lost[1]++
			return r
		}, 4, 1, "some values lost their dependencies"},
		{"branches that are not recorded", 100, func(values []uint64) Run {
			r := tree(values)
			r.Path.Dropped++
			return r
		}, 4, 1, "some paths have more conditions than are recorded"},
		{"a state that is kept", 100, func() func([]uint64) Run {
			calls := 0
			return func(values []uint64) Run {
				h := newHandler(values)
				if calls++; calls == 1 {
					h.decides(1, h.Eq(h.x, h.Const(7, 16)))
				}
				return Run{Path: h.Path}
			}
		}(), 2, 0, "some runs did not take the branch that was solved for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Search(Options{Paths: c.paths}, c.run)
			if r.Paths != c.takes || len(r.Findings) != c.findings || r.Left != c.left {
				t.Errorf("%d paths, %d findings, left %q; want %d, %d, %q", r.Paths, len(r.Findings), r.Left, c.takes, c.findings, c.left)
			}
			for _, f := range r.Findings {
				if f.Inputs[0].Value != 4242 || strings.Contains(f.What, "panic") {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}
