//go:build linux && amd64

package native

import (
	"fmt"
	"os"
	"slices"

	"github.com/bloodhound-dst/bloodhound/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/world"
)

// maxAbsent bounds the names of a node that are kept.
const maxAbsent = 64

// absent keeps a name that a program has looked for in a folder that begins empty on every node.
func (w *World) absent(t *kernel.Thread, name string) {
	dir, ok := world.Emptied(name)
	if !ok || dir == "/dev" || name == dir || !w.spec.Nodes[t.Node].HasMachineFiles() {
		return
	}
	s := &w.director.Nodes[t.Node]
	if len(s.Absent) < maxAbsent && !slices.Contains(s.Absent, name) {
		s.Absent = append(s.Absent, name)
	}
}

// hidden names what programs of a node have looked for in vain although this machine has it, with the remedy, behind a separator;
// nothing if there is none.
func (w *World) hidden(node int) string {
	for _, name := range w.director.Nodes[node].Absent {
		if _, err := os.Lstat(name); err == nil {
			dir, _ := world.Emptied(name)
			return fmt.Sprintf("; it looked for %s, which this machine has and the node has not, since %s begins empty on every node: put it into the project's folder, or mount it with `volumes: [%s:%s]`",
				name, dir, name, name)
		}
	}
	return ""
}
