//go:build linux && amd64

package native

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/director"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/machine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/net"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// maxInspectedBytes bounds what Memory reads at once.
const maxInspectedBytes = 64 << 20

// stopped is a world between two calls of Advance. The thread of the world's loop reads it, since only that thread may use ptrace.
type stopped struct{ w *World }

// Inspect implements engine.World.
func (w *World) Inspect() (engine.Inspection, error) {
	if w.closed {
		return nil, errors.New("the world is closed")
	}
	return stopped{w}, nil
}

func (x stopped) Position() record.Position {
	return record.PositionAt(x.w.kernel.Events)
}

// statusNames holds the names of statuses in engine.Node, by status.
var statusNames = [...]string{director.Waiting: "waiting", director.Running: "running", director.Ended: "ended",
	director.Crashed: "down", director.Resting: "restarting"}

func (x stopped) Nodes() (list []engine.Node, err error) {
	err = x.ask(func(k *kernel.Kernel) error {
		for i := range x.w.spec.Nodes {
			d := &x.w.director.Nodes[i]
			n := engine.Node{Name: x.w.spec.Nodes[i].Name, Status: statusNames[d.Status], Addresses: k.Net.Addresses(net.NodeID(i))}
			if d.Status == director.Ended {
				n.ExitCode = d.ExitCode
			}
			list = append(list, n)
		}
		return nil
	})
	return list, err
}

func (x stopped) Threads() (list []engine.Thread, err error) {
	err = x.ask(func(k *kernel.Kernel) error {
		for _, t := range k.Threads {
			if t.State == kernel.Dead {
				continue
			}
			p := k.Procs[t.Proc]
			out := engine.Thread{Node: k.Nodes[t.Node].Name, Program: p.Path, Args: slices.Clone(p.Argv), PID: p.PID, TID: t.TID, Name: t.Name}
			if parent := k.Procs[p.Parent]; parent != nil {
				out.PPID = parent.PID
			}
			if t.State == kernel.Blocked {
				out.Call, out.SinceNs = linux.CallName(t.Call.Nr), t.WaitNs
			}
			list = append(list, out)
		}
		slices.SortFunc(list, func(a, b engine.Thread) int { return cmp.Or(cmp.Compare(a.Node, b.Node), a.TID-b.TID) })
		return nil
	})
	return list, err
}

func (x stopped) Registers(node string, tid int) (list []record.Register, err error) {
	err = x.ask(func(k *kernel.Kernel) error {
		_, regs, err := x.registersOf(k, node, tid)
		if err == nil {
			list = registers(&regs)
		}
		return err
	})
	return list, err
}

// registersOf finds a thread and reads its registers.
func (x stopped) registersOf(k *kernel.Kernel, node string, tid int) (t *kernel.Thread, regs machine.Regs, err error) {
	if t, err = x.thread(node, func(t *kernel.Thread) bool { return t.TID == tid }, "thread", tid); err != nil {
		return nil, regs, err
	}
	regs, ok := linux.Registers(k, t)
	if !ok {
		err = fmt.Errorf("cannot read the registers of thread %d of node %s", tid, node)
	}
	return t, regs, err
}

func (x stopped) Memory(node string, pid int, address uint64, bytes int) (b []byte, err error) {
	if bytes < 0 || bytes > maxInspectedBytes {
		return nil, fmt.Errorf("you asked for %d bytes; at most %d are read at once", bytes, maxInspectedBytes)
	}
	err = x.ask(func(k *kernel.Kernel) error {
		t, err := x.process(node, pid)
		if err != nil {
			return err
		}
		b = make([]byte, bytes)
		b = b[:k.M.Read(t.ID, address, b)]
		return nil
	})
	return b, err
}

func (x stopped) Files(node string, pid int) (list []engine.OpenFile, err error) {
	err = x.ask(func(k *kernel.Kernel) error {
		t, err := x.process(node, pid)
		if err != nil {
			return err
		}
		for _, f := range linux.OpenFiles(k, k.Procs[t.Proc]) {
			list = append(list, engine.OpenFile{FD: f.FD, Object: f.Object, Path: f.Path})
		}
		return nil
	})
	return list, err
}

func (x stopped) Sockets(node string) (list []engine.Socket, err error) {
	err = x.ask(func(k *kernel.Kernel) error {
		i := slices.IndexFunc(k.Nodes, func(n *kernel.Node) bool { return n.Name == node })
		if i < 0 {
			return fmt.Errorf("there is no node %s", node)
		}
		for _, s := range k.Net.Sockets(net.NodeID(k.Nodes[i].ID)) {
			list = append(list, engine.Socket(s))
		}
		return nil
	})
	return list, err
}

func (x stopped) Core(node string, pid int, path string) (left string, err error) {
	err = x.ask(func(k *kernel.Kernel) error {
		t, err := x.process(node, pid)
		if err != nil {
			return err
		}
		p := linux.Standing(k, t)
		if len(p.Threads) == 0 {
			return fmt.Errorf("cannot read the registers of process %d of node %s", pid, node)
		}
		core, note := writeCore(path, p)
		if core == "" {
			return fmt.Errorf("cannot write the core file of process %d of node %s: %s", pid, node, note)
		}
		left = note
		return nil
	})
	return left, err
}

// ask asks the kernel on the thread of the world's loop.
func (x stopped) ask(question func(*kernel.Kernel) error) (err error) {
	if x.w.closed {
		return errors.New("the world is closed")
	}
	if broken := x.w.do(func() { err = question(x.w.kernel) }); broken != nil {
		return broken
	}
	return err
}

// process finds a thread of a process.
func (x stopped) process(node string, pid int) (*kernel.Thread, error) {
	k := x.w.kernel
	return x.thread(node, func(t *kernel.Thread) bool { return k.Procs[t.Proc].PID == pid }, "process", pid)
}

// thread finds a thread of a node that has not ended.
func (x stopped) thread(node string, is func(*kernel.Thread) bool, what string, number int) (*kernel.Thread, error) {
	k := x.w.kernel
	var found *kernel.Thread
	for _, t := range k.Threads {
		if t.State != kernel.Dead && k.Nodes[t.Node].Name == node && is(t) && (found == nil || t.ID < found.ID) {
			found = t
		}
	}
	if found == nil {
		return nil, fmt.Errorf("node %s has no %s %d", node, what, number)
	}
	return found, nil
}
