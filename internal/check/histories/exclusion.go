package histories

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What may be wrong with a lock or a lease.
var (
	heldByTwo    = failure.Declare("exclusion/held-by-two")
	leaseRevoked = failure.Declare("exclusion/revoked")
	tokenAgain   = failure.Declare("exclusion/token")
	staleHolder  = failure.Declare("exclusion/stale-holder")
)

// lockVerb is the effect of an operation on a lock.
type lockVerb uint8

const (
	noLock lockVerb = iota
	lockAcquire
	lockRelease
	lockRenew
	lockUse // of what the lock protects, with a fencing token
)

var lockVerbs = map[string]lockVerb{
	"acquire": lockAcquire, "lock": lockAcquire, "grant": lockAcquire,
	"release": lockRelease, "unlock": lockRelease, "revoke": lockRelease,
	"renew": lockRenew, "keepalive": lockRenew,
	"use": lockUse,
}

// hold is a time in which a client knows that it holds a lock: since an answer said so, until its lease may have expired,
// counted from its request, or until it asks to release the lock (Gray, Cheriton: Leases, SOSP 1989).
type hold struct {
	by       string // the client without the number of its life
	from, to int64  // virtual time, in ns; to is not part of it
	since    *history.Operation
}

// latch holds the operations on one lock.
type latch struct {
	key      string
	holds    []hold
	acquired []*history.Operation
	uses     []*history.Operation
	refused  []*history.Operation // renewals whose answer was that the lease is gone
	open     map[string][]int     // by client: its holds in holds that it has not given up
}

// endOfTime is when a hold without a lease ends, in ns.
const endOfTime = int64(1)<<62 - 1

// exclusive judges that no two clients know at one time that they hold a lock, that leases which are renewed in time are kept,
// and that fencing tokens increase.
func exclusive(p *world.Property, ops []history.Operation) verdict.Verdict {
	v := verdict.New(p)
	left := newLeftOut()
	latches := map[string]*latch{}
	for i := range ops {
		o := &ops[i]
		verb := lockVerbs[strings.ToLower(o.Op)]
		if verb == noLock || !left.chooses(&p.Check, o) {
			continue
		}
		l := latches[o.Key]
		if l == nil {
			l = &latch{key: o.Key, open: map[string][]int{}}
			latches[o.Key] = l
		}
		if err := l.add(o, verb); err != nil {
			return verdict.Undecided(p, "%v", err)
		}
	}
	var worst *refutation
	acquired, contended := 0, false
	for _, key := range slices.Sorted(maps.Keys(latches)) {
		l := latches[key]
		acquired += len(l.acquired)
		contended = contended || l.contended()
		for _, c := range []*refutation{l.overlap(), l.revoked(), l.tokens(), l.stale()} {
			worst = earlier(worst, c)
		}
	}
	v.LeftOut = left.lines()
	if worst != nil {
		worst.violate(&v)
		return v
	}
	switch unjudged := left.unjudged(&p.Check, len(latches)); {
	case unjudged != "":
		v.Reason = unjudged
	case acquired == 0:
		v.Idle, v.Reason = true, "no lock was acquired"
	case !contended:
		v.Idle, v.Reason = true, "no two clients acquired the same lock, so none could be held twice"
	default:
		v.Status = verdict.Holds
	}
	return v
}

// holder is the client's name without the number of its life: c0.1 goes on as c0.0 did.
func holder(client string) string {
	name, life, ok := strings.Cut(client, ".")
	if _, err := strconv.Atoi(life); ok && err == nil {
		return name
	}
	return client
}

// add enters an operation. Operations come in the order of their calls.
func (l *latch) add(o *history.Operation, verb lockVerb) error {
	who := holder(o.Client)
	positive := o.Type == history.Ok && o.Output != "false"
	switch verb {
	case lockAcquire, lockRenew:
		lease := endOfTime
		if o.Input != "" {
			d, err := time.ParseDuration(o.Input)
			if err != nil || d <= 0 {
				return fmt.Errorf("%s of %q at event %d has the lease %s; write a duration such as 5s", o.Op, o.Key, o.Call, verdict.Shorten(o.Input))
			}
			lease = d.Nanoseconds()
		}
		if verb == lockAcquire {
			l.end(who, o)
		}
		switch {
		case !positive:
			if verb == lockRenew && o.Type == history.Ok {
				l.refused = append(l.refused, o)
			}
			return nil
		case verb == lockAcquire:
			l.acquired = append(l.acquired, o)
		}
		l.hold(who, o, min(o.CallTimeNs+min(lease, endOfTime-o.CallTimeNs), endOfTime))
	case lockRelease:
		l.end(who, o)
	case lockUse:
		if o.Type == history.Ok {
			l.uses = append(l.uses, o)
		}
	}
	return nil
}

// hold enters a hold that begins with an answer.
func (l *latch) hold(who string, o *history.Operation, to int64) {
	if to > o.ReturnTimeNs {
		l.open[who] = append(l.open[who], len(l.holds))
		l.holds = append(l.holds, hold{by: who, from: o.ReturnTimeNs, to: to, since: o})
	}
}

