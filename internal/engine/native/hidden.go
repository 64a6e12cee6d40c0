//go:build linux && amd64

package native

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/fs"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// maxAbsent bounds the names of a node that are kept.
const maxAbsent = 64

// absent keeps a name that a program has looked for where nodes do not show what the machine has.
func (w *World) absent(t *kernel.Thread, name string) {
	w.noteLater(t, name)
	n, list := &w.spec.Nodes[t.Node], &w.absences[t.Node]
	if len(*list) < maxAbsent && n.HasMachineFiles() && w.covered(n, name) != "" && !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
}

// noteLater keeps a name that a program under test has looked for, and that the machine has only since the run was recorded.
func (w *World) noteLater(t *kernel.Thread, name string) {
	if w.options.Then == nil || !w.underTest(t) || len(w.outcome.Later) >= record.MaxLater {
		return
	}
	if !path.IsAbs(name) {
		node := w.kernel.Nodes[t.Node]
		name = path.Join(node.FS.Name(w.kernel.Procs[t.Proc].Cwd), name)
	}
	for _, v := range w.spec.Nodes[t.Node].Volumes {
		if v.Kind == world.Bind && below(name, v.Target) {
			name = path.Join(v.Source, strings.TrimPrefix(name, v.Target))
			break
		}
	}
	if slices.Contains(w.outcome.Later, name) || !w.real.Bases[t.Node].Later(name) {
		return
	}
	if _, err := os.Stat(name); err == nil {
		w.outcome.Later = append(w.outcome.Later, name)
	}
}

// covered says why a node with the machine's files does not show a name; nothing if it does.
func (w *World) covered(n *world.Node, name string) string {
	switch dir, ok := world.Emptied(name); {
	case !path.IsAbs(name) || slices.ContainsFunc(n.Volumes, func(v world.Volume) bool { return below(name, v.Target) }):
		return ""
	case strings.Contains(name, "/"+fs.StateFolder+"/"):
		return "nodes see only bin of a .bloodhound folder"
	case ok && !below(name, w.spec.Dir):
		return dir + " starts empty on every node"
	}
	return ""
}

func below(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// hidden names what programs of a node have looked for without success although this machine has it, with the remedy; nothing if there is none.
func (w *World) hidden(node int) string {
	n := &w.spec.Nodes[node]
	for _, name := range w.absences[node] {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() && !info.IsDir() { // no sockets, which programs try in case a service is there
			continue
		}
		env := *w.kernel.TreeEnv(w.kernel.Nodes[node])
		if _, e := w.kernel.Nodes[node].FS.Walk(&env, w.kernel.Nodes[node].FS.Root(), name, true); e != errno.ENOENT { // it has been made meanwhile
			continue
		}
		remedy := "put it into the project's folder"
		if len(n.Command) > 0 {
			remedy += fmt.Sprintf(", or mount it with `volumes: [%s:%s]`", name, name)
		}
		return fmt.Sprintf("it looked for %s, which exists on this machine but not on the node, because %s: "+
			"%s", name, w.covered(n, name), remedy)
	}
	return ""
}
