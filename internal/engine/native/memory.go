//go:build linux && amd64

package native

import (
	"fmt"
	"path"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// memoryLimit reports a process that its node's limit of memory has killed.
func (w *World) memoryLimit(n *kernel.Notice) {
	node := w.kernel.Nodes[n.Node]
	w.director.Log(record.LogLine{Position: record.PositionAt(n.Event), TimeNs: n.TimeNs, Node: node.Name, Stream: "kernel", Text: string(n.Text)}, n.Tag)
	w.director.Warn(fmt.Sprintf("%s: its memory limit of %s was reached, and %s was killed", node.Name, inMiB(node.Memory.LimitBytes), path.Base(n.Program)))
}

func inMiB(bytes int64) string {
	return strconv.FormatFloat(float64(bytes)/(1<<20), 'f', -1, 64) + " MiB"
}
