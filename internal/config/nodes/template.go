package nodes

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// Bounds of what the nodes with `count` become. A list of 238 peers takes about 5 KB, so 238 nodes have room for two dozen such lists each.
const (
	maxFilledBytes = 32 << 20 // texts of all nodes
	maxFilledNodes = 1 << 20  // values, of all nodes
	maxSteps       = 1 << 20  // iterations and inner templates, of all nodes
	maxResultBytes = 1 << 20  // one result within a template
)

// group are names of nodes, written with commas between them.
type group []string

func (g group) String() string { return strings.Join(g, ",") }

// Each writes a text for each name, in which {} is the name.
func (g group) Each(text string) (group, error) {
	places := strings.Count(text, "{}")
	sizeBytes := 0
	for _, name := range g {
		if sizeBytes += len(text) + places*len(name); sizeBytes > maxResultBytes {
			return nil, errLongResult
		}
	}
	var all group
	for _, name := range g {
		all = append(all, strings.ReplaceAll(text, "{}", name))
	}
	return all, nil
}

var (
	errLongResult = fmt.Errorf("one result has more than %d bytes", maxResultBytes)
	errFull       = fmt.Errorf("the nodes with a count have more than %d MiB of text, or more than %d values", maxFilledBytes>>20, maxFilledNodes)
	errSteps      = fmt.Errorf("the templates take more than %d steps", maxSteps)
)

// filler makes the nodes that `count` stands for, within the bounds of all of them.
type filler struct {
	*load.State
	templates map[*source.Node]*template.Template // nil for those with a mistake, which was reported
	bytes     int
	nodes     int
	steps     int
	full      bool // a bound was reached, and reported
}

func newFiller(l *load.State) *filler {
	return &filler{State: l, templates: map[*source.Node]*template.Template{}}
}

// fill copies a value for one member.
func (f *filler) fill(n *source.Node, m *member, path string) *source.Node {
	c := *n
	if f.nodes++; f.nodes > maxFilledNodes {
		f.bound(n, path, errFull)
	}
	if f.full {
		c.Bad, c.Items, c.Entries = true, nil, nil
		return &c
	}
	if n.Kind == source.Scalar && strings.Contains(n.Text, "{{") {
		text, sound := f.filled(n, m, path)
		c.Text, c.Bad = text, c.Bad || !sound
	} else if f.bytes += len(n.Text); f.bytes > maxFilledBytes {
		f.bound(n, path, errFull)
	}
	c.Items, c.Entries = nil, nil
	for i, item := range n.Items {
		c.Items = append(c.Items, f.fill(item, m, fmt.Sprintf("%s[%d]", path, i)))
	}
	for _, e := range n.Entries {
		key := *e.Key
		c.Entries = append(c.Entries, &source.Entry{Key: &key, Name: e.Name, Value: f.fill(e.Value, m, path+"."+e.Name), Implied: e.Implied})
	}
	return &c
}

// bound reports the first bound that was reached. The values that follow are left out.
func (f *filler) bound(n *source.Node, path string, err error) {
	if !f.full {
		f.full = true
		f.Fail(n.Position, "use fewer nodes, or lists of fewer peers", "%s: %v", path, err)
	}
}

// filledText is the text of one template.
type filledText struct {
	strings.Builder
	*filler
}

func (t *filledText) Write(p []byte) (int, error) {
	if t.bytes += len(p); t.bytes > maxFilledBytes {
		return 0, errFull
	}
	return t.Builder.Write(p)
}

// unknownName is how a template says that it names what is not there.
var unknownName = regexp.MustCompile(`<([^>]*)>: can't evaluate field`)

const templateNames = "use .Name, .Index, .Count, .Peers or .Nodes"

