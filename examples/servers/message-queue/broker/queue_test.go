package main

import "testing"

func TestQueue(t *testing.T) {
	q := newQueue()
	for i, step := range []struct {
		c    command
		want delivery
	}{
		{command{Op: opReceive, AtMS: 1000}, delivery{}},
		{command{Op: opPublish, ID: "a", Body: "A"}, delivery{Left: 1}},
		{command{Op: opPublish, ID: "b", Body: "B"}, delivery{Left: 2}},
		{command{Op: opPublish, ID: "a", Body: "A"}, delivery{Left: 2}}, // a repeated publish
		{command{Op: opReceive, AtMS: 1000}, delivery{"a", "A", 1, 2}},
		{command{Op: opReceive, AtMS: 1001}, delivery{"b", "B", 1, 2}},
		{command{Op: opReceive, AtMS: 1002}, delivery{Left: 2}}, // both are leased
		{command{Op: opAck, ID: "b"}, delivery{Left: 1}},
		{command{Op: opReceive, AtMS: 1000 + leaseMS}, delivery{"a", "A", 2, 1}}, // no consumer has acknowledged it
		{command{Op: opAck, ID: "a"}, delivery{}},
		{command{Op: opAck, ID: "a"}, delivery{}},
		{command{Op: opPublish, ID: "a", Body: "A"}, delivery{}}, // it was done
	} {
		if got := q.apply(step.c); got != step.want {
			t.Fatalf("step %d, %+v: %+v, want %+v", i, step.c, got, step.want)
		}
	}
}
