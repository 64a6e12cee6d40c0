package nodes

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// member is what the templates of a node with `count` can name.
type member struct {
	Name  string // n2
	Index int    // 2
	Count int    // 3
	Nodes group  // n1, n2, n3
	Peers group  // n1, n3
}

// group are names of nodes, written with commas between them.
type group []string

func (g group) String() string { return strings.Join(g, ",") }

// Each writes a text for each name, in which {} is the name.
func (g group) Each(text string) group {
	var all group
	for _, name := range g {
		all = append(all, strings.ReplaceAll(text, "{}", name))
	}
	return all
}

const templateNames = "use .Name, .Index, .Count, .Peers or .Nodes"

// Count puts the nodes that `count` stands for in its place: NAME1, NAME2 and so on, with the templates in their texts filled in. It comes before anything else
// reads `nodes`. A count that is no number is left to the comparison with the table of keys.
func Count(l *load.State, n *source.Node) {
	if n == nil || n.Kind != source.Mapping {
		return
	}
	var all []*source.Entry
	for _, e := range n.Entries {
		count, ok := countOf(e.Value)
		if !ok {
			all = append(all, e)
			continue
		}
		var members group
		for i := 1; i <= count; i++ {
			members = append(members, memberName(e.Name, i))
		}
		for i, name := range members {
			if same := n.Entry(name); same != nil {
				l.Fail(same.Key.Position, "rename one of them", "nodes.%s is also the name of a node that nodes.%s with `count: %d` stands for", name, e.Name, count)
			}
			m := member{Name: name, Index: i + 1, Count: count, Nodes: members, Peers: slices.Concat(members[:i], members[i+1:])}
			l.Groups[name] = load.Group{Name: e.Name, At: e.Key.Position}
			all = append(all, &source.Entry{Key: e.Key, Name: name, Value: fill(l, e.Value, &m, "nodes."+e.Name)})
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

// fill copies a value for one member.
func fill(l *load.State, n *source.Node, m *member, path string) *source.Node {
	c := *n
	if n.Kind == source.Scalar && strings.Contains(n.Text, "{{") {
		var sound bool
		c.Text, sound = filled(l, n, m, path)
		c.Bad = c.Bad || !sound
	}
	c.Items, c.Entries = nil, nil
	for i, item := range n.Items {
		c.Items = append(c.Items, fill(l, item, m, fmt.Sprintf("%s[%d]", path, i)))
	}
	for _, e := range n.Entries {
		key := *e.Key
		c.Entries = append(c.Entries, &source.Entry{Key: &key, Name: e.Name, Value: fill(l, e.Value, m, path+"."+e.Name), Implied: e.Implied})
	}
	return &c
}

// unknownName is how a template says that it names what is not there.
var unknownName = regexp.MustCompile(`<([^>]*)>: can't evaluate field`)

// filled is the text of a template for one member. It reports whether there is no mistake in it.
func filled(l *load.State, n *source.Node, m *member, path string) (string, bool) {
	t, err := template.New("").Parse(n.Text)
	var text strings.Builder
	if err == nil {
		err = t.Execute(&text, m)
	}
	if err == nil {
		return text.String(), true
	}
	if at := unknownName.FindStringSubmatch(err.Error()); at != nil {
		l.Fail(n.Position, templateNames, "%s: %s in the template is nothing that a node with a count has", path, at[1])
	} else {
		l.Fail(n.Position, templateNames+`, and {{"{{"}} for two braces`, "%s is no template: %s", path, strings.TrimPrefix(err.Error(), "template: :"))
	}
	return "", false
}
