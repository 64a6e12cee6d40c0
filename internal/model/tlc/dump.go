package tlc

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/bloodhound-dst/bloodhound/tla"
)

// Dump writes the states that a check reaches, or the graph of them, as TLC's -dump does.
type Dump struct {
	// Dot means the graph, in the language of dot; Labels and Colours tell actions apart in it.
	Dot, Labels, Colours bool

	w      *bufio.Writer
	colors map[string]int // of the names of actions
}

// StartWriting directs the dump to w, and writes its head.
func (d *Dump) StartWriting(w io.Writer) {
	d.w = bufio.NewWriterSize(w, 1<<16)
	if d.Dot {
		d.colors = map[string]int{}
		fmt.Fprint(d.w, "strict digraph states {\nnode [shape=box,style=rounded]\nedge [colorscheme=\"paired12\"]\n")
	}
}

// Reached writes a state, or a step to one.
func (d *Dump) Reached(spec *tla.Spec, r tla.Reached) {
	text := func() string { return strings.TrimRight(spec.Text(tla.Step{State: r.State}), "\n") }
	switch {
	case !d.Dot:
		if r.New {
			fmt.Fprintf(d.w, "State %d:\n%s\n\n", r.To, text())
		}
		return
	case r.New && r.From == 0:
		fmt.Fprintf(d.w, "%d [label=%s,style=filled];\n", r.To, quotedLabel(text()))
	case r.New:
		fmt.Fprintf(d.w, "%d [label=%s];\n", r.To, quotedLabel(text()))
	}
	if r.From == 0 {
		return
	}
	var attributes []string
	if d.Labels {
		attributes = append(attributes, fmt.Sprintf("label=%q", r.Action.Name))
	}
	if d.Colours {
		if d.colors[r.Action.Name] == 0 {
			d.colors[r.Action.Name] = len(d.colors)%12 + 1
		}
		attributes = append(attributes, fmt.Sprintf(`color="%[1]d",fontcolor="%[1]d"`, d.colors[r.Action.Name]))
	}
	fmt.Fprintf(d.w, "%d -> %d [%s];\n", r.From, r.To, strings.Join(attributes, ","))
}

// quotedLabel is a text as a label of dot, whose lines start at the left.
func quotedLabel(text string) string {
	return `"` + strings.ReplaceAll(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text), "\n", `\l`) + `\l"`
}

// End writes what is left.
func (d *Dump) End() error {
	if d.Dot {
		fmt.Fprintln(d.w, "}")
	}
	return d.w.Flush()
}
