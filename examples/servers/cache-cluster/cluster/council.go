package main

import (
	"slices"
	"time"
)

// council is what the store knows of the caches: which caches belong to the ring, and which may still believe so. It has no clock: each
// call gets the time as an argument.
//
// An epoch is a set of members. Each cache holds a lease, which its beats renew. When a member's lease ends, or a cache joins, a new
// epoch begins. Nothing is written in it until every cache whose lease is not over has adopted it: so no cache answers from what it
// has cached while another one, who owns the key by now, writes.
type council struct {
	epoch   int
	members []string
	leases  map[string]lease
	// quietUntil is when the leases of an earlier life of the store are over.
	quietUntil time.Time
}

type lease struct {
	incarnation string
	adopted     int // the epoch that the cache has said it works by
	until       time.Time
}

// leaseTime is counted by the store from the moment in which it hears a beat, and by the cache from the moment in which it sent it.
const leaseTime = 600 * time.Millisecond

func newCouncil(epoch int, now time.Time) *council {
	return &council{epoch: epoch, leases: map[string]lease{}, quietUntil: now.Add(leaseTime)}
}

// expire begins a new epoch without the members whose leases are over.
func (c *council) expire(now time.Time) {
	staying := slices.DeleteFunc(slices.Clone(c.members), func(m string) bool { return !now.Before(c.leases[m].until) })
	if len(staying) < len(c.members) {
		c.members = staying
		c.epoch++
	}
}

// beat renews the lease of a cache. One that is no member, or that was started anew, joins.
func (c *council) beat(b beat, now time.Time) {
	c.expire(now)
	if !slices.Contains(c.members, b.Node) || c.leases[b.Node].incarnation != b.Incarnation {
		c.members = append(slices.DeleteFunc(slices.Clone(c.members), func(m string) bool { return m == b.Node }), b.Node)
		slices.Sort(c.members)
		c.epoch++
	}
	c.leases[b.Node] = lease{b.Incarnation, b.Epoch, now.Add(leaseTime)}
}

// writable reports whether all who may still answer from a cache do so by this epoch.
func (c *council) writable(now time.Time) bool {
	if now.Before(c.quietUntil) {
		return false
	}
	for _, l := range c.leases {
		if now.Before(l.until) && l.adopted != c.epoch {
			return false
		}
	}
	return true
}
