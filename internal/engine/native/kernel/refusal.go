//go:build linux && amd64

package kernel

import (
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"golang.org/x/sys/unix"
)

// Refused counts a call that was answered with an error because the engine does not support it.
type Refused struct {
	Node, Program, Call, Errno string
	Count                      uint64
	LastNs                     int64
}

const maxRefused = 1000

// maxWayOutNs bounds the virtual time that a way out takes: whoever waits for longer goes on with something.
const maxWayOutNs = 10e9

// Refuse answers a call that the engine does not support and notes it for the report. what names the call with
// its operation, such as fcntl(F_NOTIFY).
func (s *State) Refuse(t *Thread, what string, e unix.Errno) Result {
	p, node, name := s.Proc(t), s.Nodes[t.Node].Name, unix.ErrnoName(e)
	if !p.Broken {
		p.Refusal = &record.Refusal{Call: what, Errno: name, Node: node, Program: p.Path, PID: p.PID, Thread: t.Name, Event: s.Events + 1, TimeNs: s.Now}
	}
	for i := range s.Refused {
		r := &s.Refused[i]
		if r.Call == what && r.Program == p.Path && r.Node == node && r.Errno == name {
			r.Count++
			r.LastNs = s.Now
			return fail(e)
		}
	}
	if len(s.Refused) < maxRefused {
		s.Refused = append(s.Refused, Refused{node, p.Path, what, name, 1, s.Now})
	}
	return fail(e)
}

// follows forgets the refused call of a process that has made another call since, unless that may be one of its way out.
func (k *Kernel) follows(t *Thread, result int64) {
	p := k.Procs[t.Proc]
	if p == nil || p.Refusal == nil || p.Refusal.Event == k.Events {
		return
	}
	if k.Now-p.Refusal.TimeNs > maxWayOutNs || !k.system.WayOut(k, t, result) {
		p.Refusal = nil
	}
}

// Inherit gives the refused call for which a child has failed to the parent, whose thread t has waited for it: a shell, or a small init, ends as its child
// did. A child that failed for a reason of its own leaves the parent without one.
func (s *State) Inherit(t *Thread, child *Proc) {
	parent := s.Proc(t)
	switch {
	case child.Status == 0:
	case child.Refusal == nil || parent.Broken:
		parent.Refusal = nil
	default:
		r := *child.Refusal
		r.Event, r.TimeNs, r.Thread = s.Events+1, s.Now, t.Name
		parent.Refusal = &r
	}
}

// signalled takes in a signal that a process takes, and whether that ends it. Another process that sends one, or a timer that ends the
// process, is a reason of its own. A process that aborts does so for a refused call, or for a failure of its own.
func (p *Proc) signalled(s *Signal, ends bool) {
	switch {
	case s.Child:
	case s.PID != p.PID && (s.PID != 0 || ends):
		p.Refusal = nil
	case s.PID == p.PID && p.Refusal == nil && dumps(s.Number):
		p.Broken = true
	}
}

// breaks takes in a fault that the processor has raised in a process.
func (p *Proc) breaks() {
	p.Refusal, p.Broken = nil, true
}
