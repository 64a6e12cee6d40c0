package director

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// Unable stands for the acts that an engine does not have, and panics with the name of the one it is asked for. The engine's
// Capabilities and its Specs keep a Director from asking, so a call is a mistake in the engine.
type Unable struct{ Engine string }

func (u Unable) panic(act string) {
	panic(fmt.Sprintf("director: the engine %s cannot %s; its Capabilities must exclude this", u.Engine, act))
}

// Programs, for engines whose nodes have no processes.

func (u Unable) Alive(int64) bool         { u.panic("say whether a process runs"); return false }
func (u Unable) Running(int) []int64      { u.panic("list processes"); return nil }
func (u Unable) Kill(int64)               { u.panic("kill a process") }
func (u Unable) KillTagged(int64)         { u.panic("kill the processes of a job") }
func (u Unable) Order(int64, []byte) bool { u.panic("write to a prober"); return false }
func (u Unable) Listening(int) []int      { u.panic("list ports"); return nil }

// Nodes and Memory.

func (u Unable) LosePower(int, *fault.Action, string) error {
	u.panic("take the power of a node")
	return nil
}
func (u Unable) TakeImage(int, int) error { u.panic("copy a disk"); return nil }
func (u Unable) DropImage(int, int)       { u.panic("drop a copy of a disk") }
func (u Unable) Reimage(int, *fault.Action, int) error {
	u.panic("restore a disk")
	return nil
}
func (u Unable) Stop(int, *fault.Action, int) { u.panic("signal a node to stop") }
func (u Unable) Stopping(int) Stopping        { u.panic("tell how a node stops"); return Stopping{} }
func (u Unable) Stopped(int)                  { u.panic("stop a node") }
func (u Unable) Restarts(int, int)            { u.panic("restart a node") }
func (u Unable) Leak(int, int, int64, int64)  { u.panic("leak memory") }
func (u Unable) EndLeak(int)                  { u.panic("end a leak of memory") }
func (u Unable) KillLargest(int, int) (Killed, bool) {
	u.panic("kill the largest process")
	return Killed{}, false
}

// Clog panics.
func (u Unable) Clog(fault.Direction, int) { u.panic("clog a link") }

// Reset panics.
func (u Unable) Reset(fault.Direction, *fault.Action) int { u.panic("reset connections"); return 0 }

// Names panics.
func (u Unable) Names(string, int, bool) { u.panic("fail the lookup of names") }

// Pressure panics.
func (u Unable) Pressure(node string, id int, ns int64) { u.panic("put memory under pressure") }

// FDLimit panics.
func (u Unable) FDLimit(node string, id int, ns int64) { u.panic("limit descriptors") }

// SlowDisk panics.
func (u Unable) SlowDisk(node string, id int, ns int64) { u.panic("slow a disk") }

// Disk panics.
func (u Unable) Disk(node string, speed fault.Speed) { u.panic("give a disk a speed") }

// Clock panics.
func (u Unable) Clock(*fault.Action) { u.panic("change a clock") }

// RightClock panics.
func (u Unable) RightClock(*fault.Action) { u.panic("change a clock") }

// Blind answers for engines that do not see what programs do inside a node: no signs of readiness, nothing in common between
// two lives, no core files, and checks that need a process.
type Blind struct{}

func (Blind) AwaitReady(int, bool)              {}
func (Blind) Watch(int, int64)                  {}
func (Blind) Life(int) Life                     { return Life{Open: true} }
func (Blind) Hidden(int) string                 { return "" }
func (Blind) Dump(int64, int) *record.Dump      { return nil }
func (Blind) Ask(int, bool) (int, string, bool) { return 0, "", false }
func (Blind) Starting(int) bool                 { return false } // healthchecks say so
