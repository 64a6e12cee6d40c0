//go:build linux && amd64

package kernel

import (
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/moments"
)

// Moments is told what programs under test do at which rules inject faults. Any of its methods may end the programs of the node.
type Moments interface {
	// Entering is called when a program is about to make a system call that is watched for it; files are what the call is about,
	// the new name first.
	Entering(node NodeID, call string, files []string)
	// Waits is called when a call that is watched for it begins to wait for the disk. It gives the ID of the fault that begins during the
	// wait, 0 for none, and when: after part of so many parts.
	Waits(node NodeID, call string, files []string) (id int, part, of int64)
	Strike(id int)
	// Returned is called when a call that is watched for it has had its effect, before the program runs on.
	Returned(node NodeID, call string, files []string)
	// Replied is called when the first bytes of an answer have left a node for another one.
	Replied(node, client NodeID)
	// Transfers is called when much is on its way from a node to another one, since the last bytes that were sent.
	Transfers(from, to NodeID)
	// Counted is called at each call of a node that is Between.
	Counted(node NodeID)
	// Listens and Answers are called for a node that is AwaitsReady: when one of its programs begins to listen on a TCP port that others can
	// reach, and when one has answered another node. Neither ends programs.
	Listens(node NodeID, port int)
	Answers(node, client NodeID)
}

// Acted describes the effect of a program's call.
type Acted struct {
	Act   moments.Act
	Call  string
	Files []string // the new name first
	Said  string   // the kind of an answer
	Peer  NodeID   // to which it goes
}

// acted reports what a call that has had its effect did.
func (k *Kernel) acted(t *Thread, e *Syscall) {
	if t.Call.Client != 0 {
		k.Acted(t, &Acted{Act: moments.Reply, Call: e.Name, Said: t.Call.Said, Peer: NodeID(t.Call.Client - 1)})
	}
	if act, files := k.system.Act(k, t); act != "" {
		k.Acted(t, &Acted{Act: act, Call: e.Name, Files: files})
	}
}

// Watched says which moments of a call Moments wants to see.
type Watched uint8

const (
	WatchEntering Watched = 1 << iota
	WatchWaits
	WatchReturned
	// The same of calls that ask for a file to be made if it is not there, under the name fault.CreateCall.
	WatchMaking
	WatchMade
)

// entering reports a call that a program under test is about to make.
func (k *Kernel) entering(t *Thread) {
	if k.Nodes[t.Node].Between {
		if k.Moments.Counted(t.Node); t.State == Dead {
			return
		}
	}
	w := k.Watched[t.Call.Nr]
	if w == 0 {
		return
	}
	t.Call.Files = k.system.Subjects(k, t)
	if w&WatchEntering != 0 {
		k.Moments.Entering(t.Node, k.CallName(t), t.Call.Files)
	}
	if w&WatchMaking != 0 && t.State != Dead && k.system.Makes(k, t) {
		k.Moments.Entering(t.Node, fault.CreateCall, t.Call.Files)
	}
}

// returned reports a call that has had its effect.
func (k *Kernel) returned(t *Thread, e *Syscall) {
	if t.Call.Client != 0 {
		if k.Moments.Replied(t.Node, NodeID(t.Call.Client-1)); t.State == Dead {
			return
		}
	}
	if t.Call.Bulk != 0 {
		if k.Moments.Transfers(t.Node, NodeID(t.Call.Bulk-1)); t.State == Dead {
			return
		}
	}
	w := k.Watched[t.Call.Nr]
	if w&WatchReturned != 0 {
		k.Moments.Returned(t.Node, e.Name, t.Call.Files)
	}
	if w&WatchMade != 0 && t.State != Dead && k.system.Makes(k, t) {
		k.Moments.Returned(t.Node, fault.CreateCall, t.Call.Files)
	}
}

// AwaitDisk makes a thread wait until the disk has done its work, which takes so long. It is called again after each wait, until Written.
func (k *Kernel) AwaitDisk(t *Thread, ns int64) Result {
	c := &t.Call
	if !c.Again {
		c.DiskNs = SatAdd(k.Now, ns)
		if k.Watched != nil && k.Watched[c.Nr]&WatchWaits != 0 && !k.Nodes[t.Node].Driver {
			var part, of int64
			c.Strike, part, of = k.Moments.Waits(t.Node, k.CallName(t), c.Files)
			c.StrikeNs = k.Now + ns*part/of
		}
	}
	until := c.DiskNs
	switch {
	case c.Strike == 0:
	case k.Now < c.StrikeNs:
		until = min(until, c.StrikeNs)
	default:
		id := c.Strike
		c.Strike = 0
		if k.Moments.Strike(id); t.State == Dead {
			return Gone
		}
	}
	return k.Block(t, until, Key{Kind: KeyThread, ID: t.ID})
}

// Written reports whether the disk has done the work that AwaitDisk waits for.
func (t *Thread) Written(k *Kernel) bool { return t.Call.Again && k.Now >= t.Call.DiskNs }
