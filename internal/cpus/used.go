package cpus

import "time"

// Used is the CPU time of this process and of those that it has started and waited for.
func Used() time.Duration { return UsedHere() + UsedByChildren() }
