// Package inproc simulates a distributed system inside one process: nodes written in Go, on a network, clocks and disks
// that the simulation controls. The tape decides everything that would otherwise be random: which process runs next,
// how long a message takes, when a node crashes and what its disk keeps. So a run is a function of the code and the
// tape, a failing run can be replayed and shrunk, and a core makes thousands of runs a second.
//
// A function describes a world. It is called anew for each run and keeps the run's state in its variables:
//
//	func counter(w *inproc.World) {
//		w.Process("server", func(p *inproc.Process) {
//			n := 0
//			for {
//				m := p.Receive()
//				n++
//				p.Reply(m, n)
//			}
//		})
//		w.Client("client", func(p *inproc.Process) {
//			last := 0
//			for range 10 {
//				if n, err := p.Call("server", "incr", time.Second); err == nil {
//					p.Assert(n.(int) > last, "the counter never goes back")
//					last = n.(int)
//				}
//			}
//		})
//		w.Faults("crash on server rate 2%")
//	}
//
//	func TestCounter(t *testing.T) { sim.Test(t, counter) }
//
// A [Process] is sequential code. Other programs may run at each of its calls into the world, and at no other time, so
// nodes need no locks. A [Machine] is called for each message and each tick. A node that crashes loses its memory: its
// processes end where they are (deferred functions run), and it restarts with the function that started it. Its [Disk]
// keeps synchronised data.
//
// Nodes must not use the real clock, goroutines, channels, locks, the order of maps, or random numbers other than their
// own. Package sim runs a few tapes twice before each campaign and reports the first call that differs. Goroutines,
// locks and atomics are possible in code that is built for them (Settings.Switch).
//
// docs/reference/inproc.md is the manual.
package inproc
