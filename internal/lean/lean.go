// Package lean keeps what only the command line needs from being set up in drivers: a world starts this program as driver and
// as probe many times in each run, and most of what such a process did was to compile the JSON schemas of Compose files and
// the expressions of image names.
package lean

import (
	"os"
	_ "unsafe" // for go:linkname
)

// A task stands for all initialisers of a package: what the linker makes of them (cmd/link/internal/ld/inittask.go), and the
// runtime goes through when a program starts (doInit1 of runtime/proc.go). It leaves out those that are done.
type task struct{ state, functions uint32 }

const done = 2

//go:linkname schemas github.com/santhosh-tekuri/jsonschema/v6..inittask
var schemas task

//go:linkname references github.com/distribution/reference..inittask
var references task

//go:linkname digests github.com/opencontainers/go-digest..inittask
var digests task

//go:linkname templates github.com/compose-spec/compose-go/v2/template..inittask
var templates task

// Packages are set up in the order of their paths, as far as their imports are: this one, which imports little, comes before
// those above.
func init() {
	if len(os.Args) > 1 && os.Args[1] == "driver" {
		for _, t := range []*task{&schemas, &references, &digests, &templates} {
			t.state = done
		}
	}
}
