package histories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What may be wrong with a restored copy.
var (
	restoredBroken   = failure.Declare("prefix/unreadable")
	restoredInvented = failure.Declare("prefix/invented")
	restoredTwice    = failure.Declare("prefix/twice")
	restoredGap      = failure.Declare("prefix/gap")
	restoredOld      = failure.Declare("prefix/old")
	restoredApart    = failure.Declare("prefix/apart")
	restoredOrder    = failure.Declare("prefix/order")
)

// copyVerb is the effect of an operation on a database and its copies.
type copyVerb uint8

const (
	noCopy copyVerb = iota
	copyCommit
	copyBackup // what was committed before it is in every later restore
	copyRestore
)

var copyVerbs = map[string]copyVerb{
	"commit": copyCommit, "append": copyCommit, "insert": copyCommit, "add": copyCommit,
	"backup": copyBackup, "confirm": copyBackup, "sync": copyBackup,
	"restore": copyRestore,
}

// database holds the values that were committed on one key, its backups, and the restored copies.
type database struct {
	key      string
	commits  map[string]*history.Operation // by value; not those that failed
	order    []*history.Operation
	backups  []*history.Operation
	restores []*restored
	doubled  string // a value that was committed twice
}

// restored is a copy and its values.
type restored struct {
	op     *history.Operation
	values []string
	has    map[string]bool
	broken bool
}

// prefixes judges that each restored copy has the values of a committed prefix, at or after the last confirmed backup.
func prefixes(p *world.Property, ops []history.Operation) verdict.Verdict {
	v := verdict.New(p)
	left := newLeftOut()
	databases := map[string]*database{}
	for i := range ops {
		o := &ops[i]
		verb := copyVerbs[strings.ToLower(o.Op)]
		if verb == noCopy || !left.chooses(&p.Check, o) {
			continue
		}
		d := databases[o.Key]
		if d == nil {
			d = &database{key: o.Key, commits: map[string]*history.Operation{}}
			databases[o.Key] = d
		}
		d.add(o, verb)
	}
	var worst *refutation
	restores, commits := 0, 0
	for _, key := range slices.Sorted(maps.Keys(databases)) {
		d := databases[key]
		if d.doubled != "" {
			return verdict.Undecided(p, "%s was committed twice on %q; commit each value once", verdict.Shorten(d.doubled), key)
		}
		restores += len(d.restores)
		commits += len(d.order)
		worst = earlier(worst, d.firstConflict(p.Check.Order == TotalOrder))
	}
	v.LeftOut = left.lines()
	if worst != nil {
		worst.violate(&v)
		return v
	}
	switch unjudged := left.unjudged(&p.Check, len(databases)); {
	case unjudged != "":
		v.Reason = unjudged
	case commits == 0:
		v.Idle, v.Reason = true, "nothing was committed"
	case restores == 0:
		v.Idle, v.Reason = true, "nothing was restored"
	default:
		v.Status = verdict.Holds
	}
	return v
}

// add enters an operation. Operations come in the order of their calls.
func (d *database) add(o *history.Operation, verb copyVerb) {
	switch {
	case o.Type == history.Fail:
	case verb == copyCommit:
		if d.commits[o.Input] != nil {
			d.doubled = o.Input
			return
		}
		d.commits[o.Input] = o
		d.order = append(d.order, o)
	case o.Type != history.Ok:
	case verb == copyBackup:
		d.backups = append(d.backups, o)
	default:
		d.restores = append(d.restores, &restored{op: o, values: received(o, receiveBatch), has: map[string]bool{},
			broken: o.Output != "" && !json.Valid([]byte(o.Output))})
	}
}

// firstConflict returns the first restore that is wrong. Restores come in the order of their calls.
func (d *database) firstConflict(ordered bool) *refutation {
	for _, r := range d.restores {
		if c := d.unjustified(r); c != nil {
			return c
		}
		if c := d.gap(r); c != nil {
			return c
		}
		if c := d.tooOld(r); c != nil {
			return c
		}
		if c := d.misordered(r); ordered && c != nil {
			return c
		}
	}
	return d.apart(ordered)
}

