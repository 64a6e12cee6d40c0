// Package propose guesses which lines of logs are which actions of a TLA+ specification: words that both have, and values in
// lines that can be parameters, give a mapping that a person edits. It knows no meanings, so that what it gives is a proposal and
// no more.
package propose

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/expr-lang/expr/builtin"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/world"
	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Proposal is a mapping that a person is to edit.
type Proposal struct {
	lines     int // and events of an SDK, that were looked at
	templates []*template
	actions   []*action
	unnamed   []string // definitions of which parts are actions without a name
	nodes     []string
	rules     []match            // the best match of each action that has one, in the order of actions
	crash     *action            // whose step a crash is; nil: none
	restart   *action            // the same of a restart
	others    map[string][]match // of each action, what else fits
}

// match is a template that may be the log of an action.
type match struct {
	template *template
	action   *action
	score    float64 // from 0 to 1
	args     []string
	groups   map[int]string
	missing  []string   // parameters that nothing in a line can be
	guessed  []string   // those that are numbers in it which no word calls so
	writer   *parameter // the one that is the node which writes the line; nil: none is
}

// What scores are worth: below leastScore there is no rule, below leastOther, or leastShare of the rule's score, a match is not
// shown. A parameter that nothing can be, or that is guessed, multiplies a score by doubtFactor.
const (
	leastScore   = 0.12
	leastOther   = 0.08
	doubtFactor  = 0.5
	leastShare   = 0.6
	mostOthers   = 4
	mostFrequent = 10
	seldom       = 3 // lines; rules of fewer are optional
)

// New proposes a mapping of events to a specification's actions. The nodes that events name need not be all.
func New(spec *tla.Spec, events []model.Event) (*Proposal, error) {
	p := &Proposal{others: map[string][]match{}}
	nodes, mentioned := map[string]bool{}, map[string]bool{}
	for _, e := range events {
		if e.Kind == model.LineEvent || e.Kind == model.SDKEvent {
			p.lines++
			nodes[e.Node] = true
			for _, piece := range split(e.Line, nil, nil) {
				mentioned[piece.text] = true
			}
		}
	}
	if p.lines == 0 {
		return nil, fmt.Errorf("there are no log lines or SDK events to propose a mapping from: make the nodes log their actions")
	}
	p.nodes = slices.Sorted(maps.Keys(nodes))
	var err error
	if p.actions, p.unnamed, err = actionsOf(spec, nodes, mentioned); err != nil {
		return nil, err
	}
	members := map[string]bool{}
	for _, a := range p.actions {
		for _, c := range a.params {
			for _, m := range c.Members {
				if c.kind == name {
					members[plain(m)] = true
				}
			}
		}
	}
	p.templates = mine(events, nodes, members)
	p.crash = p.fallen(nil, "crash", "fail", "kill", "halt", "die", "down", "power")
	p.restart = p.fallen(p.crash, "restart", "recover", "reboot", "rejoin")
	p.assign()
	return p, nil
}

// fallen is an action of one node whose name has one of the words.
func (p *Proposal) fallen(but *action, words ...string) *action {
	for _, a := range p.actions {
		if a != but && a.wrong == "" && len(a.params) == 1 && a.params[0].kind == server && slices.ContainsFunc(words, a.isNamed) {
			return a
		}
	}
	return nil
}

// assign gives each action the template that fits it best, the best pair first. A template is the log of one action.
func (p *Proposal) assign() {
	rare := p.rarity()
	var all []match
	for _, a := range p.actions {
		if a.wrong != "" || a == p.crash || a == p.restart {
			continue
		}
		for _, t := range p.templates {
			if m := p.fit(a, t, rare); m.score >= leastOther {
				all = append(all, m)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.template.count-a.template.count)
	})
	taken, best := map[*template]bool{}, map[*action]float64{}
	for _, m := range all {
		if m.score >= leastScore && !taken[m.template] && best[m.action] == 0 && len(m.missing)+len(m.guessed) == 0 {
			taken[m.template], best[m.action] = true, m.score
			p.rules = append(p.rules, m)
		}
	}
	for _, m := range all {
		if list := p.others[m.action.name]; !taken[m.template] && len(list) < mostOthers && m.score >= leastShare*best[m.action] {
			p.others[m.action.name] = append(list, m)
		}
	}
	slices.SortStableFunc(p.rules, func(a, b match) int { return slices.Index(p.actions, a.action) - slices.Index(p.actions, b.action) })
}

// rarity is how much a stem distinguishes: the fewer templates and actions have it, the more.
func (p *Proposal) rarity() func(stem string) float64 {
	inTemplates, inActions := map[string]int{}, map[string]int{}
	for _, t := range p.templates {
		words, keys := t.stems()
		for s := range words {
			keys[s] = true
		}
		for s := range keys {
			inTemplates[s]++
		}
	}
	for _, a := range p.actions {
		for s := range a.words {
			inActions[s]++
		}
	}
	return func(s string) float64 {
		return math.Log(1+float64(len(p.templates))/float64(max(inTemplates[s], 1))) * math.Log(1+float64(len(p.actions))/float64(max(inActions[s], 1)))
	}
}

