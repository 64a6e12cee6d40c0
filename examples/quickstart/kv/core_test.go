package main

import (
	"fmt"
	"strings"
	"testing"
)

// script drives three cores by hand: messages lie in one queue per link until they are delivered.
type script struct {
	t     *testing.T
	nowMs int64
	nodes map[string]*Core
	links map[string][]Message
	out   strings.Builder
}

func newScript(t *testing.T, ackBy AckBy) *script {
	s := &script{t: t, nodes: map[string]*Core{}, links: map[string][]Message{}}
	ids := []string{"n1", "n2", "n3"}
	for i, id := range ids {
		var others []string
		for _, o := range ids {
			if o != id {
				others = append(others, o)
			}
		}
		// n1 is the most impatient, then n2, then n3.
		s.nodes[id] = NewCore(id, others, ackBy, 0, func(int64) int64 { return int64(i) * 40 }, nil)
		for _, o := range others {
			s.step(id, Input{PeerUp: o})
		}
	}
	return s
}

func (s *script) step(id string, in Input) {
	out := s.nodes[id].Step(s.nowMs, in)
	for _, l := range out.Log {
		fmt.Fprintf(&s.out, "%d %s %s\n", s.nowMs, id, l)
	}
	for _, m := range out.Messages {
		link := m.From + "-" + m.To
		s.links[link] = append(s.links[link], m)
	}
	for _, r := range out.Replies {
		fmt.Fprintln(&s.out, strings.TrimSpace(fmt.Sprintf("%d %s answers %s: %d %s", s.nowMs, id, r.ID, r.Status, r.Value+r.Why)))
	}
}

// deliver empties the links between the named nodes until nothing moves.
func (s *script) deliver(ids ...string) {
	for moved := true; moved; {
		moved = false
		for _, from := range ids {
			for _, to := range ids {
				link := from + "-" + to
				for len(s.links[link]) > 0 {
					m := s.links[link][0]
					s.links[link] = s.links[link][1:]
					s.step(to, Input{Message: &m})
					moved = true
				}
			}
		}
	}
}

// until lets time pass in steps of 10 ms while the groups of nodes are cut off from one another.
func (s *script) until(ms int64, groups ...string) {
	for ; s.nowMs < ms; s.nowMs += 10 {
		for _, id := range []string{"n1", "n2", "n3"} {
			s.step(id, Input{})
		}
		for _, g := range groups {
			s.deliver(strings.Fields(g)...)
		}
	}
}

// A leader that is cut off takes a write, the others elect n2 and acknowledge other writes, the network heals
// while the first client still waits.
func cutOff(t *testing.T, ackBy AckBy) string {
	s := newScript(t, ackBy)
	s.until(400, "n1 n2 n3")
	s.step("n1", Input{Request: &Request{ID: "w1", Op: "put", Key: "k", Value: "1"}})
	s.until(450, "n1 n2 n3")
	s.step("n1", Input{Request: &Request{ID: "w2", Op: "put", Key: "k", Value: "2"}})
	s.until(900, "n1", "n2 n3")
	s.step("n2", Input{Request: &Request{ID: "w3", Op: "put", Key: "k", Value: "3"}})
	s.until(1000, "n1", "n2 n3")
	s.until(1400, "n1 n2 n3")
	s.step("n2", Input{Request: &Request{ID: "r", Op: "get", Key: "k"}})
	s.until(1410, "n1 n2 n3")
	return s.out.String()
}

func TestCutOffLeader(t *testing.T) {
	const story = `150 n1 candidate term=1
150 n1 became leader term=1 index=0
150 n2 follows n1 term=1
150 n3 follows n1 term=1
400 n1 answers w1: 200
590 n2 candidate term=2
590 n2 became leader term=2 index=2
590 n3 follows n2 term=2
700 n1 stepped down term=1: no contact to a majority
850 n1 candidate term=2
900 n2 answers w3: 200
1000 n1 candidate term=3
1000 n2 stepped down term=2: n1 is in term 3
1150 n1 candidate term=4
1180 n3 candidate term=5
1180 n3 became leader term=5 index=4
1180 n1 follows n3 term=5
1180 n2 follows n3 term=5
1180 n1 drops entries 3..3, which n3 does not have
1180 n1 answers w2: ANSWER
1400 n2 answers r: 200 3
`
	for _, c := range []struct {
		ackBy  AckBy
		answer string // to w2, which is lost either way
	}{
		{AckByIndex, "200"},
		{AckByEntry, "503 the next leader dropped it"},
	} {
		want := strings.Replace(story, "ANSWER", c.answer, 1)
		if got := cutOff(t, c.ackBy); got != want {
			t.Errorf("ack by %s:\n%s\nwant:\n%s", c.ackBy, got, want)
		}
	}
}
