package sim

import (
	"runtime"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// exits ends its goroutine at the first tick.
type exits struct{}

func (exits) Receive(*inproc.Node, inproc.Message) {}
func (exits) Tick(*inproc.Node)                    { runtime.Goexit() }
