package histories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What may be wrong with the events of a watch. The names are those of etcd's guarantees.
var (
	watchInvented  = failure.Declare("watch/invented")
	watchOrder     = failure.Declare("watch/unordered")
	watchTwice     = failure.Declare("watch/not-unique")
	watchMissed    = failure.Declare("watch/missed")
	watchSplit     = failure.Declare("watch/not-atomic")
	watchApart     = failure.Declare("watch/apart")
	watchRealTime  = failure.Declare("watch/real-time")
	watchBeforeRev = failure.Declare("watch/too-early")
)

// change is one put or delete of a key: a watch reports it, or a write made it.
type change struct {
	Key      string `json:"key"`
	Type     string `json:"type"` // put or delete
	Value    string `json:"value"`
	Revision int64  `json:"revision"`
}

// watcher is one watch: a client from its watch to its next one.
type watcher struct {
	start   *history.Operation
	pattern string
	from    int64 // revision; 0 if it is not known
	batches []*batch
	idle    *history.Operation // its last look, if that found nothing
}

// batch holds the changes that one look of a watcher returned.
type batch struct {
	op      *history.Operation
	changes []change
}

// watching is a history with watches.
type watching struct {
	keys     []string             // patterns of the keys that are judged
	writes   []*history.Operation // not those that failed
	watchers []*watcher
	byClient map[string]*watcher
	// known is the log that is known: what watchers saw, and what was acknowledged with a revision.
	known map[int64][]change
	acked map[string]*history.Operation // by key, type and value
	sent  map[string]*history.Operation
	seen  map[change]*history.Operation // the first look that returned it
	bad   string
}

// watched judges that watches see each change of their keys, from their first revision on, once, in order, and with all changes of a
// revision together: the guarantees that etcd documents for watches (etcd.io/docs, "KV API guarantees").
func watched(p *world.Property, ops []history.Operation, cut string) verdict.Verdict {
	v := verdict.New(p)
	w := watchesOf(&p.Check, ops)
	if w.bad != "" {
		return verdict.Undecided(p, "%s", w.bad)
	}
	if c := w.firstConflict(); c != nil {
		c.violate(&v)
		return v
	}
	if c := w.missedAtEnd(); c != nil {
		c.violate(&v)
		return verdict.AtEnd(p, v, cut)
	}
	events := 0
	for _, x := range w.watchers {
		for _, b := range x.batches {
			events += len(b.changes)
		}
	}
	switch unread := w.unread(); {
	case len(w.watchers) == 0:
		v.Idle, v.Reason = true, "nothing was watched"
	case events == 0:
		v.Idle, v.Reason = true, "no watch saw a change"
	case unread != "":
		v.Reason = unread
	default:
		v.Status = verdict.Holds
	}
	return v
}

// changeName identifies a write: values differ.
func changeName(key, kind, value string) string { return kind + "\x00" + key + "\x00" + value }

func watchesOf(c *world.Check, ops []history.Operation) *watching {
	w := &watching{keys: c.KeyPatterns, byClient: map[string]*watcher{}, known: map[int64][]change{}, acked: map[string]*history.Operation{},
		sent: map[string]*history.Operation{}, seen: map[change]*history.Operation{}}
	for i := range ops {
		o := &ops[i]
		if o.Type == history.Fail {
			continue
		}
		switch name := strings.ToLower(o.Op); {
		case name == "watch":
			w.watch(o)
		case name == "observe":
			w.observe(o)
		case (kindOf(o.Op) == write || kindOf(o.Op) == remove) && KeyMatches(w.keys, o.Key):
			w.write(o)
		}
	}
	for _, list := range w.known {
		slices.SortFunc(list, func(x, y change) int { return cmp.Compare(x.Key, y.Key) })
	}
	return w
}

func (w *watching) watch(o *history.Operation) {
	x := &watcher{start: o, pattern: o.Key}
	if o.Input != "" {
		from, err := strconv.ParseInt(o.Input, 10, 64)
		if err != nil || from < 0 {
			w.bad = cmp.Or(w.bad, fmt.Sprintf("watch of %q at event %d begins at %s; write a revision, a number", o.Key, o.Call, verdict.Shorten(o.Input)))
		}
		x.from = from
	}
	w.watchers = append(w.watchers, x)
	w.byClient[o.Client] = x
}

