package inproc_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// search runs a campaign over a world and prints its status. Tests call sim.Test instead.
func search(world func(*inproc.World)) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	r, err := sim.Campaign{Runs: 100, Dir: dir}.Run(context.Background(), "example", world)
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Status)
	for _, f := range r.Failures {
		fmt.Println(f.Property)
	}
}

// A register that answers before its disk is synchronised loses writes in a crash.
func ExampleWorld_Process() {
	search(func(w *inproc.World) {
		w.Process("register", func(p *inproc.Process) {
			for {
				m := p.Receive()
				if value := m.Payload.(string); value != "" {
					p.Disk().WriteFile("value", []byte(value)) // and no Sync
				}
				value, _ := p.Disk().Read("value")
				p.Reply(m, string(value))
			}
		})
		w.Client("client", func(p *inproc.Process) {
			for i := range 10 {
				p.Operation(inproc.Op{Kind: "put", Key: "x", Input: fmt.Sprint(i)}, func() (string, error) {
					_, err := p.Call("register", fmt.Sprint(i), 100*time.Millisecond)
					return "", err
				})
				p.Sleep(100 * time.Millisecond)
				p.Operation(inproc.Op{Kind: "get", Key: "x"}, func() (string, error) {
					value, err := p.Call("register", "", 100*time.Millisecond)
					if err == nil && value == "" {
						return "", inproc.ErrNotFound
					}
					return fmt.Sprint(value), err
				})
			}
		})
		w.Linearizable("key-value")
		w.Faults("crash on register rate 5% for 50ms..200ms")
	})
	// Output:
	// violated
	// linearizable
}

// echo answers each message, and counts the messages of all nodes.
type echo struct{ answered *int }

func (e echo) Receive(n *inproc.Node, m inproc.Message) {
	*e.answered++
	n.Reply(m, m.Payload)
}

func (e echo) Tick(*inproc.Node) {}

func ExampleWorld_Machine() {
	search(func(w *inproc.World) {
		answered, asked := 0, 0
		w.Machine("echo", func(*inproc.Node) inproc.Machine { return echo{&answered} })
		w.Client("client", func(p *inproc.Process) {
			for asked = 1; asked <= 10; asked++ {
				p.Call("echo", "hello", time.Second)
			}
		})
		w.Invariant("no message is answered twice", func() error {
			if answered > asked {
				return fmt.Errorf("%d answers to %d requests", answered, asked)
			}
			return nil
		})
		w.Faults("drop rate 5%")
	})
	// Output: holds
}
