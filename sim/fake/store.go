package fake

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// StoreOptions are the options of a Store.
type StoreOptions struct {
	// Failures are the failures of puts, compare-and-sets and deletes. The ledger calls them kv_fails_before and
	// kv_fails_after.
	Failures
}

// Item is a key with its value. Version is the revision of the store at the last change of the key; revisions count changes from 1.
type Item struct {
	Key, Value string
	Version    int
}

// Event is a change of a key.
type Event struct {
	Item
	Deleted bool // by a call, or because it expired
}

// maxEvents bounds the changes that a store remembers for watches.
const maxEvents = 10_000

// Store adds a node that is a key-value store. A change is durable before it is answered.
func Store(w *inproc.World, name string, o StoreOptions) {
	o.check(w, name)
	w.Process(name, func(p *inproc.Process) {
		s := &store{Process: p, o: o, journal: journal{p: p, file: "journal"}, items: map[string]item{}}
		s.journal.open(func(text []byte) {
			var c change
			if err := json.Unmarshal(text, &c); err != nil {
				panic(err)
			}
			s.apply(c)
		})
		s.serve()
	})
}

// Requests and their answer.
type (
	read struct {
		Key    string
		Prefix bool
	}
	write struct {
		Key, Value string
		Delete     bool
		If         bool // only at this version
		Version    int
		TTL        time.Duration
	}
	watch struct {
		Prefix string
		After  int
		Within time.Duration
	}
	items struct {
		Code     code
		Items    []Item
		Events   []Event
		Revision int
	}
)

// store is the server.
type store struct {
	*inproc.Process
	o        StoreOptions
	journal  journal
	items    map[string]item
	revision int
	events   []Event
	watchers []watcher
}

type item struct {
	Item
	until time.Time // by the store's clock; zero means forever
}

// change is a record of the journal.
type change struct {
	Event
	Until time.Time `json:",omitzero"`
}

type watcher struct {
	m     inproc.Message
	watch watch
	until time.Time
}

func (s *store) apply(c change) {
	s.revision = c.Version
	s.events = append(s.events, c.Event)
	if len(s.events) > maxEvents {
		s.events = s.events[1:]
	}
	if c.Deleted {
		delete(s.items, c.Key)
	} else {
		s.items[c.Key] = item{c.Item, c.Until}
	}
}

// commit makes a change durable and visible.
func (s *store) commit(c change) {
	c.Version = s.revision + 1
	s.journal.add(c)
	s.apply(c)
}

func (s *store) serve() {
	for {
		s.expire()
		s.tell()
		wait, bounded := s.idle()
		if !bounded {
			s.handle(s.Receive())
		} else if m, ok := s.ReceiveWithin(wait); ok {
			s.handle(m)
		}
	}
}

// idle is how long nothing comes to its end by itself.
func (s *store) idle() (time.Duration, bool) {
	var next time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, i := range s.items {
		sooner(i.until)
	}
	for _, w := range s.watchers {
		sooner(w.until)
	}
	if next.IsZero() {
		return 0, false
	}
	return next.Sub(s.Now()), true
}

// expire deletes what has lived long enough, in the order of keys.
func (s *store) expire() {
	if !slices.ContainsFunc(slices.Collect(maps.Values(s.items)), func(i item) bool { return !i.until.IsZero() }) {
		return
	}
	now := s.Now()
	for _, key := range slices.Sorted(maps.Keys(s.items)) {
		if i := s.items[key]; !i.until.IsZero() && !i.until.After(now) {
			s.commit(change{Event: Event{Item: Item{Key: key}, Deleted: true}})
		}
	}
}

// tell answers the watches for which there is something, or whose time is over.
func (s *store) tell() {
	if len(s.watchers) == 0 {
		return
	}
	now := s.Now()
	waiting := s.watchers[:0]
	for _, w := range s.watchers {
		answer, some := s.since(w.watch)
		if !some && w.until.After(now) {
			waiting = append(waiting, w)
			continue
		}
		s.Reply(w.m, answer)
	}
	s.watchers = waiting
}

// since gives the changes that a watch has not seen.
func (s *store) since(w watch) (answer items, some bool) {
	if len(s.events) > 0 && w.After+1 < s.events[0].Version {
		return items{Code: compacted, Revision: s.revision}, true
	}
	answer.Revision = s.revision
	for _, e := range s.events {
		if e.Version > w.After && strings.HasPrefix(e.Key, w.Prefix) {
			answer.Events = append(answer.Events, e)
		}
	}
	return answer, len(answer.Events) > 0
}

