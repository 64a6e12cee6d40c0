package workload

import (
	"slices"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/workload/kinds"
)

// client performs its operations one after the other.
type client struct {
	*settings
	number  int
	name    string
	retired int // how often the client went on under a new name
	report  *reporter
	start   time.Time
	conns   *connections
	chooser chooser
	moved   int // failover: how many targets it has left
	counts  counts
	err     error // why it could not continue
	// Of messages: keys that the client has used, those to which it has subscribed, names besides its own.
	keys       map[string]bool
	subscribed map[string]bool
	sides      []side
}

func (c *client) run() {
	defer c.conns.close()
	if len(c.schedule) > 0 {
		c.err = c.play(c.schedule[c.number])
		return
	}
	for k := 0; ; k++ {
		if c.limit > 0 && k*c.clients+c.number >= c.limit || c.skip.Ends(c.name, k) {
			return
		}
		var o operation
		if !c.once {
			o = c.chooser.next(k)
		} else if o = c.chooser.inTurn(k); o.entry == nil {
			return
		}
		if c.skip.Skips(c.name, k) {
			continue
		}
		switch c.await(k) {
		case over:
			return
		case full:
			c.counts.skipped++
			continue
		}
		good, err := c.perform(k, &o)
		if err != nil {
			c.err = err
			return
		}
		if good && c.once {
			c.chooser.succeeded(&o)
		}
		if !good && c.rate == 0 {
			time.Sleep(errorPause)
		}
	}
}

type turn int

const (
	begin turn = iota
	full       // too many others have arrived behind the operation
	over       // the workload's time is over
)

// await waits until operation k is due. Open-loop, operation k of client c arrives at a time of its own, however long
// the ones before it took; a client that has fallen too far behind drops arrivals.
func (c *client) await(k int) turn {
	if c.rate == 0 {
		if c.duration > 0 && time.Since(c.start) >= c.duration {
			return over
		}
		return begin
	}
	period := float64(time.Second) / c.rate
	due := time.Duration(float64(k*c.clients+c.number) * period)
	if c.duration > 0 && due >= c.duration {
		return over
	}
	now := time.Since(c.start)
	if late := now - due; float64(late) > maxQueue*period*float64(c.clients) {
		return full
	}
	if due > now {
		time.Sleep(due - now)
	}
	return begin
}

// perform does one operation and reports it. It reports whether the operation was ok; the error is about reporting.
func (c *client) perform(k int, o *operation) (bool, error) {
	target := c.target(k, o.key)
	if c.announces {
		if c.keys == nil {
			c.keys = map[string]bool{}
		}
		c.keys[o.key] = true
	}
	kind := o.entry.Kind
	act := func() (result, error) { return c.record(c.identity(), c.group(kind), target, o) }
	var r result
	var err error
	if slices.Contains(c.kind.Receives, kind) {
		r, err = c.receive(kind, o.key, target, act)
	} else {
		r, err = act()
	}
	if err != nil {
		return false, err
	}
	switch r.typ {
	case history.Ok:
		c.counts.ok++
		c.chooser.learn(o, r)
		return true, nil
	case history.Fail:
		c.counts.fail++
	case history.Info:
		c.counts.info++
		c.retired++
	}
	c.moved++
	return false, nil
}

// record performs an operation between its two records, of a client of the given name.
func (c *client) record(identity, group string, target int, o *operation) (result, error) {
	rec := report{Client: identity, Type: history.Invoke, Op: o.entry.Recorded(), Key: o.key, Input: o.value,
		Expect: o.expect, Node: c.dialect.node(target), Group: group}
	if err := c.report.write(rec); err != nil {
		return result{}, err
	}
	r := c.dialect.perform(c.conns, target, o, time.Now().Add(c.timeout))
	rec.Type, rec.Output, rec.Found, rec.Error = r.typ, r.output, r.found, r.err
	if r.node != "" {
		rec.Node = r.node
	}
	return r, c.report.write(rec)
}

func (c *client) identity() string { return identityOf(c.name, c.retired) }

// identityOf is the name under which a client continues after some operations of unknown outcome.
func identityOf(name string, retired int) string {
	if retired == 0 {
		return name
	}
	return name + "." + strconv.Itoa(retired)
}

func (c *client) target(k int, key string) int {
	n := c.dialect.targets()
	switch c.spread {
	case kinds.RoundRobin:
		return (c.number + k) % n
	case kinds.Client:
		return c.number % n
	case kinds.Hash:
		return int(xxhash.Sum64String(key) % uint64(n))
	case kinds.Failover:
		return (c.number + c.moved) % n
	}
	return 0
}
