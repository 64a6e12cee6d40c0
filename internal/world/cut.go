package world

import (
	"slices"
	"strconv"
	"strings"
)

// Cut names the parts of a Spec that shrinking removes so that a smaller run shows the same failure. The rest keeps its
// names, addresses, streams of the tape and times.
type Cut struct {
	// EndNs ends the run at this virtual time; 0 is the run's own end.
	EndNs int64 `json:"end_ns,omitempty"`
	// Idle are the nodes whose programs are not started.
	Idle []string `json:"idle,omitempty"`
	// Skip are operations that clients leave out.
	Skip []Skip `json:"skip,omitempty"`
}

// Skip is a row of operations that a client leaves out: those numbered From to To-1, counted from 0, or all from From on
// if To is 0. A client is named as in the history, without the dot and number that it adds to its name when it continues
// after an operation with an unknown end.
type Skip struct {
	Client string `json:"client"`
	From   int    `json:"from"`
	To     int    `json:"to,omitempty"`
}

// ClientName is the name of a client without what it adds when it goes on after an operation with an unknown end: load/c0 of load/c0.2.
func ClientName(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			return name[:i]
		}
	}
	return name
}

// Apply returns a Spec without what c takes away; spec stays as it is.
func (c *Cut) Apply(spec *Spec) *Spec {
	cut := *spec
	cut.EndNs = c.EndNs
	if len(c.Idle) > 0 {
		cut.Nodes = slices.Clone(spec.Nodes)
		for i := range cut.Nodes {
			n := &cut.Nodes[i]
			if slices.Contains(c.Idle, n.Name) {
				n.Command, n.Health = nil, nil
			}
			n.DependsOn = slices.DeleteFunc(slices.Clone(n.DependsOn), func(d Dependency) bool { return slices.Contains(c.Idle, d.Node) })
		}
	}
	if len(c.Skip) > 0 {
		cut.Workloads = slices.Clone(spec.Workloads)
		for i := range cut.Workloads {
			cut.Workloads[i].Skip = c.Skip
		}
	}
	return &cut
}

// Skips reports whether a client leaves its operation k out.
func (w *Workload) Skips(client string, k int) bool {
	return slices.ContainsFunc(w.Skip, func(s Skip) bool { return s.Client == client && s.From <= k && (k < s.To || s.To == 0) })
}

// Ends reports whether a client leaves out operation k and all that follow.
func (w *Workload) Ends(client string, k int) bool {
	return slices.ContainsFunc(w.Skip, func(s Skip) bool { return s.Client == client && s.From <= k && s.To == 0 })
}
