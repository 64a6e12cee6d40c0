package source

import (
	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
)

// Words returns the texts of a scalar or of a list of them.
func (n *Node) Words() []string {
	if n == nil {
		return nil
	}
	if n.Kind == Scalar {
		return []string{n.Text}
	}
	var all []string
	for _, item := range n.List() {
		all = append(all, item.Text)
	}
	return all
}

// Argv returns the words of a command: a list as it is, text split as a shell does it.
func (r *Reader) Argv(n *Node, key string) []string {
	if n == nil || n.Kind != Scalar {
		return n.Words()
	}
	words, err := shell.Words(n.Text)
	if err != nil {
		n.Bad = true
		r.Fail(n.Position, `to use a shell write [sh, -c, "..."]; put literal text in quotes`, "%s: %v", key, err)
	}
	return words
}

// IsEmpty reports whether a key has no value, or none with anything in it.
func (e *Entry) IsEmpty() bool {
	return e == nil || !e.Value.Bad && len(e.Value.Items)+len(e.Value.Entries) == 0
}

// IsBad reports whether an entry has a value with a mistake.
func (e *Entry) IsBad() bool { return e != nil && e.Value.Bad }

// Environment resolves names without a value and keeps the last value of each name, in the order of first mention.
func Environment(vars []Variable, lookup func(string) (string, bool)) []string {
	var env []string
	place := map[string]int{}
	for _, v := range vars {
		if !v.Set {
			value, ok := lookup(v.Name)
			if !ok {
				continue
			}
			v.Text = value
		}
		line := v.Name + "=" + v.Text
		if i, ok := place[v.Name]; ok {
			env[i] = line
			continue
		}
		place[v.Name] = len(env)
		env = append(env, line)
	}
	return env
}

// Variable is one line of an environment.
type Variable struct {
	Name string
	Text string
	Set  bool // false: the name alone, to be taken from the environment
}

// Shorten keeps messages on one line.
func Shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// Scalars returns the sound scalars of a scalar or a list.
func (n *Node) Scalars() []*Node {
	if n != nil && n.Kind == Scalar {
		return []*Node{n}
	}
	return n.List()
}