// stems returns the stems of a template's words with their weights, the first words weighing most, and the stems of the
// names of values, which do not say what the line is about.
func (t *template) stems() (words map[string]float64, keys map[string]bool) {
	words, keys = map[string]float64{}, map[string]bool{}
	place := 0.0
	for i, p := range t.pieces {
		if p.class != word {
			continue
		}
		for _, s := range stems(p.text) {
			if t.key(i) {
				keys[s] = true
				continue
			}
			words[s] = max(words[s], 1/(1+place/4))
			place++
		}
	}
	return words, keys
}

// fit is how well a template fits an action: the harmonic mean of how much of the template's words the action explains, and the template of the action's.
func (p *Proposal) fit(a *action, t *template, rare func(string) float64) match {
	m := match{template: t, action: a}
	has, keys := t.stems()
	ofTemplate, ofAction, explained, met := 0.0, 0.0, 0.0, 0.0
	for _, s := range slices.Sorted(maps.Keys(has)) {
		ofTemplate += rare(s) * has[s]
		explained += rare(s) * has[s] * a.words[s]
	}
	for _, s := range slices.Sorted(maps.Keys(a.words)) {
		ofAction += rare(s) * a.words[s]
		if has[s] > 0 || keys[s] {
			met += rare(s) * a.words[s]
		}
	}
	if explained == 0 {
		return m
	}
	precision, recall := explained/ofTemplate, met/ofAction
	m.score = 2 * precision * recall / (precision + recall)
	m.fill(p.nodes)
	m.score *= math.Pow(doubtFactor, float64(len(m.missing)+len(m.guessed)))
	return m
}

// fill finds what the arguments are: the node that writes the line for the first server, and values in the line.
func (m *match) fill(nodes []string) {
	m.groups = map[int]string{}
	m.args = make([]string, len(m.action.params))
	for _, guess := range []bool{false, true} { // what the line calls by its name is not taken for another one
		for i := range m.action.params {
			c := &m.action.params[i]
			if m.args[i] != "" {
				continue
			}
			if c.kind == server && m.writer == nil && c.emits(m.template) {
				m.writer = c
				m.args[i] = c.wrapped("node", node, nodes)
				continue
			}
			at, called := m.place(c)
			if !called && !guess {
				continue
			}
			if at < 0 {
				m.missing = append(m.missing, c.Parameter)
				continue
			}
			if !called && c.kind == natural {
				m.guessed = append(m.guessed, c.Parameter)
			}
			m.groups[at] = groupName(c.Parameter)
			m.args[i] = c.wrapped(m.groups[at], m.template.pieces[at].class, nodes)
		}
	}
}

// emits reports whether a parameter may be who writes a line: not if others are in its set, and who writes is not.
func (c *parameter) emits(t *template) bool {
	return slices.ContainsFunc(c.Members, func(v value.Value) bool { return plain(v) == t.first.Node }) ||
		!slices.ContainsFunc(t.pieces, func(p piece) bool { return p.class == node })
}

// place is the piece of a template that a parameter can be, by its class and by the word before it; -1 if there is none. It reports whether that word is the
// parameter's name, begins so, or is in the action's name.
func (m *match) place(c *parameter) (at int, called bool) {
	at = -1
	most := 0.0
	label, behind := "", false // a word of the action's name was met
	for i := range m.template.pieces {
		p := &m.template.pieces[i]
		if p.class == word {
			label = p.text
			behind = behind || m.action.isNamed(label)
			continue
		}
		worth := c.worth(p)
		if worth == 0 || m.groups[i] != "" || label == "" && c.kind == natural {
			continue
		}
		label, param := strings.ToLower(label), strings.ToLower(c.Parameter)
		names := false
		switch {
		case label == "":
		case label == param || len(stems(param)) > 0 && slices.Equal(stems(label), stems(param)):
			worth, names = worth+1, true
		case strings.HasPrefix(label, param) || strings.HasPrefix(param, label):
			worth, names = worth+0.8, true
		case m.action.isNamed(label): // accepted 3
			worth, names = worth+0.5, true
		}
		if behind {
			worth += 0.2
		}
		if worth > most {
			at, most, called = i, worth, names
		}
	}
	return at, called
}

// worth is how likely a parameter is a piece, by the kinds of both; 0: it is not.
func (c *parameter) worth(p *piece) float64 {
	switch {
	case (c.kind == natural || c.kind == server && kindOf(c.Members) == natural) && p.class == number:
		return 0.5
	case (c.kind == server || c.kind == name) && (p.class == node || p.class == member):
		if slices.ContainsFunc(c.Members, func(v value.Value) bool { return plain(v) == p.text }) {
			return 0.9
		}
		return 0.1
	case (c.kind == server || c.kind == name) && p.class == id && !p.own():
		return 0.3
	}
	return 0
}

