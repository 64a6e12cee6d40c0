package records

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
)

// Earlier versions gave failures other ids: digests of signatures in words, without the test. A View maps such words to today's id, and
// collects everything about a failure there: its files, and the replays, notes and requests written under the old id, in any order.

// formerKey collects what was written under an earlier id.
type formerKey struct {
	FailureView
	now ID // today's id of the failure; empty until a record of the failure comes
}

// file adds a record of a failure that was written under a key.
func (t *TestView) file(key ID, f *Failure) {
	if f.ID == "" {
		f.Signature = failure.Former(f.Property, f.Reason, f.Signature)
	}
	if f.Headline == "" {
		f.Headline = failure.Headline(f.Reason)
	}
	id := FailureID(t.ID, f.Signature)
	f.ID = string(id)
	of := t.failure(id)
	of.Property, of.Signature = f.Property, f.Signature
	of.Files = append(of.Files, f)
	if key == id {
		return
	}
	k := t.former[key]
	if k == nil {
		k = &formerKey{}
		t.former[key] = k
	}
	if was := t.Failures[key]; was != nil { // nothing else has this key
		k.adopt(was)
		delete(t.Failures, key)
	}
	if k.now != "" && k.now <= id { // records of one key are of two failures: the rest belongs to the first of these
		return
	}
	if had := t.Failures[k.now]; had != nil {
		had.disown(&k.FailureView)
	}
	k.now = id
	of.adopt(&k.FailureView)
}

// about adds an entry to the failure that has, or had, the entry's id.
func (v *View) about(id [4]ID, add func(*FailureView)) {
	t := v.Test(id[0])
	k := t.former[id[1]]
	if k == nil {
		add(t.failure(id[1]))
		return
	}
	add(&k.FailureView)
	add(t.failure(k.now))
}

// failure is the view of a failure by its present id.
func (t *TestView) failure(id ID) *FailureView {
	f := t.Failures[id]
	if f == nil {
		f = &FailureView{Failure: failure.Failure{ID: string(id)}}
		t.Failures[id] = f
	}
	return f
}

// Known returns today's id of a failure, given that id or an earlier one.
func (t *TestView) Known(id ID) ID {
	if k := t.former[id]; k != nil {
		return k.now
	}
	return id
}

// Named lists the failures that a name may mean: today's id, an earlier one, or the beginning of either.
func (t *TestView) Named(name string) (list []*FailureView) {
	if f := t.Failures[t.Known(ID(name))]; f != nil {
		return []*FailureView{f}
	}
	for id, f := range t.Failures {
		if failure.Matches(name, string(id)) {
			list = append(list, f)
		}
	}
	for id, k := range t.former {
		if f := t.Failures[k.now]; failure.Matches(name, string(id)) && !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

// Key is the failure's ID, as records have it.
func (f *FailureView) Key() ID { return ID(f.ID) }

// adopt adds the records about a failure that were written under another id.
func (f *FailureView) adopt(o *FailureView) {
	f.Replays = append(f.Replays, o.Replays...)
	f.Notes = append(f.Notes, o.Notes...)
	f.Bisects = append(f.Bisects, o.Bisects...)
	f.Pages = append(f.Pages, o.Pages...)
	f.Explained = append(f.Explained, o.Explained...)
}

// disown removes records that adopt has added.
func (f *FailureView) disown(o *FailureView) {
	f.Replays = without(f.Replays, o.Replays)
	f.Notes = without(f.Notes, o.Notes)
	f.Bisects = without(f.Bisects, o.Bisects)
	f.Pages = without(f.Pages, o.Pages)
	f.Explained = without(f.Explained, o.Explained)
}

func without[T comparable](list, others []T) []T {
	return slices.DeleteFunc(list, func(x T) bool { return slices.Contains(others, x) })
}
