package propose

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// shownRunes bounds what is shown of a line.
const shownRunes = 160

// example is the first line of a template, without headers.
func (t *template) example() string {
	text := ""
	for _, p := range t.pieces {
		if p.class != header {
			text += p.text
		}
	}
	runes := []rune(strings.ToValidUTF8(t.first.Node+": "+strings.TrimLeft(text, "{"), "?"))
	for i, r := range runes {
		if unicode.IsControl(r) {
			runes[i] = ' '
		}
	}
	if len(runes) > shownRunes {
		return string(runes[:shownRunes]) + "..."
	}
	return string(runes)
}

// Write prints the mapping as a part of bloodhound.yaml. files has the names of files as that should have them; from is what the lines are of.
func (p *Proposal) Write(to io.Writer, files *world.Mapping, from string) error {
	w := bufio.NewWriter(to)
	say := func(indent int, format string, args ...any) {
		fmt.Fprintf(w, "%s# %s\n", strings.Repeat(" ", indent), fmt.Sprintf(format, args...))
	}
	say(0, "A proposal to edit: rules come from words and numbers that the specification and the lines share, not from their meaning.")
	say(0, "Read each rule: is the line written when the step is taken, and before others can see it? Are the arguments those of the step?")
	say(0, "From %s: %s in %s, by nodes %s.", from, plural.Count(p.lines, "line"), plural.Count(len(p.templates), "template"), strings.Join(p.nodes, ", "))
	for _, a := range p.assumptions() {
		say(0, "Check: %s", a)
	}
	fmt.Fprintf(w, "exploration:\n  guide:\n    spec: %s\n", quoted(files.Spec))
	if files.Config != "" {
		fmt.Fprintf(w, "    config: %s\n", quoted(files.Config))
	}
	for i, folder := range files.Library {
		if i == 0 {
			fmt.Fprintln(w, "    library:")
		}
		fmt.Fprintf(w, "      - %s\n", quoted(folder))
	}
	fmt.Fprintf(w, "    lines: %s\n    events:\n", single(p.LinesPattern()))
	for _, a := range p.actions {
		p.writeAction(w, a)
	}
	rules := p.Rules()
	for _, r := range rules[len(p.rules):] {
		fmt.Fprintf(w, "      - %s\n", flow(r))
	}
	frequent := slices.Clone(p.templates)
	frequent = slices.DeleteFunc(frequent, func(t *template) bool {
		return t.count < 2 || slices.ContainsFunc(p.rules, func(m match) bool { return m.template == t })
	})
	slices.SortStableFunc(frequent, func(a, b *template) int { return b.count - a.count })
	if len(frequent) > 0 {
		say(0, "Lines without a rule, the most frequent of %s first. Is one a step?", plural.Count(len(frequent), "template"))
	}
	for _, t := range frequent[:min(len(frequent), mostFrequent)] {
		say(0, "%6d  %s", t.count, t.example())
	}
	return w.Flush()
}

// writeAction prints the rule of an action, and what else fits it.
func (p *Proposal) writeAction(w io.Writer, a *action) {
	i := slices.IndexFunc(p.rules, func(m match) bool { return m.action == a })
	indent := "      # "
	switch {
	case a.wrong != "":
		fmt.Fprintf(w, "%s%s: no rule can use it: %s\n", indent, a, strings.ReplaceAll(a.wrong, "\n", " "))
		return
	case a == p.crash:
		fmt.Fprintf(w, "%s%s: crashes of nodes, below\n", indent, a)
		return
	case a == p.restart:
		fmt.Fprintf(w, "%s%s: restarts of nodes, below\n", indent, a)
		return
	case i < 0:
		fmt.Fprintf(w, "%s%s: nothing found. Log the step, or write a rule\n", indent, a)
	default:
		m := &p.rules[i]
		fmt.Fprintf(w, "%s%s: score %.2f, %s, such as %s\n", indent, a, m.score, plural.Count(m.template.count, "line"), m.template.example())
	}
	for _, m := range p.others[a.name] {
		lacks := ""
		if len(m.guessed) > 0 {
			lacks = ", but no word identifies a number as " + strings.Join(m.guessed, ", ")
		}
		if len(m.missing) > 0 {
			lacks += ", but nothing in the line can be " + strings.Join(m.missing, ", ")
		}
		fmt.Fprintf(w, "%s  or %.2f, %s%s: %s\n", indent, m.score, plural.Count(m.template.count, "line"), lacks, m.template.example())
		if len(m.missing) == 0 {
			fmt.Fprintf(w, "%s  - %s\n", indent, flow(p.rule(&m)))
		}
	}
	if i >= 0 {
		fmt.Fprintf(w, "      - %s\n", flow(p.rule(&p.rules[i])))
	}
}

// assumptions lists the guesses that a person must confirm.
func (p *Proposal) assumptions() (list []string) {
	sets := map[string]bool{}
	for _, a := range p.actions {
		for _, c := range a.params {
			if c.kind == server && !sets[c.Set] {
				sets[c.Set] = true
				list = append(list, c.Set+" is assumed to be the set of nodes.")
			}
		}
	}
	for _, name := range p.unnamed {
		list = append(list, name+" has an alternative without a name, which no rule can use: define it as an operator.")
	}
	if strangers := p.Strangers(); len(strangers) > 0 {
		list = append(list, "the specification does not have "+strings.Join(strangers, ", ")+
			": use these names of nodes in its configuration, or write node: in rules.")
	}
	if len(sets) == 0 {
		list = append(list, "no parameter of the actions seems to be a node.")
	}
	if p.crash == nil {
		list = append(list, "no action has a name like a crash, so crashes are ignored: what does the specification say about what a node loses?")
	}
	if p.restart == nil {
		list = append(list, "no action has a name like a restart, so restarts are ignored: does the log say when a node is up?")
	}
	return list
}

var bare = lazyregexp.New(`^[\w()]+$`)

// quoted is a scalar of YAML.
func quoted(text string) string {
	if bare.MatchString(strings.ReplaceAll(strings.ReplaceAll(text, "/", ""), ".", "")) {
		return text
	}
	return single(text)
}

func single(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// flow is a rule as a flow mapping of YAML.
func flow(r world.ModelRule) string {
	var keys []string
	add := func(key, value string) { keys = append(keys, key+": "+value) }
	switch {
	case r.Log != "":
		add("log", single(r.Log))
	case r.SDK != "":
		add("sdk", single(r.SDK))
	case r.Crash:
		add("crash", "true")
	default:
		add("restart", "true")
	}
	if r.Ignore != "" {
		add("ignore", single(r.Ignore))
	} else {
		var args []string
		for _, a := range r.Args {
			args = append(args, quoted(a))
		}
		add("action", r.Action)
		if len(args) > 0 {
			add("args", "["+strings.Join(args, ", ")+"]")
		}
	}
	if r.Optional {
		add("optional", "true")
	}
	return "{" + strings.Join(keys, ", ") + "}"
}
