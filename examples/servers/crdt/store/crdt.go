package main

import (
	"errors"
	"maps"
	"slices"
)

// Merge says what becomes of a key that two replicas have made different things.
type Merge string

const (
	// Both keeps what both have written: the key is a counter and a register.
	Both Merge = "both"
	// Newest keeps what was written last, as within a register. This is the bug of the example: the other one's writes are
	// acknowledged, and gone.
	Newest Merge = "newest"
)

// Stamp orders writes: a hybrid logical clock (Kulkarni et al. 2014), and the replica for those at the same time.
type Stamp struct {
	Ns      int64  `json:"ns"`
	Replica string `json:"r"`
}

func (s Stamp) before(o Stamp) bool { return s.Ns < o.Ns || s.Ns == o.Ns && s.Replica < o.Replica }

// Counter is a PN-counter (Shapiro et al. 2011): what each replica has added and taken away, which only grow.
type Counter struct {
	Added map[string]int64 `json:"p,omitempty"`
	Taken map[string]int64 `json:"n,omitempty"`
	Stamp Stamp            `json:"s"` // of the last change
}

// Register holds what was written last.
type Register struct {
	Value string `json:"v"`
	Stamp Stamp  `json:"s"`
}

// Value is what a key holds. It is one of the two, unless replicas have made it both.
type Value struct {
	Counter  *Counter  `json:"counter,omitempty"`
	Register *Register `json:"register,omitempty"`
}

func (c *Counter) sum() int64 {
	n := int64(0)
	for _, by := range c.Added {
		n += by
	}
	for _, by := range c.Taken {
		n -= by
	}
	return n
}

// add gives the counter after one more change at a replica; c may be nil.
func (c *Counter) add(n int64, at Stamp) *Counter {
	sum := &Counter{Added: map[string]int64{}, Taken: map[string]int64{}, Stamp: at}
	if c != nil {
		maps.Copy(sum.Added, c.Added)
		maps.Copy(sum.Taken, c.Taken)
	}
	if n < 0 {
		sum.Taken[at.Replica] -= n
	} else {
		sum.Added[at.Replica] += n
	}
	return sum
}

func mergeCounters(a, b *Counter) *Counter {
	if a == nil || b == nil {
		return either(a, b)
	}
	m := &Counter{Added: largest(a.Added, b.Added), Taken: largest(a.Taken, b.Taken), Stamp: a.Stamp}
	if a.Stamp.before(b.Stamp) {
		m.Stamp = b.Stamp
	}
	return m
}

func largest(a, b map[string]int64) map[string]int64 {
	m := maps.Clone(a)
	if m == nil {
		m = map[string]int64{}
	}
	for replica, n := range b {
		m[replica] = max(m[replica], n)
	}
	return m
}

func mergeRegisters(a, b *Register) *Register {
	if a == nil || b == nil {
		return either(a, b)
	}
	if a.Stamp.before(b.Stamp) {
		return b
	}
	return a
}

func either[T any](a, b *T) *T {
	if a == nil {
		return b
	}
	return a
}

// merge joins what two replicas know of a key. The order in which values meet does not matter, nor how often they do.
func (m Merge) merge(a, b Value) Value {
	v := Value{Counter: mergeCounters(a.Counter, b.Counter), Register: mergeRegisters(a.Register, b.Register)}
	if m == Newest && v.Counter != nil && v.Register != nil {
		if v.Counter.Stamp.before(v.Register.Stamp) {
			v.Counter = nil
		} else {
			v.Register = nil
		}
	}
	return v
}

// Replica is the data of one of the stores: no clock, disk, network or goroutine inside.
type Replica struct {
	ID    string
	Merge Merge
	data  map[string]Value
	last  int64 // the latest stamp that it has seen
	// unsent are the keys that a peer may not have, by peer.
	unsent map[string]map[string]bool
}

func NewReplica(id string, peers []string, merge Merge) *Replica {
	r := &Replica{ID: id, Merge: merge, data: map[string]Value{}, unsent: map[string]map[string]bool{}}
	for _, p := range peers {
		r.unsent[p] = map[string]bool{}
	}
	return r
}

// ErrType says that a key holds the other type.
var ErrType = errors.New("the key holds the other type")

func (r *Replica) stamp(nowNs int64) Stamp {
	r.last = max(r.last+1, nowNs)
	return Stamp{Ns: r.last, Replica: r.ID}
}

// Add adds to a counter, which a key without a value becomes.
func (r *Replica) Add(nowNs int64, key string, n int64) (Value, error) {
	v := r.data[key]
	if v.Counter == nil && v.Register != nil {
		return v, ErrType
	}
	v.Counter = v.Counter.add(n, r.stamp(nowNs))
	return v, nil
}

// Set writes a register, which a key without a value becomes.
func (r *Replica) Set(nowNs int64, key, value string) (Value, error) {
	v := r.data[key]
	if v.Register == nil && v.Counter != nil {
		return v, ErrType
	}
	v.Register = &Register{Value: value, Stamp: r.stamp(nowNs)}
	return v, nil
}

// Get gives what this replica knows of a key.
func (r *Replica) Get(key string) Value { return r.data[key] }

// Join takes over what a peer, or this replica before a restart (from is empty then), knew of a key. It reports whether that was
// news, and the type of which the key is no more.
func (r *Replica) Join(from, key string, v Value) (joined Value, news bool, dropped string) {
	old := r.data[key]
	joined = r.Merge.merge(old, v)
	for _, s := range joined.stamps() {
		r.last = max(r.last, s.Ns)
	}
	switch {
	case (old.Counter != nil || v.Counter != nil) && joined.Counter == nil:
		dropped = "counter"
	case (old.Register != nil || v.Register != nil) && joined.Register == nil:
		dropped = "register"
	}
	if joined.equal(old) {
		return joined, false, dropped
	}
	r.Put(key, joined)
	if joined.equal(v) {
		delete(r.unsent[from], key)
	}
	return joined, true, dropped
}

// Put stores the outcome of Add or Set, when it is on disk. The value must then be sent to the other replicas.
func (r *Replica) Put(key string, v Value) {
	r.data[key] = v
	for _, keys := range r.unsent {
		keys[key] = true
	}
}

// Unsent takes the keys whose values must still be sent to a peer.
func (r *Replica) Unsent(peer string) []string {
	keys := slices.Sorted(maps.Keys(r.unsent[peer]))
	clear(r.unsent[peer])
	return keys
}

// Failed says that a peer may not have got these keys.
func (r *Replica) Failed(peer string, keys []string) {
	for _, k := range keys {
		r.unsent[peer][k] = true
	}
}

func (v Value) stamps() []Stamp {
	var s []Stamp
	if v.Counter != nil {
		s = append(s, v.Counter.Stamp)
	}
	if v.Register != nil {
		s = append(s, v.Register.Stamp)
	}
	return s
}

func (v Value) equal(o Value) bool {
	switch {
	case (v.Counter == nil) != (o.Counter == nil) || (v.Register == nil) != (o.Register == nil):
		return false
	case v.Register != nil && *v.Register != *o.Register:
		return false
	case v.Counter == nil:
		return true
	}
	return v.Counter.Stamp == o.Counter.Stamp && maps.Equal(v.Counter.Added, o.Counter.Added) && maps.Equal(v.Counter.Taken, o.Counter.Taken)
}