func (w *watching) observe(o *history.Operation) {
	x := w.byClient[o.Client]
	if x == nil {
		w.bad = cmp.Or(w.bad, fmt.Sprintf("client %s observes at event %d and has no watch", o.Client, o.Call))
		return
	}
	if o.Type != history.Ok {
		return // a client goes on as another one, with a watch of its own
	}
	b := &batch{op: o}
	if o.Output != "" {
		if err := json.Unmarshal([]byte(o.Output), &b.changes); err != nil {
			w.bad = cmp.Or(w.bad, fmt.Sprintf("client %s observes %s at event %d, which is not a list of changes: %v", o.Client,
				verdict.Shorten(o.Output), o.Return, err))
		}
	}
	if x.idle = nil; len(b.changes) == 0 {
		x.idle = o
		return
	}
	b.changes = slices.DeleteFunc(b.changes, func(c change) bool { return !KeyMatches(w.keys, c.Key) })
	if len(b.changes) == 0 {
		return
	}
	x.batches = append(x.batches, b)
	for _, c := range b.changes {
		w.know(c)
		if before := w.seen[c]; before == nil || o.Return < before.Return {
			w.seen[c] = o
		}
	}
}

func (w *watching) write(o *history.Operation) {
	kind := "put"
	if kindOf(o.Op) == remove {
		kind = "delete"
	}
	w.writes = append(w.writes, o)
	name := changeName(o.Key, kind, o.Input)
	if kind == "delete" {
		return // deletes have no value to tell them apart; only their revisions do
	}
	w.sent[name] = o
	if o.Type != history.Ok {
		return
	}
	w.acked[name] = o
	if revision, err := strconv.ParseInt(o.Output, 10, 64); err == nil {
		w.know(change{o.Key, kind, o.Input, revision})
	}
}

// know enters a change into the log.
func (w *watching) know(c change) {
	if !slices.Contains(w.known[c.Revision], c) {
		w.known[c.Revision] = append(w.known[c.Revision], c)
	}
}

// covers reports whether a watch is about a key: a pattern with * and ?, or the key itself.
func (x *watcher) covers(key string) bool { return KeyMatches([]string{x.pattern}, key) }

// firstConflict returns the violation that shows first among those that later events cannot undo.
func (w *watching) firstConflict() (first *refutation) {
	consider := func(c *refutation) { first = earlier(first, c) }
	if c := w.apart(); c != nil {
		return c // there is no log to compare with
	}
	consider(w.invented())
	for _, x := range w.watchers {
		consider(x.disordered())
		consider(w.missed(x))
	}
	if first == nil {
		consider(w.realTime())
	}
	return first
}

// apart finds two different changes of one key at one revision, or one write at two revisions.
func (w *watching) apart() *refutation {
	where := map[string]change{}
	for _, revision := range slices.Sorted(maps.Keys(w.known)) {
		list := w.known[revision]
		for i, c := range list {
			if i > 0 && list[i-1].Key == c.Key {
				return w.shown(w.lookOf(list[i-1], c), watchApart.Cause().Claim("%q at revision %d is both %s and %s", c.Key, revision,
					changeWords(list[i-1]), changeWords(c)))
			}
			name := changeName(c.Key, c.Type, c.Value)
			before, twice := where[name]
			if c.Type == "put" && twice {
				return w.shown(w.lookOf(before, c), watchApart.Cause().Claim("one write, %s of %q, is at the revisions %d and %d", changeWords(c), c.Key,
					before.Revision, revision))
			}
			where[name] = c
		}
	}
	return nil
}

// lookOf returns the operation that showed one of two changes.
func (w *watching) lookOf(a, b change) *history.Operation {
	for _, c := range []change{b, a} {
		if o := w.seen[c]; o != nil {
			return o
		}
	}
	return w.acked[changeName(b.Key, b.Type, b.Value)]
}

// invented finds a change that no write can have made before it was seen.
func (w *watching) invented() (first *refutation) {
	for _, x := range w.watchers {
		for _, b := range x.batches {
			for _, c := range b.changes {
				sent := w.sent[changeName(c.Key, c.Type, c.Value)]
				if c.Type != "put" || sent != nil && sent.Call < b.op.Return {
					continue
				}
				claim := watchInvented.Cause().Claim("client %s saw %s of %q, which was never written", b.op.Client, changeWords(c), c.Key)
				first = earlier(first, w.shown(b.op, claim))
			}
		}
	}
	return first
}

