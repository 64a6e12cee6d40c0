package workload

import (
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/bloodhound-dst/bloodhound/history"
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
	rec := report{Client: c.identity(), Type: history.Invoke, Op: o.entry.Recorded(), Key: o.key, Input: o.value,
		Expect: o.expect, Node: c.dialect.node(target)}
	if err := c.report.write(rec); err != nil {
		return false, err
	}
	r := c.dialect.perform(c.conns, target, o, time.Now().Add(c.timeout))
	rec.Type, rec.Output, rec.Found, rec.Error = r.typ, r.output, r.found, r.err
	if r.node != "" {
		rec.Node = r.node
	}
	if err := c.report.write(rec); err != nil {
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

func (c *client) identity() string {
	if c.retired == 0 {
		return c.name
	}
	return c.name + "." + strconv.Itoa(c.retired)
}

func (c *client) target(k int, key string) int {
	n := c.dialect.targets()
	switch c.spread {
	case spreadRoundRobin:
		return (c.number + k) % n
	case spreadClient:
		return c.number % n
	case spreadHash:
		return int(xxhash.Sum64String(key) % uint64(n))
	case spreadFailover:
		return (c.number + c.moved) % n
	}
	return 0
}