// wrapped is an expression of a mapping for a text that is a value of a parameter.
func (c *parameter) wrapped(text string, of class, nodes []string) string {
	switch c.Members[0].(type) {
	case value.Int:
		if prefix := prefixOf(nodes[0]); of == node && prefix != "" {
			return fmt.Sprintf("int(trimPrefix(%s, %q))", text, prefix)
		}
		return "int(" + text + ")"
	case *value.Model:
		return "name(" + text + ")"
	}
	return text
}

// prefixOf is the name of a node without its number.
func prefixOf(node string) string { return strings.TrimRight(node, "0123456789") }

// Strangers are the nodes that write lines of rules and are not in the set that the specification has for nodes, each with that set.
func (p *Proposal) Strangers() (list []string) {
	for _, m := range p.rules {
		if m.writer == nil {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(m.template.nodes)) {
			number := kindOf(m.writer.Members) == natural
			if text := n + " of " + m.writer.Set; !slices.Contains(list, text) && !slices.ContainsFunc(m.writer.Members, func(v value.Value) bool {
				return plain(v) == n || number && prefixOf(p.nodes[0])+plain(v) == n
			}) {
				list = append(list, text)
			}
		}
	}
	return list
}

// reserved are names that expressions of mappings give a meaning.
var reserved = append([]string{"node", "line", "name", "client", "op", "key", "input", "output", "outcome", "found", "in", "not",
	"and", "or", "let", "if", "else", "nil", "true", "false", "matches", "contains", "startsWith",
	"endsWith"}, builtin.Names...)

// groupName is the name of a parameter as that of a group.
func groupName(param string) string {
	if slices.Contains(reserved, param) || param[0] >= '0' && param[0] <= '9' {
		return "the_" + param
	}
	return param
}

func (p *Proposal) rule(m *match) world.ModelRule {
	r := world.ModelRule{Action: m.action.name, Args: m.args, Optional: m.template.count < seldom}
	if m.template.kind == model.SDKEvent {
		r.SDK = p.pattern(m.template, m.groups)
	} else {
		r.Log = p.pattern(m.template, m.groups)
	}
	return r
}

// pattern is one for the lines of a template: the short one, if it is for no lines of others.
func (p *Proposal) pattern(t *template, groups map[int]string) string {
	short := t.pattern(groups, false)
	if strings.Trim(short, ".*") == "" || p.matches(short, t) {
		return t.pattern(groups, true)
	}
	return short
}

// matches reports whether a pattern is for lines of other templates than one.
func (p *Proposal) matches(pattern string, but *template) bool {
	re := regexp.MustCompile(pattern)
	return slices.ContainsFunc(p.templates, func(t *template) bool { return t != but && t.kind == but.kind && re.MatchString(t.first.Line) })
}

// Rules returns the rules of the mapping.
func (p *Proposal) Rules() (list []world.ModelRule) {
	for i := range p.rules {
		list = append(list, p.rule(&p.rules[i]))
	}
	fallen := func(r world.ModelRule, a *action, why string) {
		if r.Ignore = why; a != nil {
			r.Ignore, r.Action, r.Args = "", a.name, []string{a.params[0].wrapped("node", node, p.nodes)}
		}
		list = append(list, r)
	}
	fallen(world.ModelRule{Crash: true}, p.crash, "no action has a name like a crash")
	fallen(world.ModelRule{Restart: true}, p.restart, "no action has a name like a restart")
	return list
}

// Unmapped are the actions that no rule is about.
func (p *Proposal) Unmapped() (list []string) {
	for _, name := range p.unnamed {
		list = append(list, "an alternative of "+name)
	}
	for _, a := range p.actions {
		if a != p.crash && a != p.restart && !slices.ContainsFunc(p.rules, func(m match) bool { return m.action == a }) {
			list = append(list, a.name)
		}
	}
	return list
}

// nothing matches no line of a log that is not about it.
const nothing = "no line of a log is an event"

// LinesPattern returns a pattern of the log lines that are events: those that a rule matches.
func (p *Proposal) LinesPattern() string {
	var texts []string
	for i := range p.rules {
		if m := &p.rules[i]; m.template.kind == model.LineEvent {
			text := p.pattern(m.template, nil)
			if p.matches(text, m.template) { // only the values distinguish it
				text = group.ReplaceAllString(p.rule(m).Log, "(")
			}
			texts = append(texts, text)
		}
	}
	return cmp.Or(strings.Join(texts, "|"), nothing)
}

var group = lazyregexp.New(`\(\?P<\w+>`)
