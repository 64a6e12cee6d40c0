//go:build !unix

package cpus

import "time"

// UsedHere is unknown here.
func UsedHere() time.Duration { return 0 }

// UsedByChildren is unknown here.
func UsedByChildren() time.Duration { return 0 }
