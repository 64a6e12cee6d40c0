package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
)

// check compares a value with its shape, and stores in it what the rest of the package reads. What is wrong is reported
// and marked, and the rest is still checked. The path is the key's place, such as faults.network.drop_rate.
func (c *checker) check(n *source.Node, s *Shape, path string, verbatim bool) {
	if n.Bad || s.Kind == Anything {
		return
	}
	if n.Kind == source.Null && s.Empty {
		n.Kind = source.Mapping
		if s.Kind == Sequence {
			n.Kind = source.List
		}
	}
	if n.Kind == source.Null {
		n.Bad = true
		c.Fail(n.Position, "write a value, or remove the key", "%s has no value", path)
		return
	}
	if !s.Accepts(n.Kind) {
		n.Bad = true
		c.Fail(n.Position, "write "+s.String(), "%s cannot be %s", path, n.Kind)
		return
	}
	switch s.Kind {
	case Either:
		for i := range s.Alts {
			if s.Alts[i].Accepts(n.Kind) {
				c.check(n, &s.Alts[i], path, verbatim)
				return
			}
		}
	case Section:
		c.checkSection(n, s, path, verbatim)
	case Dictionary:
		for _, e := range n.Entries {
			if !e.Implied && s.Names != nil && !s.Names.MatchString(e.Name) {
				e.Value.Bad = true
				c.Fail(e.Key.Position, "use letters and digits, and - _ . after the first character", "%q is not a valid name in %s", e.Name, path)
				continue
			}
			c.check(e.Value, s.Item, path+"."+e.Name, verbatim)
		}
	case Sequence:
		for i, item := range n.Items {
			c.check(item, s.Item, fmt.Sprintf("%s[%d]", path, i), verbatim)
		}
	case Variables:
		c.checkVariables(n, path, verbatim)
	case Span:
		c.checkSpan(n, path)
	default:
		if verbatim || c.fill(n, path) {
			c.checkScalar(n, s, path)
		}
	}
}

// fill puts variables into a scalar.
func (c *checker) fill(n *source.Node, path string) bool {
	filled, unset, err := shell.Interpolate(n.Text, n.File.Lookup)
	if err == shell.ErrDollar {
		n.Bad = true
		c.Fail(n.Position, "write $$ for a dollar sign, $NAME or ${NAME} for a variable", "%s has a dollar sign without a variable", path)
		return false
	}
	if err != nil {
		n.Bad = true
		c.Fail(n.Position, "set the variable in the environment or in .env, or write $$ for a dollar sign", "%s: %v", path, err)
		return false
	}
	if !c.Fill(n.Position, filled) {
		n.Bad = true
		return false
	}
	for _, name := range unset {
		c.Note(n.Position, path, "variable %s is not set, so it is empty; %s, or $$ for a dollar sign", name, source.SetRemedy([]string{name}))
	}
	slices.Sort(unset)
	n.LeaveUnset(slices.Compact(unset))
	n.Text = filled
	return true
}

func (c *checker) checkSection(n *source.Node, s *Shape, path string, verbatim bool) {
	for _, e := range n.Entries {
		key := Join(path, e.Name)
		f := s.Field(e.Name)
		switch {
		case f == nil && s.Open && strings.HasPrefix(e.Name, "x-"):
			if !e.Implied && !e.Key.File.Compose { // there, everybody knows them
				c.Idle(e.Key.Position, key, "an extension; it may define anchors for the rest of the file")
			}
			e.Value.Bad = true
			continue
		case f == nil:
			e.Value.Bad, n.Incomplete = true, true
			c.Fail(e.Key.Position, s.elsewhere(c.root, path, e.Name), "unknown key %q%s", e.Name, within(path))
			continue
		case f.Refused != "":
			e.Value.Bad = true
			c.Fail(e.Key.Position, f.Refused, "%s is not supported", key)
			continue
		}
		if f.SpellingOf != "" {
			if first := n.Entry(f.SpellingOf); first != nil {
				e.Value.Bad = true
				c.Fail(e.Key.Position, "remove one of the two", "%s is another spelling of %s, on line %d", key, first.Key.Text, first.Key.Line)
				continue
			}
			if !f.Equal {
				c.Note(e.Key.Position, key, "accepted spelling: %s; the usual one is %s", f.Name, f.SpellingOf)
			}
			e.Name = f.SpellingOf
		}
		if f.Idle != "" && !e.Implied {
			c.Idle(e.Key.Position, key, f.Idle)
		}
		c.check(e.Value, &f.Shape, key, verbatim || f.Verbatim)
		if e.Value.Kind == source.Scalar { // mistakes may be found at the key
			e.Key.LeaveUnset(e.Value.File.Unset[e.Value.Spot()])
		}
	}
}

