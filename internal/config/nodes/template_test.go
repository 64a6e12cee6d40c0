package nodes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
)

// counted lets one node with a count have the given texts, and returns what was counted meanwhile.
func counted(count int, texts ...string) (*filler, *source.Node, error) {
	l := &load.State{Reader: &source.Reader{}, Groups: map[string]load.Group{}}
	list := &source.Node{Kind: source.List}
	for _, text := range texts {
		list.Items = append(list.Items, &source.Node{Kind: source.Scalar, Text: text})
	}
	members := group{}
	for i := range count {
		members = append(members, memberName("n", i+1))
	}
	f := newFiller(l)
	var last *source.Node
	for i, name := range members {
		last = f.fill(list, &member{Name: name, Index: i + 1, Count: count, Nodes: members, Peers: members[1:]}, "nodes.n")
	}
	if len(l.Errs) > 0 {
		return f, last, l.Errs[0]
	}
	return f, last, nil
}

// The work grows with the text that the templates write, and ends at a bound.
func TestWorkOfTemplates(t *testing.T) {
	const peers = `{{.Nodes.Each "http://{}:80"}}`
	f, last, err := counted(keys.MaxNodes, peers, peers+"{{range .Peers}} --peer {{.}}{{end}}")
	if err != nil {
		t.Fatal(err)
	}
	if f.bytes > 5<<20 || f.steps != keys.MaxNodes*(1+1+keys.MaxNodes-1) {
		t.Errorf("%d bytes, %d steps", f.bytes, f.steps)
	}
	if text := last.Items[1].Text; !strings.HasPrefix(text, "http://n1:80,") ||
		!strings.HasSuffix(text, "n239:80,http://n240:80 --peer n2"+text[strings.Index(text, " --peer n3"):]) {
		t.Errorf("%.200s", text)
	}
	doubled := func(function string) string {
		return `{{$a := "\\\\%%"}}` + strings.Repeat(`{{$a = `+function+`}}`, 60) + "{{len $a}}"
	}
	nested := `{{.Peers.Each "{}{}{}{}"}}`
	for range 30 {
		nested = strings.Replace(nested, ".Peers.Each", `(.Peers.Each "{}{}{}{}").Each`, 1)
	}
	for _, c := range []struct{ name, text, want string }{
		{"many lists", strings.Repeat(peers, 100), errFull.Error()},
		{"plain text", strings.Repeat("x", 1<<20), errFull.Error()},
		{"nested ranges", "{{range .Nodes}}{{range $.Nodes}}{{range $.Nodes}}{{end}}{{end}}{{end}}", errSteps.Error()},
		{"a range over a number", "{{range 1000000000000}}{{end}}", errSteps.Error()},
		{"a range in a condition", "{{if .Name}}{{with .Name}}{{range 1000000000000}}{{end}}{{end}}{{end}}", errSteps.Error()},
		{"the other branch of a range", `{{range slice .Nodes 0 0}}{{else}}{{range 1000000000000}}{{end}}{{end}}`, errSteps.Error()},
		{"templates that call " +
			"each other", `{{define "a"}}{{template "b"}}{{template "b"}}{{end}}{{define "b"}}{{if true}}{{template "a"}}{{end}}{{end}}{{template "a"}}`,
			"exceeded maximum template depth"},
		{"a wide number", `{{printf "%900000d %900000d" 1 2}}`, errLongResult.Error()},
		{"a width in an argument", `{{printf "%*d %*d" 900000 1 900000 2}}`, errLongResult.Error()},
		{"printf twice and again", doubled(`printf "%s%s" $a $a`), errLongResult.Error()},
		{"print twice and again", doubled(`print $a $a`), errLongResult.Error()},
		{"js again and again", doubled(`js $a`), errLongResult.Error()},
		{"Each of Each", nested, errLongResult.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _, err := counted(keys.MaxNodes, c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if f.bytes > 2*maxFilledBytes || f.steps > 2*maxSteps {
				t.Errorf("%d bytes and %d steps", f.bytes, f.steps)
			}
		})
	}
}

func TestManyCounts(t *testing.T) {
	l := &load.State{Reader: &source.Reader{}, Groups: map[string]load.Group{}}
	top := &source.Node{Kind: source.Mapping}
	for i := range 10_000 {
		value := &source.Node{Kind: source.Mapping,
			Entries: []*source.Entry{{Key: &source.Node{}, Name: "count",
				Value: &source.Node{Kind: source.Scalar, Text: "240", Position: source.Position{File: &source.File{}}}}}}
		top.Entries = append(top.Entries, &source.Entry{Key: &source.Node{}, Name: fmt.Sprintf("n%d-", i), Value: value})
	}
	Count(l, top)
	if len(top.Entries) > maxCounted || len(l.Errs) != 1 || !strings.Contains(l.Errs[0].Error(), "add up to more than 3840") {
		t.Errorf("%d nodes, %v", len(top.Entries), l.Errs)
	}
}

// A configuration whose nodes all list their peers, as large as it can be.
func BenchmarkCount(b *testing.B) {
	for b.Loop() {
		if _, _, err := counted(keys.MaxNodes-2, strings.Repeat(`{{.Nodes.Each "{}=http://{}:2380"}} `, 8)); err != nil {
			b.Fatal(err)
		}
	}
}
