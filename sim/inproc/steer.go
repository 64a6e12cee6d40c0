package inproc

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Steer implements inprocess.Engine.
func (e *worldEngine) Steer(list []inprocess.Choice) ([]tape.Edit, error) {
	s := e.schedule
	if s == nil {
		return nil, fmt.Errorf("only worlds with a schedule can be steered: set Settings.Schedule")
	}
	lay, err := e.layoutOf(e.spec)
	if err != nil {
		return nil, err
	}
	end := uint64(max(len(list), 1))
	edits := []tape.Edit{{Op: tape.Default, Stream: "fault/**", To: end}, {Op: tape.Default, Stream: "net/**", To: end}}
	for i, c := range list {
		if c.To != "" {
			v, err := e.prefer(c.From, c.To)
			if err != nil {
				return nil, err
			}
			most := s.Messages
			if most == 0 {
				most = defaultMessages
			}
			less := most - min(max(c.Messages, 1), most)
			edits = append(edits, tape.Edit{Op: tape.Set, Stream: "sched/deliver", From: uint64(i), Value: v},
				tape.Edit{Op: tape.Set, Stream: "sched/count", From: uint64(i), Value: uint64(less)})
		}
		if c.Crash != "" {
			stream := crashOf(lay.setting.Faults(), c.Crash)
			if stream == "" {
				return nil, fmt.Errorf("no rule of the world lets %s crash at a step; add one, such as \"crash on %s rate 1%%\"", c.Crash, c.Crash)
			}
			edits = append(edits, tape.Edit{Op: tape.Set, Stream: stream, From: uint64(i), Value: 1})
		}
	}
	return edits, nil
}

// crashOf is the stream by which a node crashes at steps; empty if there is none.
func crashOf(p *fault.Plan, node string) string {
	for i := range p.Rules {
		r := &p.Rules[i]
		if r.Kind != fault.Crash || len(r.At) > 0 {
			continue
		}
		if k := slices.IndexFunc(r.Targets, func(t fault.Target) bool { return t.Name == node }); k >= 0 {
			return r.Targets[k].Stream
		}
	}
	return ""
}

// prefer finds a value of the choice of a channel that puts one channel before all others.
func (e *worldEngine) prefer(from, to string) (uint64, error) {
	var names []string
	for i := range e.spec.Nodes {
		names = append(names, e.spec.Nodes[i].Name)
	}
	for _, name := range []string{from, to} {
		if !slices.Contains(names, name) && !(e.schedule.Mailboxes && name == from) {
			return 0, fmt.Errorf("there is no node %q to steer", name)
		}
	}
	var others []uint64
	for _, b := range names {
		if e.schedule.Mailboxes {
			if b != to {
				others = append(others, channelHash("", b))
			}
			continue
		}
		for _, a := range names {
			if a != from || b != to {
				others = append(others, channelHash(a, b))
			}
		}
	}
	if e.schedule.Mailboxes {
		from = ""
	}
	own := channelHash(from, to)
	for v := uint64(1); v < places; v++ {
		h := preference(own, v)
		if !slices.ContainsFunc(others, func(o uint64) bool { return preference(o, v) >= h }) {
			return v, nil
		}
	}
	return 0, fmt.Errorf("no value of a step prefers %s to all of %d channels: the world has too many nodes to be steered", to, len(others)+1)
}

// channelHash names a channel; without a sender it is a mailbox.
func channelHash(from, to string) uint64 {
	h := hashText(to)
	if from != "" {
		h = splitmix.Mix(h + splitmix.Gamma*hashText(from))
	}
	return h
}

// preference is the rank of a channel in the order that a value of the choice stands for.
func preference(channel, v uint64) uint64 { return splitmix.Mix(channel ^ v*splitmix.Gamma) }