// elsewhere is the remedy for a key that is unknown at a path: the nearest one of the section, or the section where it belongs. Of several
// such sections it is one that shares most of the path. One of list items or of names of the user's own must share some.
func (s *Shape) elsewhere(root *Shape, path, written string) string {
	var names []string
	for i := range s.Fields {
		if s.Fields[i].Refused == "" {
			names = append(names, s.Fields[i].Name)
		}
	}
	var places []string
	most := 0
	WalkKeys(root, "", func(at string, f *Field) {
		parent, name := Split(at)
		if name != written || f.Refused != "" {
			return
		}
		switch both := shared(parent, path); {
		case both > most:
			places, most = []string{parent}, both
		case both == most && (most > 0 || !strings.ContainsAny(parent, "*[")):
			places = append(places, parent)
		}
	})
	near := suggest.Nearest(written, names)
	switch {
	case near != "" && (len(places) == 0 || suggest.Distance(near, written) <= 2):
		return fmt.Sprintf("did you mean %q?", near)
	case len(places) > 0:
		if places[0] == "" {
			return "write it at the top level of the file, without indentation"
		}
		return fmt.Sprintf("it belongs under %q", places[0])
	case len(names) > 16:
		if alike := beginAlike(written, names); len(alike) > 0 {
			return fmt.Sprintf("did you mean one of %s? `bloodhound docs config` has the keys", strings.Join(alike, ", "))
		}
		return "see `bloodhound docs config` for the keys"
	}
	return "the keys of this section are " + strings.Join(names, ", ")
}

// maxAlike bounds the keys that a remedy names because they begin like an unknown one.
const maxAlike = 4

// beginAlike names the keys whose first word is that of an unknown one: partition_rate is partition_probability here.
func beginAlike(written string, names []string) (alike []string) {
	first, _, parts := strings.Cut(written, "_")
	for _, name := range names {
		if word, _, _ := strings.Cut(name, "_"); parts && word == first && len(alike) < maxAlike {
			alike = append(alike, name)
		}
	}
	return alike
}

// shared counts the names with which two paths begin alike.
func shared(a, b string) (n int) {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for n < min(len(x), len(y)) && x[n] == y[n] && x[n] != "" {
		n++
	}
	return n
}

func within(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// checkSpan reads [a, b] or a single number of milliseconds.
func (c *checker) checkSpan(n *source.Node, path string) {
	one := Shape{Kind: Millis}
	ends := n.Items
	if n.Kind == source.Scalar {
		ends = []*source.Node{n}
	}
	for _, e := range ends {
		c.check(e, &one, path, false)
		n.Bad = n.Bad || e.Bad
	}
	if n.Bad {
		return
	}
	if len(ends) != 1 && len(ends) != 2 {
		n.Bad = true
		c.Fail(n.Position, "write [shortest, longest]", "%s has %d numbers", path, len(ends))
		return
	}
	from, to := ends[0].Value.(int64), ends[len(ends)-1].Value.(int64)
	if from > to {
		n.Bad = true
		c.Fail(n.Position, fmt.Sprintf("write [%d, %d]", to/1e6, from/1e6), "%s: the end is below the start", path)
		return
	}
	n.Value = [2]int64{from, to}
}

// checkVariables reads an environment, as a mapping or as a list.
func (c *checker) checkVariables(n *source.Node, path string, verbatim bool) {
	var vars []source.Variable
	add := func(at *source.Node, v source.Variable) {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.Contains(v.Text, "\x00") {
			c.Fail(at.Position, "write NAME: value or NAME=value", "%s: a variable has no name", path)
			return
		}
		vars = append(vars, v)
	}
	for _, e := range n.Entries {
		switch {
		case e.Value.Bad:
		case e.Value.Kind == source.Null:
			add(e.Key, source.Variable{Name: e.Name})
		case e.Value.Kind != source.Scalar:
			c.Fail(e.Value.Position, "write text", "%s.%s cannot be %s", path, e.Name, e.Value.Kind)
		case verbatim || c.fill(e.Value, Join(path, e.Name)):
			add(e.Key, source.Variable{Name: e.Name, Text: e.Value.Text, Set: true})
		}
	}
	for _, item := range n.Items {
		switch {
		case item.Bad:
		case item.Kind != source.Scalar:
			c.Fail(item.Position, "write NAME=value", "an item of %s cannot be %s", path, item.Kind)
		case verbatim || c.fill(item, path):
			name, value, set := strings.Cut(item.Text, "=")
			add(item, source.Variable{Name: name, Text: value, Set: set})
		}
	}
	n.Value = vars
}

// checker compares a file with the table of its keys.
type checker struct {
	*source.Reader
	root *Shape
}

// Check compares a file with the table of its keys, and stores in the nodes the typed values that the rest of the loader reads.
// It reports all mistakes. verbatim values have no variables to fill in.
func Check(r *source.Reader, n *source.Node, root *Shape, verbatim bool) {
	c := &checker{r, root}
	c.check(n, root, "", verbatim)
}
