package records

// Change says how a failure differs between two codes.
type Change string

// Changes.
const (
	NewChange       Change = "new"       // it shows in the other code, and is not known to show in the one
	UnchangedChange Change = "unchanged" // it shows in both
	FixedChange     Change = "fixed"     // it shows in the one, and its replay on the other is clean in the same environment
	UnclearChange   Change = "unclear"   // it shows in the one, and nothing follows for the other
	NoChange        Change = ""          // it shows in neither
)

// Changes lists all, in the order in which people want to see them.
var Changes = []Change{NewChange, FixedChange, UnchangedChange, UnclearChange}

// Changed compares two codes with regard to a failure.
func (f *FailureView) Changed(from, to ID) Change {
	there, here, clean := false, false, false
	m := f.Matrix()
	for p, c := range m {
		there = there || p.Code == from && c.Result == Reproduced
		here = here || p.Code == to && c.Result == Reproduced
		clean = clean || p.Code == to && c.Result == Clean && m[Place{from, p.Env}].Result == Reproduced
	}
	switch {
	case here && there:
		return UnchangedChange
	case here:
		return NewChange
	case there && clean:
		return FixedChange
	case there:
		return UnclearChange
	}
	return NoChange
}

// CodeOf is the newest code of a commit with the changes of a digest, none if that is empty, among some codes in the order of their age; empty if
// there is none.
func (v *View) CodeOf(commit, dirty string, among []ID) ID {
	return v.newestCode(among, func(c *Code) bool { return c.Commit == commit && c.Dirty == dirty })
}

// WithChanges is the newest code of a commit with any changes, among some codes in the order of their age; empty if there is none.
func (v *View) WithChanges(commit string, among []ID) ID {
	return v.newestCode(among, func(c *Code) bool { return c.Commit == commit && c.Dirty != "" })
}

// LastMain is the newest code of the main line without changes besides another, among some codes in the order of their age; empty if there is none.
func (v *View) LastMain(besides ID, among []ID) ID {
	return v.newestCode(among, func(c *Code) bool { return c.Line == "main" && c.Dirty == "" && c != v.Codes[besides] })
}

func (v *View) newestCode(among []ID, is func(*Code) bool) ID {
	for _, id := range among {
		if c := v.Codes[id]; c != nil && is(c) {
			return id
		}
	}
	return ""
}
