package records

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
)

// Records of earlier versions have failures by other ids: digests of signatures that were words, without the test. What such a record is about is known
// by these words, so a View has all of a failure in one place, by the id that it has now. What else was written under an old id (replays, notes,
// requests) belongs there too, in whatever order entries come.

// formerKey is what was written under an id that is not one of now.
type formerKey struct {
	FailureView
	now ID // the failure that it is of; empty while no record of it has come
}

// file takes in a record of a failure, which was written under a key.
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
		k.take(was)
		delete(t.Failures, key)
	}
	if k.now != "" && k.now <= id { // records of one key are of two failures: the rest belongs to the first of these
		return
	}
	if had := t.Failures[k.now]; had != nil {
		had.drop(&k.FailureView)
	}
	k.now = id
	of.take(&k.FailureView)
}

// about adds what an entry says of a failure, by the id that it has or had.
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

// Known is the id of a failure now, by one that it has or had.
func (t *TestView) Known(id ID) ID {
	if k := t.former[id]; k != nil {
		return k.now
	}
	return id
}

// Named are the failures that a name may mean: an id of now or of an earlier version, or the beginning of one.
func (t *TestView) Named(name string) (list []*FailureView) {
	if f := t.Failures[t.Known(ID(name))]; f != nil {
		return []*FailureView{f}
	}
	for id, f := range t.Failures {
		if failure.Means(name, string(id)) {
			list = append(list, f)
		}
	}
	for id, k := range t.former {
		if f := t.Failures[k.now]; failure.Means(name, string(id)) && !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

// Key is the failure's ID, as records have it.
func (f *FailureView) Key() ID { return ID(f.ID) }

// take adds what was said of a failure under another id.
func (f *FailureView) take(o *FailureView) {
	f.Replays = append(f.Replays, o.Replays...)
	f.Notes = append(f.Notes, o.Notes...)
	f.Bisects = append(f.Bisects, o.Bisects...)
	f.Pages = append(f.Pages, o.Pages...)
	f.Explained = append(f.Explained, o.Explained...)
}

// drop takes that away again.
func (f *FailureView) drop(o *FailureView) {
	f.Replays = without(f.Replays, o.Replays)
	f.Notes = without(f.Notes, o.Notes)
	f.Bisects = without(f.Bisects, o.Bisects)
	f.Pages = without(f.Pages, o.Pages)
	f.Explained = without(f.Explained, o.Explained)
}

func without[T comparable](list, others []T) []T {
	return slices.DeleteFunc(list, func(x T) bool { return slices.Contains(others, x) })
}