// unjustified finds a value of a copy that was not committed before, or is there twice.
func (d *database) unjustified(r *restored) *refutation {
	if r.broken {
		return d.conflict(r, restoredBroken.Cause().Claim("a restored copy cannot be read: %s", verdict.Shorten(r.op.Output)))
	}
	for _, value := range r.values {
		commit := d.commits[value]
		switch {
		case commit == nil || commit.Call > r.op.Return:
			return d.conflict(r, restoredInvented.Cause().Claim("a restored copy has %s, which was not committed", verdict.Shorten(value)))
		case r.has[value]:
			return d.conflict(r, restoredTwice.Cause().Claim("a restored copy has %s twice", verdict.Shorten(value)))
		}
		r.has[value] = true
	}
	return nil
}

// gap finds a value that a copy lacks although it has a later one.
func (d *database) gap(r *restored) *refutation {
	var latest *history.Operation // of the copy's commits, the one that was called last
	for _, value := range r.values {
		if c := d.commits[value]; latest == nil || c.Call > latest.Call {
			latest = c
		}
	}
	if latest == nil {
		return nil
	}
	for _, c := range d.order {
		if c.Type == history.Ok && c.Return < latest.Call && !r.has[c.Input] {
			return d.conflict(r, restoredGap.Cause().Claim("a restored copy has %s and lacks %s, which was committed before it",
				verdict.Shorten(latest.Input), verdict.Shorten(c.Input)), lineOf(c, c.Op+" "+verdict.Shorten(c.Input)+" -> ok"),
				lineOf(latest, latest.Op+" "+verdict.Shorten(latest.Input)))
		}
	}
	return nil
}

// tooOld finds a value that a copy lacks although a backup was confirmed after its commit.
func (d *database) tooOld(r *restored) *refutation {
	var last *history.Operation // of the backups that were confirmed, the one that was called last
	for _, b := range d.backups {
		if b.Return < r.op.Call && (last == nil || b.Call > last.Call) {
			last = b
		}
	}
	if last == nil {
		return nil
	}
	for _, c := range d.order {
		if c.Type == history.Ok && c.Return < last.Call && !r.has[c.Input] {
			return d.conflict(r, restoredOld.Cause().Claim("a restored copy lacks %s, which was committed before a confirmed backup",
				verdict.Shorten(c.Input)), lineOf(c, c.Op+" "+verdict.Shorten(c.Input)+" -> ok"), lineOf(last, last.Op+" -> ok"))
		}
	}
	return nil
}

// misordered finds two values of a copy in the other order than they were committed.
func (d *database) misordered(r *restored) *refutation {
	var latest *history.Operation // of the values so far, the one that was called last
	for _, value := range r.values {
		c := d.commits[value]
		if latest != nil && c.Type == history.Ok && c.Return < latest.Call {
			return d.conflict(r, restoredOrder.Cause().Claim("a restored copy has %s before %s, which was committed first",
				verdict.Shorten(latest.Input), verdict.Shorten(value)))
		}
		if latest == nil || c.Call > latest.Call {
			latest = c
		}
	}
	return nil
}

// apart finds two copies of which neither is a part of the other, so that they are of no common history.
func (d *database) apart(ordered bool) *refutation {
	list := slices.Clone(d.restores)
	slices.SortStableFunc(list, func(x, y *restored) int { return cmp.Compare(len(x.values), len(y.values)) })
	for i := 1; i < len(list); i++ {
		small, large := list[i-1], list[i]
		for k, value := range small.values {
			if large.has[value] && (!ordered || large.values[k] == value) {
				continue
			}
			late := large
			if small.op.Return > large.op.Return {
				late = small
			}
			return d.conflict(late, restoredApart.Cause().Claim("two restored copies have different histories: only one has %s at that position",
				verdict.Shorten(value)), restoreLine(small), restoreLine(large))
		}
	}
	return nil
}

func (d *database) conflict(r *restored, claim failure.Claim, lines ...string) *refutation {
	claim.Words = fmt.Sprintf("%q: %s", d.key, claim.Words)
	return refutationAt(r.op, claim, append(lines, restoreLine(r))...)
}

func restoreLine(r *restored) string {
	return lineOf(r.op, fmt.Sprintf("%s -> %s: %s", r.op.Op, counted(len(r.values), "value"), verdict.Shorten(r.op.Output)))
}
