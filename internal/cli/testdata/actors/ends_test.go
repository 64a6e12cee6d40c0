// Package actors has worlds that end the program of their test.
package actors

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

func TestSound(t *testing.T) {
	sim.Campaign{Runs: 5, Dir: t.TempDir()}.Test(t, func(w *inproc.World) {
		w.Process("server", func(p *inproc.Process) { p.Assert(true, "all is well") })
	})
}

func TestThatEnds(t *testing.T) {
	sim.Campaign{Runs: 5, Doubles: -1, Hang: 50 * time.Millisecond, Dir: t.TempDir()}.Test(t, func(w *inproc.World) {
		w.Process("server", func(p *inproc.Process) {
			switch os.Getenv("ENDS_BY") {
			case "hang":
				for {
				}
			case "exit":
				os.Exit(3)
			case "fatal":
				new(sync.Mutex).Unlock()
			}
			p.Assert(true, "all is well")
		})
	})
}
