// Endless makes a campaign that takes for ever, and meanwhile holds the lock of the file that it is given.
package main

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

func main() {
	_, err := sim.Campaign{}.Run(trial.Context(context.Background()), "endless", func(w *inproc.World) {
		w.Process("server", func(p *inproc.Process) {
			f, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_RDWR, 0o600)
			if err == nil {
				err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
			}
			if err == nil {
				_, err = f.WriteString("at work")
			}
			if err != nil {
				panic(err)
			}
			for {
				time.Sleep(time.Millisecond) // in a run that never comes to its end
			}
		})
	})
	if err != nil {
		panic(err)
	}
}
