package inproc

import (
	"iter"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// BenchmarkSwitch is a process that waits and continues: an event, two switches and a timer.
func BenchmarkSwitch(b *testing.B) {
	e := mustNew(b, sleeper(b.N))
	b.ReportAllocs()
	if _, err := engine.Run(e, e.Spec(), tape.Tape{}, engine.Options{}); err != nil {
		b.Fatal(err)
	}
}

func sleeper(n int) func(*World) {
	return func(w *World) {
		w.Set(Settings{Preempt: -1, Events: 1 << 62, MaxTime: 1 << 60})
		w.Client("p", func(p *Process) {
			for range n {
				p.Sleep(time.Microsecond)
			}
		})
	}
}

func asker(n int) func(*World) {
	return func(w *World) {
		w.Set(Settings{Preempt: -1, Events: 1 << 62, MaxTime: 1 << 60})
		w.Machine("m", func(*Node) Machine { return pong{} })
		w.Client("p", func(p *Process) {
			for range n {
				p.Call("m", "ping", time.Second)
			}
		})
	}
}

type pong struct{}

func (pong) Receive(n *Node, m Message) { n.Reply(m, m.Payload) }
func (pong) Tick(*Node)                 {}

// BenchmarkMessages is a request of a process to a machine and its reply: two messages.
func BenchmarkMessages(b *testing.B) {
	e := mustNew(b, asker(b.N))
	b.ReportAllocs()
	if _, err := engine.Run(e, e.Spec(), tape.Replay(1, nil), engine.Options{}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCounter is a whole run: 20 operations under faults.
func BenchmarkCounter(b *testing.B) {
	e := mustNew(b, counter("crash on server rate 10% for 100ms..500ms", "partition rate 5% for 100ms..1s", "drop rate 5%")).Quiet()
	spec := e.Spec()
	b.ReportAllocs()
	for i := range b.N {
		if _, err := engine.Run(e, spec, tape.Tape{Seed: uint64(i)}, engine.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCoroutine and BenchmarkHandOff are the two ways to switch to a process and back: by iter.Pull, as this package does, and by
// goroutines that wait for each other.
func BenchmarkCoroutine(b *testing.B) {
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		for yield(struct{}{}) {
		}
	})
	defer stop()
	for range b.N {
		next()
	}
}

func BenchmarkHandOff(b *testing.B) {
	there, back := make(chan struct{}), make(chan struct{})
	go func() {
		for range there {
			back <- struct{}{}
		}
	}()
	defer close(there)
	for range b.N {
		there <- struct{}{}
		<-back
	}
}
