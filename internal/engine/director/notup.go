package director

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// notUp lists the servers that do not run, or whose healthchecks have not succeeded since they started. One that has ended by itself after its
// first start, with exit code 0, has done its work.
func (d *Director) notUp() (list []engine.NotUp) {
	for i := range d.spec.Nodes {
		n, s := &d.spec.Nodes[i], &d.Nodes[i]
		done := s.Status == Ended && s.ExitCode == 0 && s.Mains == 1 && n.Health == nil
		if n.Role != world.Server || s.Mains == 0 || done || d.isStep(n.Name) {
			continue
		}
		switch {
		case s.Status == Ended:
			list = append(list, engine.NotUp{Node: n.Name, Why: fmt.Sprintf("its main process ended with exit code %d%s", s.ExitCode, saying(s.Said))})
		case s.Status != Running:
			list = append(list, engine.NotUp{Node: n.Name, Why: "it " + s.Status.String()})
		case n.Health != nil && !s.Healthy:
			list = append(list, engine.NotUp{Node: n.Name, Why: "its healthcheck has not succeeded since its last start"})
		}
	}
	return list
}

// awaitsServers reports whether settle waits for servers to run again, as a property asks.
func (d *Director) awaitsServers(now int64) bool {
	for i := range d.spec.Properties {
		p := &d.spec.Properties[i]
		if p.Check.Type == world.RunningCheck && now < d.Healed+timeoutOf(p) && len(d.notUp()) > 0 {
			return true
		}
	}
	return false
}
