package sim_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// counter is a server that counts requests, and a client that expects the count to grow. A crash of the server resets the count.
func counter(w *inproc.World) {
	w.Process("server", func(p *inproc.Process) {
		n := 0
		for {
			m := p.Receive()
			n++
			p.Reply(m, n)
		}
	})
	w.Client("client", func(p *inproc.Process) {
		last := 0
		for range 10 {
			if n, err := p.Call("server", "incr", 200*time.Millisecond); err == nil {
				p.Assert(n.(int) > last, "the counter never goes back")
				last = n.(int)
			}
			p.Sleep(100 * time.Millisecond)
		}
	})
	w.Faults("crash on server rate 5% for 10ms..100ms")
}

// In a test it is sim.Test(t, counter), which fails with the story of the smallest run.
func ExampleCampaign_Run() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	r, err := sim.Campaign{Runs: 200, Dir: dir}.Run(context.Background(), "counter", counter)
	if err != nil {
		panic(err)
	}
	f := r.Failures[0]
	fmt.Println(r.Status)
	fmt.Println(f.Property)
	fmt.Println("faults in the smallest run:", f.Smallest.Faults)
	// Output:
	// violated
	// Always: the counter never goes back
	// faults in the smallest run: 1
}
