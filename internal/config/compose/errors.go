package compose

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// modelPath finds the part of the model that an error of compose-go is about.
var modelPath = regexp.MustCompile(`\b(services|networks|volumes|secrets|configs|include)(\.[\w.\[\]-]+)`)

// namedService finds the service that one is about.
var namedService = regexp.MustCompile(`(?:service|extend service) "([^"]+)"`)

// failed reports an error of compose-go at the place that it is about, if that is known.
func (c *composition) failed(err error) {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	if slices.ContainsFunc(lines, func(line string) bool { return !modelPath.MatchString(line) }) { // one mistake
		lines = []string{strings.Join(lines, " ")}
	}
	for _, line := range lines {
		c.failedAt(line)
	}
}

func (c *composition) failedAt(message string) {
	for _, f := range c.files {
		message = strings.TrimPrefix(message, "validating "+f.path+": ")
	}
	var path []string
	if m := modelPath.FindStringSubmatch(message); m != nil {
		path = strings.FieldsFunc(m[0], func(r rune) bool { return strings.ContainsRune(".[]", r) })
	} else if m := namedService.FindStringSubmatch(message); m != nil {
		path = []string{"services", m[1]}
	}
	at, _ := c.place(path)
	located := path != nil
	if path == nil {
		if n := c.mentioned(message); n != nil {
			at.key, located = n.Position, true
		}
	}
	remedy := "see https://docs.docker.com/reference/compose-file/ for the format"
	if names := c.unset(); len(names) > 0 && !located { // one of them may be the cause, wherever it is
		message += " (unset variables, which are empty: " + strings.Join(names, ", ") + ")"
		remedy = source.SetRemedy(names) + "; otherwise: " + remedy
	}
	c.reader.Fail(at.key, remedy, "%s", message)
}

// unset are the variables that have no value somewhere in the files.
func (c *composition) unset() (names []string) {
	for _, f := range c.files {
		for _, missing := range f.root.File.Unset {
			names = append(names, missing...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// mentioned finds the value that an error is about: the first that holds all that it says, or else the longest that it quotes.
func (c *composition) mentioned(message string) *source.Node {
	const shortest = 3 // in bytes; shorter ones are quoted by chance
	_, said, _ := strings.Cut(message, ": ")
	var holds, quoted *source.Node
	var search func(n *source.Node)
	search = func(n *source.Node) {
		if n.Kind == source.Scalar && holds == nil && len(said) >= shortest && strings.Contains(n.Text, said) {
			holds = n
		}
		if n.Kind == source.Scalar && len(n.Text) >= shortest && strings.Contains(said, n.Text) && (quoted == nil || len(n.Text) > len(quoted.Text)) {
			quoted = n
		}
		for _, item := range n.Items {
			search(item)
		}
		for _, e := range n.Entries {
			search(e.Value)
		}
	}
	for _, f := range c.files {
		search(f.root)
	}
	return cmp.Or(holds, quoted)
}
