//go:build linux && amd64

package kernel

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"golang.org/x/sys/unix"
)

const (
	InitPID  = 1
	FirstPID = 10 // below are the node's init (1) and room for what a kernel would run
)

// VforkDone lets a parent continue that waits for its vfork child.
func (s *State) VforkDone(t *Thread) {
	if parent := s.Threads[t.VforkOf]; parent != nil {
		parent.Vfork = false
		s.ToTail(t) // the parent runs first: a new program takes a while to load
		s.Resched = true
	}
	t.VforkOf = 0
}

// Leave does what the end of a thread means for others that share its memory: clear_child_tid and robust futexes
// (set_robust_list(2)). It must run while the memory is still there.
func (k *Kernel) Leave(t *Thread) {
	k.system.ThreadEnds(k, t)
	if t.ClearTID != 0 {
		var zero [4]byte
		if k.Poke(t, t.ClearTID, zero[:]) {
			k.FutexWakeAt(t, t.ClearTID, 1)
		}
		t.ClearTID = 0
	}
	k.VforkDone(t)
}

// Unlist takes a thread out of every list.
func (k *Kernel) Unlist(t *Thread) {
	t.State = Dead
	k.unblock(t)
	if abandon := k.system.Calls[t.Call.Nr].Abandon; abandon != nil && t.InCall {
		abandon(k, t)
	}
	t.InCall = false
	if i := slices.Index(k.Runnable, t.ID); i >= 0 {
		k.Runnable = slices.Delete(k.Runnable, i, i+1)
	}
	if k.Current == t.ID {
		k.Current = 0
	}
}

// vanished deals with a thread that the real kernel has ended though the engine did not ask for it: a fault that its
// handler does not get because it is blocked, or an out of memory kill on the host.
func (k *Kernel) vanished(t *Thread) {
	t.State = Dead // with its memory, which cannot be read any more
	if s := k.stop.Status; s.Signaled() && int(s.Signal()) == t.Fault {
		k.EndProcess(k.Proc(t), t.Fault, false)
		return
	}
	k.Unrepeatable("the machine ended thread %s (status %#x)", t.Name, int(k.stop.Status))
	k.EndProcess(k.Proc(t), int(unix.SIGKILL), false)
}

// MemoryEnds reports to the world that a process is about to lose its memory.
func (k *Kernel) MemoryEnds(p *Proc) {
	k.CheckMade(p)
	if k.Ending != nil {
		k.Ending(p)
	}
}

// EndProcess ends all of a process' threads. status is as wait4 reports it: exit code << 8, or the signal's number.
func (k *Kernel) EndProcess(p *Proc, status int, byFault bool) {
	if p.Zombie {
		return
	}
	k.MemoryEnds(p)
	for _, id := range slices.Clone(p.Threads) {
		t := k.Threads[id]
		if !byFault && t.State != Dead {
			if s := k.Spaces[p.Space]; s != nil && s.Refs == 1 {
				t.ClearTID = 0 // no thread is left that could look at it
			}
			k.Leave(t)
		}
		k.VforkDone(t)
		k.Unlist(t)
	}
	k.M.Kill(p.Leader)
	for _, id := range p.Threads {
		k.M.Kill(id) // whatever the leader's kill has not covered: a leader that had ended before
		p.EndedNs += k.ThreadTime(k.Threads[id])
		delete(k.Threads, id)
	}
	p.Threads = nil
	p.Zombie, p.Stopped, p.Status = true, false, status
	p.Real.Gen++
	if n := k.Nodes[p.Node]; n.Main == p.ID && k.Cause.ID == 0 { // others see the stop by the ends of its connections
		k.Cause = n.Stopping.Cause
		defer func() { k.Cause = net.FaultRef{} }()
	}
	k.system.ProcessEnds(k, p)
	k.DropTable(p)
	k.DropSpace(p)
	k.DropCwd(p)
	k.DropRoot(p)
	k.orphan(p)
	k.Notices = append(k.Notices, Notice{Kind: Exited, Event: k.Events, TimeNs: k.Now, Node: p.Node, Proc: p.ID, PID: p.PID, Program: p.Path,
		Tag: p.Tag, Status: status, ByFault: byFault || p.Condemned != 0, Refusal: p.Refusal})
	k.Wake(Key{Kind: KeyPidFD, ID: p.ID}, unix.EPOLLIN)
	parent := k.Procs[p.Parent]
	if parent == nil || parent.Zombie {
		k.Reap(p)
		return
	}
	k.mourn(p, parent)
}

