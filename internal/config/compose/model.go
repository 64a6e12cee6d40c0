package compose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// tree makes a node of a part of the model, and of all below it, with the places where they were written.
func (c *composition) tree(path []string, value any) *source.Node {
	at, _ := c.place(path)
	n := &source.Node{Position: at.value}
	switch v := value.(type) {
	case nil:
		n.Kind = source.Null
	case map[string]any:
		n.Kind = source.Mapping
		first := map[string]rank{}
		for name, value := range v {
			below := append(slices.Clone(path), name)
			at, written := c.place(below)
			first[name] = c.rank(below)
			n.Entries = append(n.Entries, &source.Entry{Key: &source.Node{Position: at.key, Text: name}, Name: name,
				Value: c.tree(below, value), Implied: !written})
		}
		slices.SortFunc(n.Entries, func(a, b *source.Entry) int {
			return cmp.Or(first[a.Name].compare(first[b.Name]), cmp.Compare(a.Name, b.Name))
		})
		if len(path) == 2 && path[0] == "services" {
			implied(n)
		}
	case []any:
		n.Kind = source.List
		for i, value := range v {
			n.Items = append(n.Items, c.tree(append(slices.Clone(path), strconv.Itoa(i)), value))
		}
	case int:
		n.Text = strconv.Itoa(v)
		if path[len(path)-1] == "mode" { // permissions: written as 0440, which is this number
			n.Text = fmt.Sprintf("%#o", v)
		}
	case float64:
		n.Text = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		n.Text = fmt.Sprint(v)
	}
	return n
}

// implied puts the dependencies of a service that no key names, at the place of the key that implies them.
func implied(service *source.Node) {
	for _, on := range service.Get("depends_on").EntriesOf() {
		if !on.Implied {
			continue
		}
		for _, key := range []string{"network_mode", "ipc", "pid"} {
			if mode := service.Get(key); mode != nil && mode.Text == "service:"+on.Name {
				on.Key = &source.Node{Position: mode.Position, Text: key}
			}
		}
		for _, key := range []string{"volumes_from", "links"} {
			for _, item := range service.Get(key).List() {
				if name, _, _ := strings.Cut(item.Text, ":"); name == on.Name {
					on.Key = &source.Node{Position: item.Position, Text: key}
				}
			}
		}
	}
}

// written is the place of a part of the model in a file.
type written struct{ key, value source.Position }

// place finds where a part of the model was written: in the last file that has it, or in what it extends, or else where what
// is around it was written; false then.
func (c *composition) place(path []string) (written, bool) {
	best, deepest := written{}, -1
	for i := len(c.files) - 1; i >= 0; i-- {
		if f := c.files[i]; !f.base {
			if at, depth := c.within(f, path, 0); depth > deepest {
				best, deepest = at, depth
			}
		}
	}
	return best, deepest == len(path)
}

// rank is the first place of a part: its file, and the place there.
type rank struct{ file, line, column int }

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.file, o.file), cmp.Compare(r.line, o.line), cmp.Compare(r.column, o.column))
}

// rank finds the first file that has a part; those that no file has come last.
func (c *composition) rank(path []string) rank {
	for i, f := range c.files {
		if at, depth := c.within(f, path, 0); depth == len(path) && !f.base {
			return rank{i, at.key.Line, at.key.Column}
		}
	}
	return rank{file: len(c.files)}
}

// within follows a path into one file, as deep as it goes.
func (c *composition) within(f *composeFileRead, path []string, chain int) (written, int) {
	n := f.root
	at := written{n.Position, n.Position}
	depth := 0
	for _, name := range path {
		if n.Kind == source.List {
			i, err := strconv.Atoi(name)
			if err != nil { // a list of names, of which the model makes a mapping
				i = slices.IndexFunc(n.Items, func(item *source.Node) bool { return item.Kind == source.Scalar && item.Text == name })
			}
			if i < 0 || i >= len(n.Items) {
				break
			}
			n = n.Items[i]
			at = written{n.Position, n.Position}
		} else {
			e := n.Entry(name)
			if e == nil {
				break
			}
			n = e.Value
			at = written{e.Key.Position, n.Position}
		}
		depth++
	}
	const longest = 32 // of chains of services that extend each other
	if depth == len(path) || depth < 2 || path[0] != "services" || chain == longest {
		return at, depth
	}
	base := f.root.Get("services").Get(path[1]).Get("extends")
	name, from := source.ValueOr(base.Get("service"), ""), f
	if base != nil && base.Kind == source.Scalar {
		name = base.Text
	}
	if file := base.Get("file"); file != nil {
		full := c.reader.Under(file.File.Dir, file.Text)
		i := slices.IndexFunc(c.files, func(o *composeFileRead) bool { return o.path == full })
		if i < 0 {
			return at, depth
		}
		from = c.files[i]
	}
	if name != "" {
		if there, deeper := c.within(from, append([]string{"services", name}, path[2:]...), chain+1); deeper > depth {
			return there, deeper
		}
	}
	return at, depth
}
