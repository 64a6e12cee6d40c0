package director

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// notUp lists the servers that do not run, or whose healthchecks have not succeeded since they started. One that has ended by itself after its
// first start, with exit code 0, has done its work.
func (d *Director) notUp() (list []record.NotUp) {
	for i := range d.spec.Nodes {
		n, s := &d.spec.Nodes[i], &d.Nodes[i]
		done := s.Status == Ended && s.ExitCode == 0 && s.Mains == 1 && n.Health == nil
		if n.Role != world.Server || s.Mains == 0 || done || d.isStep(n.Name) {
			continue
		}
		switch {
		case s.Status == Ended:
			list = append(list, record.NotUp{Node: n.Name, State: s.Status.word(),
				Why: fmt.Sprintf("its main process ended with exit code %d%s", s.ExitCode, saying(s.Said))})
		case s.Status != Running:
			list = append(list, record.NotUp{Node: n.Name, State: s.Status.word(), Why: "it " + s.Status.String()})
		case n.Health != nil && !s.Healthy:
			list = append(list, record.NotUp{Node: n.Name, State: "unhealthy", Why: "its healthcheck has not succeeded since its last start"})
		}
	}
	return list
}

// neverWereReady lists the servers that were not ready at any time so far.
func (d *Director) neverWereReady() (list []record.NotUp) {
	for i := range d.spec.Nodes {
		n, s := &d.spec.Nodes[i], &d.Nodes[i]
		if d.inProcess || n.Role != world.Server || len(n.Command) == 0 || d.isStep(n.Name) {
			continue
		}
		if why := d.whyNeverReady(n, i); why != "" {
			said := lastLines(d.LogTail[d.mainTag(i)])
			if s.Status != Running { // the log of its process is gone
				said = s.SaidLines
			}
			list = append(list, record.NotUp{Node: n.Name, Why: why, Said: said, Unprovoked: d.unprovoked(n, i)})
		}
	}
	return list
}

// unprovoked reports whether a server that was never ready was left alone by faults until it had ended, or for as long as servers take to be ready.
func (d *Director) unprovoked(n *world.Node, i int) bool {
	until := d.out.ReadyNs + listenNs
	if end := d.Nodes[i].EndedNs; end > 0 {
		until = end
	}
	return !slices.ContainsFunc(d.Plan.Ledger.Injections, func(f fault.Injection) bool { return f.StartNs < until && f.Concerns(n.Name) })
}

// mainTag is the tag of the main process that a node started last, or 0.
func (d *Director) mainTag(node int) int64 {
	for i, j := range slices.Backward(d.Jobs) {
		if j.Kind == JobMain && j.Node == node {
			return int64(i) + 1
		}
	}
	return 0
}

// whyNeverReady says why a server was not ready at any time so far, or nothing.
func (d *Director) whyNeverReady(n *world.Node, i int) string {
	s := &d.Nodes[i]
	asked := n.Health != nil || len(n.Ports) > 0
	switch {
	case s.Status == Running && n.Health == nil && d.deaf(n, i):
		return d.whyDeaf(n, i)
	case s.WasReady || s.Up:
		return ""
	case s.Status == Waiting && len(n.DependsOn) > 0:
		return "it " + d.unstarted(n)
	case (s.Status == Ended || s.Status == Resting) && (asked || s.ExitCode != 0):
		return fmt.Sprintf("its main process ended with exit code %d", s.ExitCode)
	case s.Status == Running && n.Health != nil && s.Sick != "":
		return "its last healthcheck ended with " + s.Sick
	case s.Status == Running && n.Health != nil:
		return "its healthcheck never ended"
	}
	return ""
}

// deaf reports whether a server listens on none of its ports, and no program of it ever did as far as is known. Engines that have to be asked are not.
func (d *Director) deaf(n *world.Node, i int) bool {
	if d.spec.Engine != world.Native || len(n.Ports) == 0 || len(d.Nodes[i].Listening) > 0 {
		return false
	}
	listens := d.act.Listening(i)
	return !slices.ContainsFunc(n.Ports, func(port int) bool { return slices.Contains(listens, port) })
}

// looped is an engine that knows on which ports programs listen at loopback addresses alone.
type looped interface {
	OnLoopback(node, port int) bool
}

// whyDeaf says where a server listens instead.
func (d *Director) whyDeaf(n *world.Node, i int) string {
	act, knows := d.act.(looped)
	listens := d.act.Listening(i)
	for _, port := range n.Ports {
		if knows && act.OnLoopback(i, port) {
			return fmt.Sprintf("it listens only on localhost:%d; make it listen on 0.0.0.0:%d", port, port)
		}
	}
	if len(listens) > 0 {
		return fmt.Sprintf("it listens on port %s, not on "+
			"%s", joinPorts(listens[:min(len(listens), maxPortsNamed)]), joinPorts(n.Ports))
	}
	return "it does not listen on port " + joinPorts(n.Ports)
}

// maxPortsNamed bounds the ports of a server that a reason names.
const maxPortsNamed = 4

func joinPorts(ports []int) string {
	var list []string
	for _, p := range ports {
		list = append(list, strconv.Itoa(p))
	}
	return strings.Join(list, ", ")
}

// awaitsServers reports whether settle waits for servers to run again, as a property asks.
func (d *Director) awaitsServers(now int64) bool {
	for i := range d.spec.Properties {
		p := &d.spec.Properties[i]
		if p.Check.Type == world.RunningCheck && now < d.Healed+p.Timeout() && len(d.notUp()) > 0 {
			return true
		}
	}
	return false
}
