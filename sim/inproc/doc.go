// Package inproc runs worlds inside this process: state machines and sequential processes in Go, on a network, clocks and
// disks of the world's own. What elsewhere is left to chance (which process runs next, how long a message takes, when a node
// crashes and what its disk has kept) is drawn from the tape. So a run is a function of the code and the tape; thousands run in a
// second; and what breaks can be replayed and shrunk.
//
// A world is described by a function, which is called anew for each run and keeps its state in its own variables:
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
//			for range 10 {
//				p.Operation(inproc.Op{Kind: "incr", Key: "n"}, func() (string, error) {
//					n, err := p.Call("server", "incr", time.Second)
//					return fmt.Sprint(n), err
//				})
//			}
//		})
//		w.Faults("crash rate 2%", "partition rate 5% for 100ms..1s")
//	}
//
// [New] makes an engine.Engine of it. Package sim runs campaigns over it in tests. docs/reference/inproc.md is the manual.
//
// # Nodes
//
// A process is plain sequential code. Every call into the world is a place where others may run; between two calls nobody else
// does, so that a world needs no locks. A machine is called for each message and each tick. Both mix freely.
//
// A node that crashes loses its memory: its processes end where they stand (deferred functions run, and any call of theirs
// into the world ends them too), and it starts again by the function that began it. Its [Disk] keeps what was synchronised and
// nothing else. State outside of that function's variables, such as that of the describing function, survives a crash: use it for
// what an observer would know, never for what the node knows.
//
// # What must not be used
//
// The real clock, random numbers but those of the node, goroutines, channels and locks between processes, and the order of maps
// are not on the tape. [Diverge] runs a tape twice and tells the first call in which the runs differ.
package inproc
