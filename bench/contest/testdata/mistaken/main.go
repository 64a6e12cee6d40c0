// Mistaken is a server that counts, and reports to a specification what it does: wrongly in a way, or so much of it that it cannot be judged.
package main

import (
	"context"
	"os"
	"time"

	"github.com/bloodhound-dst/bloodhound/bench/contest/trial"
	"github.com/bloodhound-dst/bloodhound/sim"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

func main() {
	m, err := inproc.LoadSpecification("Counter.tla", "Counter.cfg", inproc.SpecificationOptions{})
	if err != nil {
		panic(err)
	}
	how := os.Args[1]
	_, err = sim.Campaign{}.Run(trial.Context(context.Background()), "mistaken", func(w *inproc.World) {
		follow := w.Guide
		if how == "ignores" {
			follow = func(m *inproc.Specification) *inproc.Follower { return w.Model("conforms", m) }
		}
		f := follow(m)
		w.Process("server", func(p *inproc.Process) {
			p.Sleep(time.Millisecond)
			switch how {
			case "misspells":
				f.Step("Upp")
			case "ignores":
				f.Ignore("it is nothing")
			case "leaves":
				f.Step("Up")
				f.Step("Up")
				f.Saw(1, "Shown")
			}
			p.Sleep(time.Hour)
		})
		w.Set(inproc.Settings{Chaos: 10 * time.Millisecond, Settle: -1})
	})
	if err != nil {
		panic(err)
	}
}
