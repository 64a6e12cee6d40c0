package records

import (
	"cmp"
	"maps"
	"slices"
)

// Standing classifies a failure by its results on the codes on which it was tried.
type Standing string

const (
	// Ongoing: it shows in the newest code in which anything is known of it.
	Ongoing Standing = "ongoing"
	// Fixed: its tape was replayed, without a violation, on a code that follows one in which it showed in the same environment, and it shows in no
	// code that follows that one.
	Fixed Standing = "fixed"
	// Unclear: newer codes were tried, and nothing follows from it: the tape makes another run there, or it was tried in another environment only.
	Unclear Standing = "unclear"
)

// Cell summarises the results of a failure at a place.
type Cell struct {
	Result string // Reproduced, Clean, Diverged, Varies
	AtMs   int64
	Times  int // how many replays and findings say so
}

// Matrix gives what is known of a failure, by code and environment. Where it showed once, it shows, whatever other replays gave.
func (f *FailureView) Matrix() map[Place]Cell {
	m := map[Place]Cell{}
	take := func(p Place, result string, at int64) {
		c, had := m[p]
		switch {
		case !had || MoreSaid(c.Result, result) != c.Result:
			c = Cell{result, at, 1}
		case result == c.Result:
			c.Times++
			c.AtMs = max(c.AtMs, at)
		}
		m[p] = c
	}
	for _, x := range f.Files {
		if x.Imported == "" {
			take(Place{x.Code, x.Env}, Reproduced, x.AtMs)
		}
	}
	for _, r := range f.Replays {
		take(Place{r.Code, r.Env}, r.Result, r.AtMs)
	}
	return m
}

// MoreSaid is the one of two results that says more; "" says nothing.
func MoreSaid(a, b string) string {
	bySaying := []string{Varies, Diverged, Clean, Reproduced}
	if slices.Index(bySaying, b) > slices.Index(bySaying, a) {
		return b
	}
	return a
}

// Standing says what has become of a failure.
func (v *View) Standing(f *FailureView) Standing {
	m := f.Matrix()
	var shown, clean []Place
	for p, c := range m {
		switch c.Result {
		case Reproduced:
			shown = append(shown, p)
		case Clean:
			clean = append(clean, p)
		}
	}
	fixed := func(c Place) bool {
		before := slices.ContainsFunc(shown, func(s Place) bool { return s.Env == c.Env && v.Follows(c.Code, s.Code) })
		after := slices.ContainsFunc(shown, func(s Place) bool { return s.Code == c.Code || v.Follows(s.Code, c.Code) })
		return before && !after
	}
	if slices.ContainsFunc(clean, fixed) {
		return Fixed
	}
	newest := v.newest(slices.Collect(maps.Keys(m)))
	if len(shown) == 0 || newest == "" {
		return Unclear
	}
	if slices.ContainsFunc(shown, func(p Place) bool { return p.Code == newest }) {
		return Ongoing
	}
	return Unclear
}

// newest gives the newest code of places.
func (v *View) newest(places []Place) ID {
	newest := ID("")
	for _, p := range places {
		if v.Codes[p.Code] != nil && (newest == "" || v.compareAge(p.Code, newest) < 0) {
			newest = p.Code
		}
	}
	return newest
}

// compareAge orders known codes, the newest first.
func (v *View) compareAge(a, b ID) int {
	x, y := v.Codes[a], v.Codes[b]
	return cmp.Or(cmp.Compare(y.CommitMs, x.CommitMs), cmp.Compare(y.AtMs, x.AtMs), cmp.Compare(a, b))
}

// CodesByAge lists codes, the newest first.
func (v *View) CodesByAge() []ID {
	return slices.SortedFunc(maps.Keys(v.Codes), v.compareAge)
}

// Follows reports whether a code is another than b and has all commits of b. Changes that are not committed follow their commit, and nothing follows
// them.
func (v *View) Follows(a, b ID) bool {
	x, y := v.Codes[a], v.Codes[b]
	if a == b || x == nil || y == nil || x.Commit == "" || y.Commit == "" || y.Dirty != "" {
		return false
	}
	if x.Commit == y.Commit {
		return x.Dirty != ""
	}
	seen := map[string]bool{x.Commit: true}
	queue := []string{x.Commit}
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		for _, parent := range v.Commits[c] {
			if parent == y.Commit {
				return true
			}
			if !seen[parent] {
				seen[parent] = true
				queue = append(queue, parent)
			}
		}
	}
	return false
}

// Best is the record of a failure that is best to look at: shrunk, with the fewest decisions, found first.
func (f *FailureView) Best() *Failure {
	if len(f.Files) == 0 {
		return nil
	}
	return slices.MinFunc(f.Files, func(a, b *Failure) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(a.Decisions, b.Decisions), cmp.Compare(a.AtMs, b.AtMs),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Worker, b.Worker))
	})
}

// First is the record of when a failure was found first.
func (f *FailureView) First() *Failure {
	if len(f.Files) == 0 {
		return nil
	}
	return slices.MinFunc(f.Files, func(a, b *Failure) int {
		return cmp.Or(cmp.Compare(a.AtMs, b.AtMs), cmp.Compare(a.File, b.File), cmp.Compare(a.Worker, b.Worker))
	})
}

// Bisected is the latest that is known of the commit that introduced the failure, or that fixed it; nil if nothing is.
func (f *FailureView) Bisected(what string) (latest *Bisected) {
	for _, b := range f.Bisects {
		if b.What == what && (latest == nil || cmp.Or(cmp.Compare(b.AtMs, latest.AtMs), compareJSON(b, latest)) > 0) {
			latest = b
		}
	}
	return latest
}

// State returns the state that people gave a failure: the latest note with a state decides.
func (f *FailureView) State() string {
	state, at := Open, int64(-1)
	for _, n := range f.Notes {
		if n.State != "" && (n.AtMs > at || n.AtMs == at && n.State > state) {
			state, at = n.State, n.AtMs
		}
	}
	return state
}