// end ends a client's holds when it asks to release the lock, or for another one.
func (l *latch) end(who string, o *history.Operation) {
	for _, i := range l.open[who] {
		l.holds[i].to = min(l.holds[i].to, o.CallTimeNs)
	}
	delete(l.open, who)
}

// contended reports whether two clients acquired the lock.
func (l *latch) contended() bool {
	for _, o := range l.acquired {
		if holder(o.Client) != holder(l.acquired[0].Client) {
			return true
		}
	}
	return false
}

// overlap finds two clients that hold the lock at one time.
func (l *latch) overlap() *refutation {
	list := slices.Clone(l.holds)
	slices.SortStableFunc(list, func(x, y hold) int { return cmp.Compare(x.from, y.from) })
	// Of the holds before, the two that last longest, of different clients.
	var longest, other *hold
	for i := range list {
		h := &list[i]
		if h.from >= h.to {
			continue
		}
		rival := longest
		if rival != nil && rival.by == h.by {
			rival = other
		}
		if rival != nil && rival.to > h.from {
			claim := heldByTwo.Cause().Claim("clients %s and %s hold %q at the same time", rival.by, h.by, l.key)
			return refutationAt(h.since, claim, rival.words(), h.words())
		}
		switch {
		case longest == nil || h.to > longest.to && h.by == longest.by:
			longest = h
		case h.to > longest.to:
			longest, other = h, longest
		case h.by != longest.by && (other == nil || h.to > other.to):
			other = h
		}
	}
	return nil
}

func (h *hold) words() string {
	until := "until it asks for more"
	if h.to < endOfTime {
		until = "until " + verdict.Seconds(h.to)
	}
	return lineOf(h.since, h.since.Op+" -> ok") + "; holds it " + until
}

// revoked finds a lease that was gone although it was kept.
func (l *latch) revoked() *refutation {
	for _, o := range l.refused {
		for i := range l.holds {
			h := &l.holds[i]
			if h.by != holder(o.Client) || h.from > o.CallTimeNs || o.ReturnTimeNs >= h.to {
				continue
			}
			claim := leaseRevoked.Cause(o.Op).Claim("%q: the lease of client %s was gone %s before it could expire", l.key, h.by,
				verdict.Seconds(h.to-o.ReturnTimeNs))
			return refutationAt(o, claim, h.words(), lineOf(o, o.Op+" -> gone"))
		}
	}
	return nil
}

// token is the number that an answer has, for fencing.
func token(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// tokens finds a token that is not higher than one that was given before.
func (l *latch) tokens() *refutation {
	return notIncreasing(l.acquired, tokenAgain, func(o *history.Operation) (int64, bool) { return token(o.Output) }, false)
}

// stale finds a use of an old token after one of a newer token.
func (l *latch) stale() *refutation {
	return notIncreasing(l.uses, staleHolder, func(o *history.Operation) (int64, bool) { return token(o.Input) }, true)
}

// notIncreasing finds an operation with a lower number than an operation that returned before it was called. Unless equal is set,
// it also finds two operations with the same number, even if they overlap.
func notIncreasing(ops []*history.Operation, code failure.Code, number func(*history.Operation) (int64, bool), equal bool) *refutation {
	returned := slices.Clone(ops)
	slices.SortFunc(returned, func(x, y *history.Operation) int { return cmp.Compare(x.Return, y.Return) })
	var highest *history.Operation
	k, first := 0, map[int64]*history.Operation{}
	conflict := func(a, b *history.Operation) *refutation {
		x, _ := number(a)
		y, _ := number(b)
		words := fmt.Sprintf("%q: client %s got the number %d after client %s had got %d", b.Key, b.Client, y, a.Client, x)
		if code == staleHolder {
			words = fmt.Sprintf("%q: the token %d of client %s was accepted after the token %d of client %s", b.Key, y, b.Client, x, a.Client)
		}
		if x == y {
			words = fmt.Sprintf("%q: clients %s and %s both got the number %d", b.Key, a.Client, b.Client, x)
		}
		late := b
		if a.Return > b.Return {
			late = a
		}
		return refutationAt(late, code.Cause().Claim("%s", words), numberLine(a, x), numberLine(b, y))
	}
	for _, o := range ops {
		n, ok := number(o)
		if !ok {
			continue
		}
		for ; k < len(returned) && returned[k].Return < o.Call; k++ {
			m, ok := number(returned[k])
			if !ok {
				continue
			}
			if highest == nil {
				highest = returned[k]
			} else if h, _ := number(highest); m > h {
				highest = returned[k]
			}
		}
		if highest != nil {
			if h, _ := number(highest); n < h {
				return conflict(highest, o)
			}
		}
		if equal {
			continue
		}
		if before := first[n]; before != nil {
			return conflict(before, o)
		}
		first[n] = o
	}
	return nil
}

func numberLine(o *history.Operation, n int64) string {
	return lineOf(o, fmt.Sprintf("%s %q: number %d", o.Op, o.Key, n))
}
