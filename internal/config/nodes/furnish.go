package nodes

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Furnish gives the project's folder to nodes that have no other files, and this machine's files to the clients of our own on which a
// user's program runs. Other clients need neither.
func Furnish(l *load.State) {
	scripts := slices.ContainsFunc(l.Spec.Properties, func(p world.Property) bool { return len(p.Check.Script) > 0 }) ||
		slices.ContainsFunc(l.Spec.Faults.Roles, func(r world.NodeRole) bool { return r.Check != nil && len(r.Check.Script) > 0 })
	for _, d := range l.Nodes {
		if !d.Ours {
			if d.Spec.Root == world.NoRoot {
				project := world.Volume{Kind: world.Bind, Source: l.Spec.Dir, Target: l.Spec.Dir}
				d.Spec.Volumes = slices.Insert(d.Spec.Volumes, 0, project)
			}
			continue
		}
		if scripts && d.Spec.Role == world.Checker || slices.ContainsFunc(l.Spec.Workloads, func(w world.Workload) bool {
			return w.Node == d.Name && (w.Driver == "command" || w.Driver == "composer")
		}) {
			d.Spec.Root, d.Spec.WorkingDir = world.HostRoot, l.Spec.Dir
		}
	}
}
