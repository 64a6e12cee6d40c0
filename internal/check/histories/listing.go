package histories

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What may be wrong with a list of names.
var (
	unlisted    = failure.Declare("listing/missing")
	wrongListed = failure.Declare("listing/not-there")
)

// presence holds the operations on one key that could change whether its name is there.
type presence struct {
	puts, deletes changes
}

// changes are operations of one kind on a key, in the order of their calls; not those that failed.
type changes struct {
	ops []*history.Operation
	// latest has, for each operation, the latest return of it and those before; byReturn the acknowledged ones by their returns, each
	// as the one of these that was called last.
	latest   []uint64
	returns  []uint64
	byReturn []*history.Operation
}

// index prepares the operations to be asked about lists.
func (c *changes) index() {
	acked := []*history.Operation{}
	for i, o := range c.ops {
		c.latest = append(c.latest, o.Return)
		if i > 0 {
			c.latest[i] = max(c.latest[i-1], o.Return)
		}
		if o.Type == history.Ok {
			acked = append(acked, o)
		}
	}
	slices.SortFunc(acked, func(x, y *history.Operation) int { return cmp.Compare(x.Return, y.Return) })
	for i, o := range acked {
		c.returns = append(c.returns, o.Return)
		if i > 0 && c.byReturn[i-1].Call > o.Call {
			o = c.byReturn[i-1]
		}
		c.byReturn = append(c.byReturn, o)
	}
}

// lastBefore returns, of the operations that were acknowledged before an event, the one that was called last; nil if there is none.
func (c *changes) lastBefore(event uint64) *history.Operation {
	i, _ := slices.BinarySearch(c.returns, event)
	if i == 0 {
		return nil
	}
	return c.byReturn[i-1]
}

// latestReturn returns the latest return of the operations that were called before an event, and whether there are any.
func (c *changes) latestReturn(event uint64) (uint64, bool) {
	i, _ := slices.BinarySearchFunc(c.ops, event, func(o *history.Operation, event uint64) int { return cmp.Compare(o.Call, event) })
	if i == 0 {
		return 0, false
	}
	return c.latest[i-1], true
}

// namesListed judges that lists of names have each name that was there throughout, and none that was not there at any moment of the
// list: list after write, as object stores promise it. A list of key K has the names that begin with K.
func namesListed(p *world.Property, ops []history.Operation) verdict.Verdict {
	v := verdict.New(p)
	left := newLeftOut()
	names := map[string]*presence{}
	var lists []*history.Operation
	for i := range ops {
		o := &ops[i]
		if o.Type == history.Fail || !left.chooses(&p.Check, o) {
			continue
		}
		entry := func() *presence {
			if names[o.Key] == nil {
				names[o.Key] = &presence{}
			}
			return names[o.Key]
		}
		switch kind, list := kindOf(o.Op), strings.EqualFold(o.Op, "list"); {
		case list && o.Type == history.Ok:
			lists = append(lists, o)
		case list:
		case kind == write:
			entry().puts.ops = append(entry().puts.ops, o)
		case kind == remove:
			entry().deletes.ops = append(entry().deletes.ops, o)
		case kind != read:
			reason := "operation \"" + o.Op + "\" has no model"
			left.keys[o.Key] = omission{reason, reason, 1}
		}
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		names[name].puts.index()
		names[name].deletes.index()
		if left.judges(name) {
			sorted = append(sorted, name)
		}
	}
	slices.Sort(sorted)
	v.LeftOut = left.lines()
	slices.SortFunc(lists, func(x, y *history.Operation) int { return cmp.Compare(x.Return, y.Return) })
	tested := false
	for _, l := range lists {
		got := map[string]bool{}
		for _, name := range received(l, receiveBatch) {
			got[name] = true
			if names[name] == nil && left.judges(name) {
				v.Violate(l.Return, l.ReturnTimeNs, wrongListed.Cause().Claim("list %q has %s, which was never stored", l.Key, verdict.Shorten(name)))
				v.Evidence = []string{lineOf(l, "list")}
				return v
			}
		}
		from, _ := slices.BinarySearch(sorted, l.Key)
		for _, name := range sorted[from:] {
			if !strings.HasPrefix(name, l.Key) {
				break
			}
			if wrong(&v, l, name, names[name], got[name]) {
				return v
			}
			tested = tested || names[name].certain(l) != nil
		}
	}
	switch {
	case len(lists) == 0:
		v.Idle, v.Reason = true, "no list was made"
	case !tested:
		v.Idle, v.Reason = true, "no name was certainly there when a list was made"
	default:
		v.Status = verdict.Holds
	}
	return v
}

// wrong violates v if a list cannot have been right about a name.
func wrong(v *verdict.Verdict, l *history.Operation, name string, n *presence, there bool) bool {
	if put := n.certain(l); put != nil && !there {
		v.Violate(l.Return, l.ReturnTimeNs, unlisted.Cause().Claim("list %q lacks %s, which was there", l.Key, verdict.Shorten(name)))
		v.Evidence = []string{lineOf(put, put.Op+" "+verdict.Shorten(name)+" -> ok"), lineOf(l, "list without it")}
		return true
	}
	if gone, never := n.absent(l); there && (gone != nil || never) {
		v.Violate(l.Return, l.ReturnTimeNs, wrongListed.Cause().Claim("list %q has %s, which was not there", l.Key, verdict.Shorten(name)))
		v.Evidence = []string{lineOf(l, "list with it")}
		if gone != nil {
			v.Evidence = append([]string{lineOf(gone, gone.Op+" "+verdict.Shorten(name)+" -> ok")}, v.Evidence...)
		}
		return true
	}
	return false
}

// certain returns a write because of which the name was there at each moment of a list, or nil: it was acknowledged before, and
// each delete was certainly before it, or after the list. The write that was called last decides.
func (n *presence) certain(l *history.Operation) *history.Operation {
	put := n.puts.lastBefore(l.Call)
	if put == nil {
		return nil
	}
	if latest, any := n.deletes.latestReturn(l.Return); any && latest > put.Call {
		return nil
	}
	return put
}

// absent reports whether the name was there at no moment of a list: because of a delete, or since no write had begun.
func (n *presence) absent(l *history.Operation) (gone *history.Operation, never bool) {
	latest, any := n.puts.latestReturn(l.Return)
	if !any {
		return nil, true
	}
	gone = n.deletes.lastBefore(l.Call)
	if gone == nil || latest > gone.Call {
		return nil, false
	}
	return gone, false
}
