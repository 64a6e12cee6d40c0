package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// shivizSink writes a log that ShiViz (bestchai.bitbucket.io/shiviz) draws with its default parser: an event, and in the next line its
// host with a vector clock (Fidge, Mattern: happened-before of all events). Events are messages, log lines, operations, phases, and
// starts and ends of processes, as far as the filter keeps them; clocks count only what is written.
type shivizSink struct {
	w        *bufio.Writer
	filter   Filter
	hosts    []string
	index    map[string]int
	clocks   [][]uint64
	messages *diagramSink
	sends    map[uint64][]uint64 // the clock of the sender, by event
	current  *record.Event
}

func newShivizSink(w io.Writer, f Filter, spec *world.Spec) *shivizSink {
	s := &shivizSink{w: bufio.NewWriterSize(w, 1<<16), filter: f, index: map[string]int{}, messages: newTracker(spec), sends: map[uint64][]uint64{}}
	for i := range spec.Nodes {
		s.host(spec.Nodes[i].Name)
	}
	s.messages.sent, s.messages.known = s.sent, s.known
	return s
}

// host is the number of a host; hosts' names have no space.
func (s *shivizSink) host(name string) int {
	name = strings.Join(strings.Fields(Visible(name, pageValueRunes)), "_")
	i, ok := s.index[name]
	if !ok {
		i = len(s.hosts)
		s.hosts, s.index[name] = append(s.hosts, name), i
		s.clocks = append(s.clocks, nil)
	}
	return i
}

// happen writes an event of a host, after those of a clock that it has heard of, and gives its clock.
func (s *shivizSink) happen(node string, ns int64, heard []uint64, text string) []uint64 {
	h := s.host(node)
	clock := append([]uint64(nil), s.clocks[h]...)
	for len(clock) < len(s.hosts) {
		clock = append(clock, 0)
	}
	for i, n := range heard {
		clock[i] = max(clock[i], n)
	}
	clock[h]++
	s.clocks[h] = clock
	fmt.Fprintf(s.w, "%s %s\n%s {", Seconds(ns), Visible(text, pageLineRunes), s.hosts[h])
	first := true
	for i, n := range clock {
		if n == 0 {
			continue
		}
		if !first {
			s.w.WriteString(", ")
		}
		first = false
		fmt.Fprintf(s.w, "%q:%d", s.hosts[i], n)
	}
	s.w.WriteString("}\n")
	return clock
}

func (s *shivizSink) sent(m *Message) {
	if s.filter.Keep(s.current) {
		s.sends[m.SentEvent] = s.happen(m.From, m.SentNs, nil,
			fmt.Sprintf("sends %s to %s by %s (event %d)", plural.Count(m.Bytes, "byte"), m.To, m.Via, m.SentEvent))
	}
}

func (s *shivizSink) known(l diagramLine) {
	switch {
	case l.Message != nil:
		m := l.Message
		clock, ok := s.sends[m.SentEvent]
		delete(s.sends, m.SentEvent)
		if ok && m.ReadEvent > 0 && s.filter.Keep(s.current) {
			s.happen(m.To, m.ReadNs, clock, fmt.Sprintf("reads %s of %s by %s (event %d, sent by event %d)",
				plural.Count(m.Bytes, "byte"), m.From, m.Via, m.ReadEvent, m.SentEvent))
		}
	case l.Mark != nil && l.Mark.Node != "" && s.filter.Keep(s.current):
		s.happen(l.Mark.Node, l.Mark.TimeNs, nil, fmt.Sprintf("%s (event %d)", l.Mark.Text, l.Mark.Event))
	}
}

func (s *shivizSink) Event(e *record.Event) {
	s.current = e
	s.messages.Event(e)
}

func (s *shivizSink) Log(l record.LogLine) {
	s.happen(l.Node, l.TimeNs, nil, fmt.Sprintf("%s: %s", l.Stream, l.Text))
}

// Finish writes the operations of clients behind all else, on hosts of their own: what they are called is known at the end.
func (s *shivizSink) Finish(o *check.Judged) error {
	if o != nil {
		for i := range o.History {
			if h := &o.History[i]; h.Type == history.Invoke {
				s.happen("client "+h.Client, h.TimeNs, nil, strings.TrimSpace(fmt.Sprintf("invokes %s %s %s (event %d)", h.Op, h.Key, h.Input, h.Number)))
			} else {
				s.happen("client "+h.Client, h.TimeNs, nil, strings.TrimSpace(fmt.Sprintf("%s %s %s (event %d)", h.Type, h.Output, h.Error, h.Number)))
			}
		}
	}
	return s.w.Flush()
}
