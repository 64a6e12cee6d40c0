// Package loglines finds which lines of a run's log are unusual, by how many other runs have written such lines.
package loglines

import (
	"hash/fnv"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Bounds of what is kept of logs.
const (
	MaxOfRun     = 4000 // distinct templates of one run
	MaxTemplates = 4000 // distinct templates of all runs
)

// varying are the words that differ between lines which say the same: with a digit in them, or as long as a random name.
var varying = regexp.MustCompile(`[0-9A-Za-z_]*[0-9][0-9A-Za-z_]*|[A-Z]{12,}`)

// repeated are rows of the same number, such as the bytes of an address.
var repeated = regexp.MustCompile(`#(?:[.:/+,-]#)+`)

// Template is a line without what differs between lines that say the same: times, numbers, names of connections.
func Template(text string) string {
	return repeated.ReplaceAllString(varying.ReplaceAllString(text, "#"), "#")
}

// Key identifies a template that nodes of a group write.
func Key(group, template string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(group))
	h.Write([]byte{0})
	h.Write([]byte(template))
	return h.Sum64()
}

// Groups gives each node the name of the first node that runs the same program in the same role.
func Groups(spec *world.Spec) map[string]string {
	groups, first := map[string]string{}, map[string]string{}
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		what := string(n.Role) + " " + program(n)
		if first[what] == "" {
			first[what] = n.Name
		}
		groups[n.Name] = first[what]
	}
	return groups
}

// interpreters are programs that say little about what a node runs.
var interpreters = []string{"sh", "bash", "dash", "env", "python", "python3", "node", "java", "ruby", "perl"}

// program identifies the program of a node: its image, its program and, after an interpreter, the script.
func program(n *world.Node) string {
	what := ""
	if n.Image != nil {
		what = n.Image.Name
	}
	if len(n.Command) == 0 {
		return what
	}
	what += " " + n.Command[0]
	if !slices.Contains(interpreters, path.Base(n.Command[0])) {
		return what
	}
	for _, argument := range n.Command[1:] {
		if !strings.HasPrefix(argument, "-") {
			return what + " " + argument
		}
	}
	return what
}

// Keys lists the templates of a run's log, each once.
func Keys(spec *world.Spec, log []record.LogLine) (keys []uint64) {
	groups := Groups(spec)
	seen := map[uint64]bool{}
	for i := range log {
		k := Key(groups[log[i].Node], Template(log[i].Text))
		if seen[k] {
			continue
		}
		if len(keys) == MaxOfRun {
			break
		}
		seen[k] = true
		keys = append(keys, k)
	}
	return keys
}

// Counts says in how many runs each template was written.
type Counts struct {
	Runs      uint64            `json:"runs"`
	Templates map[uint64]uint64 `json:"templates,omitempty"`
	// Full says that there were more templates than are kept, so that one that is missing may have been written all the same.
	Full bool `json:"full,omitempty"`
}

// Add takes in the templates of a run.
func (c *Counts) Add(keys []uint64) {
	c.Runs++
	if c.Templates == nil {
		c.Templates = map[uint64]uint64{}
	}
	c.Full = c.Full || len(keys) == MaxOfRun
	for _, k := range keys {
		if c.Templates[k] > 0 || len(c.Templates) < MaxTemplates {
			c.Templates[k]++
		} else {
			c.Full = true
		}
	}
}

// Unusual is a line of a log, by how many runs have written such a line.
type Unusual struct {
	Line  int    // its place in the log: the first of its template
	Times int    // how often the log has such a line
	Runs  uint64 // how many of the counted runs have one
}

// rare is the share of runs in which a template is rare, one of so many.
const rare = 10

// Unusual lists the templates of a log that none, or few, of the counted runs have: the rarest first, and among those the
// first in the log. Lines that are not wanted do not count.
func (c *Counts) Unusual(spec *world.Spec, log []record.LogLine, wanted func(l *record.LogLine) bool) (list []Unusual) {
	groups := Groups(spec)
	at := map[uint64]int{}
	for i := range log {
		if !wanted(&log[i]) {
			continue
		}
		k := Key(groups[log[i].Node], Template(log[i].Text))
		if j, known := at[k]; known {
			list[j].Times++
			continue
		}
		at[k] = len(list)
		list = append(list, Unusual{i, 1, c.Templates[k]})
	}
	list = slices.DeleteFunc(list, func(u Unusual) bool { return u.Runs*rare > c.Runs })
	slices.SortStableFunc(list, func(a, b Unusual) int { return int(min(a.Runs, 1<<30)) - int(min(b.Runs, 1<<30)) })
	return list
}
