package nodes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// member holds the names that templates of a node with `count` can use.
type member struct {
	Name  string // n2
	Index int    // 2
	Count int    // 3
	Nodes group  // n1, n2, n3
	Peers group  // n1, n3
}

// maxCounted bounds the nodes that all counts make. Profiles may leave out some of them, so there can be more than a world has.
const maxCounted = 16 * keys.MaxNodes

// Count puts the nodes that `count` stands for in its place: NAME1, NAME2 and so on, with the templates in their texts filled in. It comes before anything else
// reads `nodes`. A count that is no number is left to the comparison with the table of keys.
func Count(l *load.State, n *source.Node) {
	if n == nil || n.Kind != source.Mapping {
		return
	}
	written := map[string]*source.Entry{}
	for _, e := range n.Entries {
		written[e.Name] = e
	}
	var all []*source.Entry
	f := newFiller(l)
	made := 0
	for _, e := range n.Entries {
		count, ok := countOf(e.Value)
		if !ok {
			all = append(all, e)
			continue
		}
		if made += count; made > maxCounted {
			l.Fail(e.Key.Position, "use fewer nodes", "the counts of nodes add up to more than %d", maxCounted)
			break
		}
		var members group
		for i := 1; i <= count; i++ {
			members = append(members, memberName(e.Name, i))
		}
		for i, name := range members {
			if same := written[name]; same != nil {
				l.Fail(same.Key.Position, "rename one of them",
					"nodes.%s is also the name of a node that nodes.%s creates with `count: %d`", name, e.Name, count)
			}
			m := member{Name: name, Index: i + 1, Count: count, Nodes: members, Peers: slices.Concat(members[:i], members[i+1:])}
			l.Groups[name] = load.Group{Name: e.Name, At: e.Key.Position}
			all = append(all, &source.Entry{Key: e.Key, Name: name, Value: f.fill(e.Value, &m, "nodes."+e.Name)})
		}
	}
	n.Entries = all
}

// countOf is the number of nodes that a node stands for; false if it has no `count`, or none that can be read.
func countOf(n *source.Node) (int, bool) {
	c := n.Get("count")
	if c == nil || c.Kind != source.Scalar {
		return 0, false
	}
	text, _, err := shell.Interpolate(c.Text, c.File.Lookup)
	if err != nil {
		return 0, false
	}
	count, err := strconv.Atoi(text)
	return count, err == nil && count >= 1 && count <= keys.MaxNodes
}

// memberName keeps the number apart from one that the name ends with.
func memberName(of string, i int) string {
	if of != "" && strings.ContainsAny(of[len(of)-1:], "0123456789") {
		return fmt.Sprintf("%s-%d", of, i)
	}
	return fmt.Sprintf("%s%d", of, i)
}
