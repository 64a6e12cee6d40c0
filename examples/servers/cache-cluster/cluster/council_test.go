package main

import (
	"slices"
	"testing"
	"time"
)

func TestCouncil(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	c := newCouncil(1, start)
	expect := func(ms, epoch int, writable bool, members ...string) {
		t.Helper()
		c.expire(at(ms))
		if c.epoch != epoch || c.writable(at(ms)) != writable || !slices.Equal(c.members, members) {
			t.Fatalf("at %d ms: epoch %d of %v, writable %v", ms, c.epoch, c.members, c.writable(at(ms)))
		}
	}
	c.beat(beat{"a", "1", 0}, at(0))
	c.beat(beat{"b", "1", 0}, at(0))
	expect(0, 3, false, "a", "b")
	c.beat(beat{"a", "1", 3}, at(100))
	c.beat(beat{"b", "1", 3}, at(100))
	expect(100, 3, false, "a", "b") // leases of an earlier life may last
	expect(600, 3, true, "a", "b")

	c.beat(beat{"b", "1", 3}, at(650))
	expect(700, 4, false, "b") // a is gone; b does not know
	c.beat(beat{"b", "1", 4}, at(710))
	expect(710, 4, true, "b")

	c.beat(beat{"a", "1", 3}, at(800))
	expect(800, 5, false, "a", "b") // a is back, and neither knows
	c.beat(beat{"a", "1", 5}, at(810))
	expect(810, 5, false, "a", "b")
	c.beat(beat{"b", "1", 5}, at(820))
	expect(820, 5, true, "a", "b")

	c.beat(beat{"a", "2", 0}, at(830))
	expect(830, 6, false, "a", "b") // a was started anew, which is an epoch of its own
}
