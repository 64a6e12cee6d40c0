package histories

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func nearStale(p *world.Property, ops []history.Operation, add Add) {
	staleReads(p, ops, add)
	nearAmbiguous(p, ops, add)
}

// concurrent calls each for every read, in the order of their calls, with the other operations of its key that were under way as
// it was called.
func concurrent(ops []history.Operation, isRead func(*history.Operation) bool, each func(read *history.Operation, others []*history.Operation)) {
	order := make([]*history.Operation, len(ops))
	for i := range ops {
		order[i] = &ops[i]
	}
	slices.SortFunc(order, func(a, b *history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	active := map[string][]*history.Operation{}
	for _, o := range order {
		others := slices.DeleteFunc(active[o.Key], func(w *history.Operation) bool { return w.Return < o.Call })
		if isRead(o) {
			each(o, others)
		}
		if o.Type == history.Ok { // what is not known to have taken effect makes nothing stale
			others = append(others, o)
		}
		active[o.Key] = others
	}
}

// passed is how much of an operation had passed, from 0 to 1, when another one was called.
func passed(under, called *history.Operation) float64 {
	whole := under.ReturnTimeNs - under.CallTimeNs
	if whole <= 0 {
		return 0
	}
	return float64(called.CallTimeNs-under.CallTimeNs) / float64(whole)
}

// staleReads measures how close a read came to being stale: the part of a write's duration that had passed when a read was called
// and then returned the value before the write. Had the read been called after the write returned, the history would not be linearizable.
func staleReads(p *world.Property, ops []history.Operation, add Add) {
	if !isRegister(p.Check.Model) {
		return
	}
	type value struct {
		key, text string
		found     bool
	}
	writers := map[value][]*history.Operation{}
	for i := range ops {
		o := &ops[i]
		switch k := changeOf(o); {
		case o.Type == history.Fail:
		case k == cas && o.NoInput:
			v := value{key: o.Key}
			writers[v] = append(writers[v], o)
		case k == write || k == cas:
			v := value{o.Key, o.Input, true}
			writers[v] = append(writers[v], o)
		case k == remove:
			v := value{key: o.Key}
			writers[v] = append(writers[v], o)
		}
	}
	most, text, looks := 0.0, "no read returned a value that was being replaced", 0
	isRead := func(o *history.Operation) bool { return kindOf(o.Op) == read && o.Type == history.Ok }
	concurrent(ops, isRead, func(r *history.Operation, others []*history.Operation) {
		looks++
		v := value{r.Key, r.Output, r.Found || r.Output != ""}
		if !v.found {
			v.text = ""
		}
		written := uint64(0) // the latest return of a write of this value; 0 for the initial one
		for _, w := range writers[v] {
			if w.Call < r.Return {
				written = max(written, w.Return)
			}
		}
		for _, w := range others {
			if k := kindOf(w.Op); k != write && k != remove && k != cas || w.Call < written || k == cas && w.Output == "false" {
				continue
			}
			if s := passed(w, r); s > most {
				most, text = s, fmt.Sprintf("%s of key %q began when a %s was %.0f %% done, and does not have its value", r.Op, r.Key, w.Op, 100*s)
			}
		}
	})
	if looks > 0 {
		add("stale reads", most, "%s", text)
	}
}

// nearBackward is how close a read of a monotonic value came to going back: what part of another read's time had passed when it was
// called, if it returned less.
func nearBackward(p *world.Property, ops []history.Operation, add Add) {
	looks := func(o *history.Operation) bool {
		return o.Type == history.Ok && (len(p.Check.Operations) == 0 && history.IsRead(o.Op) ||
			slices.ContainsFunc(p.Check.Operations, func(name string) bool { return strings.EqualFold(name, o.Op) }))
	}
	ops = slices.DeleteFunc(slices.Clone(ops), func(o history.Operation) bool { return !looks(&o) })
	most, text := 0.0, "no read returned a smaller number than a read that it overlapped"
	concurrent(ops, looks, func(r *history.Operation, others []*history.Operation) {
		mine, ok := decimal(r.Output)
		for _, o := range others {
			theirs, told := decimal(o.Output)
			if !told || ok && mine.Cmp(theirs) >= 0 {
				continue
			}
			if s := passed(o, r); s > most {
				most, text = s, fmt.Sprintf("%s of key %q returned %s; it began when another, which returned %s, was %.0f %% done",
					r.Op, r.Key, valueOf(*r), o.Output, 100*s)
			}
		}
	})
	if len(ops) > 0 {
		add("going back", most, "%s", text)
	}
}

// nearAmbiguous counts the changes whose outcome is unknown and that a later operation of their key had to take into account. Their
// sign is n/(n+8): it separates few from none better than many from more.
func nearAmbiguous(_ *world.Property, ops []history.Operation, add Add) {
	if len(ops) == 0 {
		return
	}
	last := map[string]uint64{} // the latest return of a read, by key
	for i := range ops {
		if o := &ops[i]; o.Type == history.Ok && history.IsRead(o.Op) {
			last[o.Key] = max(last[o.Key], o.Return)
		}
	}
	count := 0
	for i := range ops {
		if o := &ops[i]; o.Type == history.Info && !history.IsRead(o.Op) && o.Call < last[o.Key] {
			count++
		}
	}
	add("changes without an answer", float64(count)/float64(count+8), "%d changes of unknown outcome, read later", count)
}