// mourn notifies a parent that one of its children has ended; the child of a parent that does not care is reaped.
func (k *Kernel) mourn(p, parent *Proc) {
	act, status := parent.Actions[unix.SIGCHLD], p.Status
	code, value := 1, status>>8 // CLD_EXITED
	if status&0x7f != 0 {
		code, value = 2, status&0x7f // CLD_KILLED
	}
	if sig := p.exitSignal(parent); IsSignal(sig) {
		k.SignalProc(parent, Signal{Number: sig, Code: int32(code), PID: p.PID, UID: p.Cred.UID, Status: value, Child: true})
	}
	if p.ExitSignal == int(unix.SIGCHLD) && (act.Handler == SigIgnore || act.Flags&saNoCldWait != 0) {
		k.Reap(p)
	}
	k.Wake(Key{Kind: KeyChild, ID: parent.ID}, AllEvents)
}

// exitSignal returns the signal that the end of p sends to its parent, or 0 for none. A parent that has executed
// another program since then does not know which signal the old one asked for (do_notify_parent of
// linux/kernel/signal.c).
func (p *Proc) exitSignal(parent *Proc) int {
	if p.ParentExecs != parent.Execs {
		return int(unix.SIGCHLD)
	}
	return p.ExitSignal
}

// tellParent reports a stop or a continue (waitpid(2): WUNTRACED, WCONTINUED).
func (k *Kernel) tellParent(p *Proc, code, sig int) {
	parent := k.Procs[p.Parent]
	if parent == nil {
		return
	}
	if parent.Actions[unix.SIGCHLD].Flags&saNoCldStop == 0 {
		k.SignalProc(parent, Signal{Number: int(unix.SIGCHLD), Code: int32(code), PID: p.PID, UID: p.Cred.UID, Status: sig, Child: true})
	}
	k.Wake(Key{Kind: KeyChild, ID: parent.ID}, AllEvents)
}

// orphan gives the children of an ended process to its nearest subreaper, or to process 1 of the node: where that is none of
// its programs, it reaps.
func (k *Kernel) orphan(p *Proc) {
	heir := k.Procs[p.Parent]
	for heir != nil && (!heir.Subreaper || heir.Zombie) {
		heir = k.Procs[heir.Parent]
	}
	if first := k.ProcByPID(p.Node, InitPID); heir == nil && first != nil && !first.Zombie && first != p {
		heir = first
	}
	for _, id := range p.Children {
		c := k.Procs[id]
		if c == nil {
			continue
		}
		c.Parent = 0
		c.ExitSignal = int(unix.SIGCHLD)
		if heir != nil {
			c.Parent = heir.ID
			heir.Children = append(heir.Children, c.ID)
		}
		if c.Zombie {
			if heir == nil {
				k.Reap(c)
			} else {
				k.mourn(c, heir)
			}
		} else {
			if c.DeathSignal != 0 {
				k.SignalProc(c, Signal{Number: c.DeathSignal})
			}
			if c.PGID != p.PGID && c.SID == p.SID {
				k.hangUp(c)
			}
		}
	}
	p.Children = nil
}

// Reap forgets an ended process.
func (s *State) Reap(p *Proc) {
	if parent := s.Procs[p.Parent]; parent != nil {
		parent.Children = slices.DeleteFunc(parent.Children, func(id ProcID) bool { return id == p.ID })
		parent.ChildNs += p.EndedNs + p.ChildNs
	}
	node := s.Nodes[p.Node]
	node.Procs = slices.DeleteFunc(node.Procs, func(id ProcID) bool { return id == p.ID })
	delete(s.Procs, p.ID)
}
