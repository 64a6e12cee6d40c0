//go:build !unix

package trial

import (
	"time"
)

// cpuTime is 0 where a process cannot ask for it.
func cpuTime() time.Duration { return 0 }

// WorkersCPU is unknown here.
func WorkersCPU() time.Duration { return 0 }