func (s *store) handle(m inproc.Message) {
	s.expire()
	switch v := m.Payload.(type) {
	case read:
		s.Reply(m, s.read(v))
	case write:
		s.Reply(m, s.write(v))
	case watch:
		s.watchers = append(s.watchers, watcher{m, v, s.Now().Add(v.Within)})
	default:
		if forFake(v) {
			s.Reply(m, storeIs)
		}
	}
}

func (s *store) read(v read) items {
	answer := items{Revision: s.revision}
	for _, key := range slices.Sorted(maps.Keys(s.items)) {
		if key == v.Key || v.Prefix && strings.HasPrefix(key, v.Key) {
			answer.Items = append(answer.Items, s.items[key].Item)
		}
	}
	if len(answer.Items) == 0 && !v.Prefix {
		answer.Code = missing
	}
	return answer
}

func (s *store) write(v write) items {
	if s.Mishap("kv_fails_before", s.o.Before) {
		return items{Code: lost}
	}
	old, there := s.items[v.Key]
	switch {
	case v.If && old.Version != v.Version:
		return items{Code: conflict}
	case v.Delete && !there:
		return items{Code: missing}
	}
	c := change{Event: Event{Item: Item{Key: v.Key, Value: v.Value}, Deleted: v.Delete}}
	if v.TTL > 0 {
		c.Until = s.Now().Add(v.TTL)
	}
	s.commit(c)
	if s.Mishap("kv_fails_after", s.o.After) {
		return items{Code: lost}
	}
	return items{Revision: s.revision}
}

// KV is a connection of one process to a Store.
type KV struct {
	p    *inproc.Process
	node string
	// Within is how long calls wait for an answer: a second.
	Within time.Duration
}

// Dial connects a process to the Store on a node. Calls panic if the node is not a Store.
func Dial(p *inproc.Process, node string) *KV { return &KV{p: p, node: node, Within: within} }

func (kv *KV) call(request any, within time.Duration) (items, error) {
	answer, err := kv.p.Call(kv.node, request, within)
	if err != nil {
		return items{}, ErrLost
	}
	r, ok := answer.(items)
	if !ok {
		panic(misled("fake.Dial", kv.node, storeIs.Is, answer))
	}
	return r, r.Code.err()
}

// Get returns the value of a key and its version. The error is inproc.ErrNotFound if the key does not exist.
func (kv *KV) Get(key string) (Item, error) {
	r, err := kv.call(read{Key: key}, kv.Within)
	if err != nil {
		return Item{}, err
	}
	return r.Items[0], nil
}

// List returns all keys that begin with a prefix, sorted, and the revision of the store.
func (kv *KV) List(prefix string) (list []Item, revision int, err error) {
	r, err := kv.call(read{Key: prefix, Prefix: true}, kv.Within)
	return r.Items, r.Revision, err
}

// Put sets the value of a key, and returns its version.
func (kv *KV) Put(key, value string) (version int, err error) { return kv.PutFor(key, value, 0) }

// PutFor sets the value of a key, which expires after ttl by the store's clock.
func (kv *KV) PutFor(key, value string, ttl time.Duration) (version int, err error) {
	r, err := kv.call(write{Key: key, Value: value, TTL: ttl}, kv.Within)
	return r.Revision, err
}

// CompareAndSet sets the value of a key if the key has this version, or does not exist and the version is 0. Otherwise the error is
// ErrConflict.
func (kv *KV) CompareAndSet(key string, version int, value string) (now int, err error) {
	r, err := kv.call(write{Key: key, Value: value, If: true, Version: version}, kv.Within)
	return r.Revision, err
}

// Delete removes a key. The error is inproc.ErrNotFound if it does not exist.
func (kv *KV) Delete(key string) error {
	_, err := kv.call(write{Key: key, Delete: true}, kv.Within)
	return err
}

// Watch waits up to within for changes of keys with a prefix after a revision. It returns the changes in order, or none
// if none came in time, and the revision to continue from. After an error, continue from the same revision: no change
// is missed.
func (kv *KV) Watch(prefix string, revision int, within time.Duration) (list []Event, next int, err error) {
	r, err := kv.call(watch{prefix, revision, within}, within+kv.Within)
	if err != nil {
		return nil, revision, err
	}
	return r.Events, r.Revision, nil
}