// filled executes a template for one member, and reports whether it succeeded.
func (f *filler) filled(n *source.Node, m *member, path string) (string, bool) {
	text := &filledText{filler: f}
	t, known := f.templates[n]
	var err error
	if !known {
		t, err = f.parse(n.Text)
		f.templates[n] = t
	}
	if err == nil && t != nil {
		err = t.Execute(text, m)
	}
	if err == nil {
		return text.String(), t != nil
	}
	for _, bound := range []error{errFull, errSteps} {
		if errors.Is(err, bound) {
			f.bound(n, path, bound)
			return "", false
		}
	}
	f.templates[n] = nil // one report is enough
	if at := unknownName.FindStringSubmatch(err.Error()); at != nil {
		f.Fail(n.Position, templateNames, "%s: %s in the template is not a field of a node with a count", path, at[1])
	} else {
		f.Fail(n.Position, templateNames+`, and {{"{{"}} for two braces`, "%s is not a valid template: %s", path, strings.TrimPrefix(err.Error(), "template: :"))
	}
	return "", false
}

// stepName is the function that parse adds to templates. No template of a user can call it by that name.
const stepName = "step"

// parse reads a template. Each of its lists (what a range repeats, the body of an inner template) then begins with a step that counts.
func (f *filler) parse(text string) (*template.Template, error) {
	t, err := template.New("").Funcs(boundedFunctions).Parse(text)
	if err != nil {
		return nil, err
	}
	counting := template.FuncMap{stepName: f.step}
	one, err := template.New("").Funcs(counting).Parse("{{" + stepName + "}}")
	if err != nil {
		return nil, err
	}
	for _, inner := range t.Templates() {
		addSteps(inner.Root, one.Root.Nodes[0])
	}
	return t.Funcs(counting), nil
}

func (f *filler) step() (string, error) {
	if f.steps++; f.steps > maxSteps {
		return "", errSteps
	}
	return "", nil
}

// addSteps puts a step at the start of a list, and of all lists in it.
func addSteps(list *parse.ListNode, step parse.Node) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.IfNode:
			addSteps(n.List, step)
			addSteps(n.ElseList, step)
		case *parse.RangeNode:
			addSteps(n.List, step)
			addSteps(n.ElseList, step)
		case *parse.WithNode:
			addSteps(n.List, step)
			addSteps(n.ElseList, step)
		}
	}
	list.Nodes = append([]parse.Node{step}, list.Nodes...)
}

// boundedFunctions are those of text/template that make new text. Variables and pipelines can double a text again and again, so each result
// is bounded.
var boundedFunctions = template.FuncMap{
	"print":    bounded(fmt.Sprint),
	"println":  bounded(fmt.Sprintln),
	"html":     bounded(template.HTMLEscaper),
	"js":       bounded(template.JSEscaper),
	"urlquery": bounded(template.URLQueryEscaper),
	"printf":   printf,
}

func bounded(f func(args ...any) string) func(args ...any) (string, error) {
	return func(args ...any) (string, error) {
		sizeBytes := 0
		for _, arg := range args {
			if sizeBytes += textBytes(arg); sizeBytes > maxResultBytes {
				return "", errLongResult
			}
		}
		text := f(args...)
		if len(text) > maxResultBytes {
			return "", errLongResult
		}
		return text, nil
	}
}

var numbers = regexp.MustCompile(`[0-9]+`)

// printf refuses what could become too long before it formats: each verb may write the longest argument, or be as wide as a number says.
func printf(format string, args ...any) (string, error) {
	longest := 0
	for _, arg := range args {
		longest = max(longest, textBytes(arg))
		if width, ok := arg.(int); ok && strings.Contains(format, "*") {
			longest = max(longest, width, -width)
		}
	}
	for _, digits := range numbers.FindAllString(format, -1) {
		width, err := strconv.Atoi(digits)
		if err != nil {
			return "", errLongResult
		}
		longest = max(longest, width)
	}
	verbs := strings.Count(format, "%")
	if longest > maxResultBytes || len(format)+verbs*longest > maxResultBytes {
		return "", errLongResult
	}
	return bounded(func(...any) string { return fmt.Sprintf(format, args...) })(format)
}

// textBytes is about as long as what fmt writes of a value in a template.
func textBytes(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case group:
		sizeBytes := 0
		for _, name := range v {
			sizeBytes += len(name) + 1
		}
		return sizeBytes
	case *member:
		return len(v.Name) + textBytes(v.Nodes) + textBytes(v.Peers)
	}
	return 32
}