// disordered finds a watch whose revisions go back, repeat, begin too early, or are split.
func (x *watcher) disordered() *refutation {
	var last change
	var before *batch
	for _, b := range x.batches {
		for i, c := range b.changes {
			problem, code := "", failure.Code("")
			switch {
			case x.from > 0 && c.Revision < x.from:
				code, problem = watchBeforeRev, fmt.Sprintf("revision %d, although the watch begins at %d", c.Revision, x.from)
			case before == nil && i == 0:
			case c.Revision < last.Revision:
				code, problem = watchOrder, fmt.Sprintf("revision %d after %d", c.Revision, last.Revision)
			case c.Revision == last.Revision && i == 0:
				code, problem = watchSplit, fmt.Sprintf("revision %d again in its next answer", c.Revision)
				if slices.Contains(before.changes, c) {
					code = watchTwice
				}
			case c.Revision == last.Revision && slices.Contains(b.changes[:i], c):
				code, problem = watchTwice, fmt.Sprintf("revision %d of %q twice", c.Revision, c.Key)
			}
			if code != "" {
				r := refutationAt(b.op, code.Cause().Claim("client %s, which watches %q, saw %s", b.op.Client, x.pattern, problem))
				if before != nil {
					r.evidence = append([]string{batchLine(before)}, batchLine(b))
				} else {
					r.evidence = []string{batchLine(b)}
				}
				return r
			}
			last = c
		}
		before = b
	}
	return nil
}

// missed finds a change that a watch passed over: it saw a later one, and not this one.
func (w *watching) missed(x *watcher) *refutation {
	if len(x.batches) == 0 {
		return nil
	}
	saw := map[change]bool{}
	from := x.from
	for _, b := range x.batches {
		for _, c := range b.changes {
			saw[c] = true
			if from == 0 {
				from = c.Revision
			}
		}
	}
	revisions := slices.Sorted(maps.Keys(w.known))
	next := 0 // the batch whose revisions come next
	for _, revision := range revisions {
		for next < len(x.batches) && last(x.batches[next].changes).Revision < revision {
			next++
		}
		if next == len(x.batches) {
			return nil
		}
		for _, c := range w.known[revision] {
			if revision < from || !x.covers(c.Key) || saw[c] {
				continue
			}
			b := x.batches[next]
			r := refutationAt(b.op, watchMissed.Cause().Claim("client %s, which watches %q, saw revision %d and missed %s of %q at revision %d",
				b.op.Client, x.pattern, last(b.changes).Revision, changeWords(c), c.Key, revision))
			r.evidence = []string{w.originOf(c), batchLine(b)}
			return r
		}
	}
	return nil
}

func last(list []change) change { return list[len(list)-1] }

// originOf tells where a change is known from.
func (w *watching) originOf(c change) string {
	if o := w.acked[changeName(c.Key, c.Type, c.Value)]; o != nil {
		return lineOf(o, fmt.Sprintf("%s %q %s -> revision %d", o.Op, o.Key, verdict.Shorten(o.Input), c.Revision))
	}
	if o := w.seen[c]; o != nil {
		return lineOf(o, fmt.Sprintf("observe -> %s of %q at revision %d", changeWords(c), c.Key, c.Revision))
	}
	return fmt.Sprintf("%s of %q at revision %d", changeWords(c), c.Key, c.Revision)
}

// realTime finds a write with a lower revision than another one that had returned, or had been seen, before it was called.
func (w *watching) realTime() *refutation {
	type placedChange struct {
		c    change
		from uint64 // the write's call
		to   uint64 // the earliest event at which it is known to be done
	}
	var list []placedChange
	for _, changes := range w.known {
		for _, c := range changes {
			name := changeName(c.Key, c.Type, c.Value)
			sent := w.sent[name]
			if c.Type != "put" || sent == nil {
				continue
			}
			to := uint64(history.Pending)
			if o := w.acked[name]; o != nil {
				to = o.Return
			}
			if o := w.seen[c]; o != nil {
				to = min(to, o.Return)
			}
			list = append(list, placedChange{c, sent.Call, to})
		}
	}
	slices.SortFunc(list, func(x, y placedChange) int {
		return cmp.Or(cmp.Compare(x.c.Revision, y.c.Revision), cmp.Compare(y.from, x.from)) // of equal revisions, the later call first
	})
	var latest *placedChange // of the lower or equal revisions, the one that was called last
	for i := range list {
		m := &list[i]
		if latest != nil && latest.c.Revision <= m.c.Revision && m.to < latest.from {
			late := w.sent[changeName(latest.c.Key, latest.c.Type, latest.c.Value)]
			r := refutationAt(late, watchRealTime.Cause().Claim(
				"%s of %q has revision %d, although %s of %q, which returned before it was called, has revision %d",
				changeWords(latest.c), latest.c.Key, latest.c.Revision, changeWords(m.c), m.c.Key, m.c.Revision))
			r.evidence = []string{w.originOf(m.c), w.originOf(latest.c)}
			if late.Return == history.Pending {
				r.event, r.timeNs = late.Call, late.CallTimeNs
			}
			return r
		}
		if latest == nil || m.from > latest.from {
			latest = m
		}
	}
	return nil
}

// owed lists the acknowledged writes that a watch must see in the end: of its keys, from its first revision on.
func (w *watching) owed(x *watcher) (list []*history.Operation) {
	if x.start.Type != history.Ok {
		return nil
	}
	saw := map[string]bool{}
	for _, b := range x.batches {
		for _, c := range b.changes {
			saw[changeName(c.Key, c.Type, c.Value)] = true
		}
	}
	for _, o := range w.writes {
		name := changeName(o.Key, "put", o.Input)
		if w.acked[name] != o || !x.covers(o.Key) || saw[name] {
			continue
		}
		revision, err := strconv.ParseInt(o.Output, 10, 64)
		if x.from > 0 && err == nil && revision >= x.from || x.start.Return < o.Call && (x.from == 0 || err == nil && revision >= x.from) {
			list = append(list, o)
		}
	}
	return list
}

// missedAtEnd finds an acknowledged write that a watch did not see, although its last look, after the write, found nothing.
func (w *watching) missedAtEnd() (first *refutation) {
	for _, x := range w.watchers {
		if x.idle == nil {
			continue
		}
		for _, o := range w.owed(x) {
			if o.Return > x.idle.Call {
				continue
			}
			r := refutationAt(x.idle, watchMissed.Cause().Claim("client %s, which watches %q, never saw %s of %q", x.idle.Client, x.pattern,
				changeWords(change{Type: "put", Value: o.Input}), o.Key))
			r.evidence = []string{lineOf(x.start, "watch "+x.pattern+" from "+cmp.Or(x.start.Input, "now")),
				lineOf(o, o.Op+" "+verdict.Shorten(o.Input)+" -> ok"), lineOf(x.idle, "observe -> nothing")}
			first = earlier(first, r)
			break
		}
	}
	return first
}

// unread says which watch may not have seen all yet. Only a client's last watch must be read to the end: one whose look had no
// known outcome goes on under another name.
func (w *watching) unread() string {
	last := map[string]*watcher{}
	for _, x := range w.watchers { // in the order of their calls
		last[holder(x.start.Client)] = x
	}
	for _, who := range slices.Sorted(maps.Keys(last)) {
		x := last[who]
		client := x.start.Client
		for _, o := range w.owed(x) {
			if len(x.batches) == 0 && x.idle == nil || x.idle != nil && o.Return < x.idle.Call {
				continue
			}
			return fmt.Sprintf("client %s, which watches %q, had not seen %s of %q when it last looked; observe until nothing comes", client,
				x.pattern, verdict.Shorten(o.Input), o.Key)
		}
	}
	return ""
}

func (w *watching) shown(o *history.Operation, claim failure.Claim) *refutation {
	return refutationAt(o, claim, lineOf(o, o.Op+" -> "+verdict.Shorten(o.Output)))
}

func changeWords(c change) string {
	if c.Type == "delete" {
		return "a delete"
	}
	return "the put " + verdict.Shorten(c.Value)
}

func batchLine(b *batch) string {
	var parts []string
	for i, c := range b.changes {
		if i == verdict.MaxEvidence {
			parts = append(parts, "...")
			break
		}
		parts = append(parts, fmt.Sprintf("%d %s of %q", c.Revision, changeWords(c), c.Key))
	}
	return lineOf(b.op, "observe -> "+strings.Join(parts, ", "))
}
