// Package random makes specifications in TLA+ at random: graphs of modules that extend and instance each other, with constants, definitions of the same name,
// and configurations that put values and operators in their place. Their states are few. They are for comparing package tla with TLC.
package random

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// Root is the module that is to be checked. Its configuration is Root + ".cfg".
const Root = "T"

// Make has the files of the specification of a number, by name.
func Make(number uint64) map[string]string {
	g := &maker{dice: dice{splitmix.Mix(number + 1)}, files: map[string]string{}}
	for i := range 2 + g.below(4) {
		g.module(string(rune('A' + i)))
	}
	g.root()
	return g.files
}

// maker makes one specification.
type maker struct {
	dice
	files        map[string]string
	modules      []*module
	parametrized bool // an instance has parameters
}

// name is something that an expression can use: of integers, with parameters that are integers.
type name struct {
	text     string // with the instances before it; %s stands for an argument of an instance
	arity    int
	states   bool // it depends on a variable
	declared bool // a constant
	local    bool
}

// module is what others can extend or instance.
type module struct {
	name      string
	names     []name // what it defines and declares, and what it has of those that it extends
	variables []string
	extends   []*module
	instances []*module
	text      strings.Builder
}

// uses reports whether a module is another one, or is made with it.
func (m *module) uses(other *module) bool {
	of := func(n *module) bool { return n.uses(other) }
	return m == other || slices.ContainsFunc(m.extends, of) || slices.ContainsFunc(m.instances, of)
}

func (m *module) has(text string) bool {
	return slices.ContainsFunc(m.names, func(n name) bool { return n.text == text })
}

func (m *module) line(format string, args ...any) { fmt.Fprintf(&m.text, format+"\n", args...) }

// addNames adds the names of a module that is extended. Of two equal names the first counts.
func (m *module) addNames(other *module) {
	for _, n := range other.names {
		if !n.local && !m.has(n.text) {
			m.names = append(m.names, n)
		}
	}
	for _, v := range other.variables {
		if !slices.Contains(m.variables, v) {
			m.variables = append(m.variables, v)
		}
	}
}

// beginModule writes the first line of a module, and what it extends.
func (g *maker) beginModule(m *module, percent int) {
	m.line("---- MODULE %s ----", m.name)
	var list []string
	for _, i := range g.order(len(g.modules)) {
		if other := g.modules[i]; g.often(percent) {
			m.extends = append(m.extends, other)
			list = append(list, other.name)
			m.addNames(other)
		}
	}
	numbers := "EXTENDS Naturals"
	switch {
	case g.often(75):
		i := g.below(len(list) + 1)
		list = slices.Insert(list, i, "Naturals")
	case g.often(50):
		numbers = "LOCAL INSTANCE Naturals"
	default:
		numbers = "INSTANCE Naturals"
	}
	if len(list) > 0 {
		m.line("EXTENDS %s", strings.Join(list, ", "))
	}
	if !slices.Contains(list, "Naturals") {
		m.line("%s", numbers)
	}
}

func (g *maker) order(n int) []int {
	list := make([]int, n)
	for i := range list {
		k := g.below(i + 1)
		list[i] = list[k]
		list[k] = i
	}
	return list
}

func (g *maker) module(letter string) {
	m := &module{name: letter}
	g.beginModule(m, 40)
	if g.often(40) {
		m.line("CONSTANT C%s", letter)
		m.names = append(m.names, name{text: "C" + letter, declared: true})
	}
	if g.often(15) {
		m.line("CONSTANT F%s(_)", letter)
		m.names = append(m.names, name{text: "F" + letter, arity: 1, declared: true})
	}
	if g.often(25) {
		v := "v" + letter
		m.line("VARIABLE %s", v)
		m.variables = append(m.variables, v)
		m.names = append(m.names, name{text: v, states: true})
	}
	g.body(m, letter, 1+g.below(4))
	if v := "v" + letter; slices.Contains(m.variables, v) {
		m.line("Step%s == %s < %s /\\ %s' = (%s + 1) %% 4", letter, v, g.constant(m, nil), v, v)
	}
	m.line("====")
	g.files[letter+".tla"] = m.text.String()
	g.modules = append(g.modules, m)
}

// body adds definitions, instances and modules within.
func (g *maker) body(m *module, letter string, count int) {
	for i := range count {
		switch {
		case g.often(25) && len(g.modules) > 0:
			g.instance(m, fmt.Sprintf("I%s%d", letter, i))
		case g.often(12):
			inner, d := "In"+letter+fmt.Sprint(i), "D"+letter+fmt.Sprint(i)
			k := fmt.Sprintf("K%s%d", letter, i)
			m.line("---- MODULE %s ----", inner)
			m.line("CONSTANT %s", d)
			m.line("%s == (%s + %s) %% 5", k, d, g.expression(m, nil, 1, true))
			m.line("====")
			j := fmt.Sprintf("J%s%d", letter, i)
			m.line("%s == INSTANCE %s WITH %s <- %s", j, inner, d, g.constant(m, nil))
			m.names = append(m.names, name{text: j + "!" + k, states: true})
		default:
			g.definition(m, fmt.Sprintf("%s%d", letter, i))
		}
	}
	if g.often(25) {
		m.line("ASSUME %s < %d", g.constant(m, nil), 3+g.below(20))
	}
}

func (g *maker) definition(m *module, suffix string) {
	n := name{text: "N" + suffix, arity: max(0, g.below(5)-2), states: len(m.variables) > 0 && g.often(30)}
	if g.often(20) && !m.has("N") {
		n.text, n.arity = "N", 0
	}
	var params []string
	for i := range n.arity {
		params = append(params, []string{"p", "q"}[i])
	}
	head := n.text
	if len(params) > 0 {
		head += "(" + strings.Join(params, ", ") + ")"
	}
	if g.often(12) {
		n.local = true
		head = "LOCAL " + head
	}
	if n.arity == 0 && g.often(40) {
		m.line("%s == %d", head, g.below(4))
		n.states = false
	} else {
		m.line("%s == (%s) %% 5", head, g.expression(m, params, 2, n.states))
	}
	m.names = append(m.names, n)
}

// instance adds an instance of an earlier module.
func (g *maker) instance(m *module, id string) {
	other := g.modules[g.below(len(g.modules))]
	head, prefix, local := "", "", false
	var params []string
	switch g.below(5) {
	case 0:
	case 1:
		head, local = "LOCAL ", true
	case 2:
		params = []string{"r"}
		head, prefix = id+"(r) == ", id+"(%s)!"
	default:
		head, prefix = id+" == ", id+"!"
	}
	var with []string
	states := false
	for _, n := range other.names {
		if !n.declared && !slices.Contains(other.variables, n.text) {
			continue
		}
		if m.has(n.text) && g.often(50) {
			if slices.ContainsFunc(m.names, func(o name) bool { return o.text == n.text && (o.local || o.arity != n.arity || o.states && !n.states) }) {
				return
			}
			states = states || n.states
			continue
		}
		switch {
		case n.arity > 0:
			if i := slices.IndexFunc(m.names, func(o name) bool { return o.arity == 1 && !o.states && !strings.Contains(o.text, "%") }); i >= 0 && g.often(60) {
				with = append(with, n.text+" <- "+m.names[i].text)
			} else {
				with = append(with, n.text+" <- LAMBDA p : (p + "+g.constant(m, params)+") % 4")
			}
		case n.states:
			states = true
			with = append(with, n.text+" <- "+g.expression(m, params, 1, true))
		default:
			with = append(with, n.text+" <- "+g.constant(m, params))
		}
	}
	text := head + "INSTANCE " + other.name
	if len(with) > 0 {
		text += " WITH " + strings.Join(with, ", ")
	}
	m.line("%s", text)
	m.instances = append(m.instances, other)
	g.parametrized = g.parametrized || len(params) > 0
	for _, n := range other.names {
		if n.local || n.declared || slices.Contains(other.variables, n.text) || prefix != "" && strings.Contains(n.text, "%s") {
			continue
		}
		n.text, n.local, n.states = prefix+n.text, local, n.states || states
		if !m.has(n.text) {
			m.names = append(m.names, n)
		}
	}
}

// constant is an expression that depends on no state.
func (g *maker) constant(m *module, params []string) string {
	return g.expression(m, params, 1, false)
}

// expression is an integer from 0 on.
func (g *maker) expression(m *module, params []string, depth int, states bool) string {
	var usable []name
	for _, n := range m.names {
		if states || !n.states {
			usable = append(usable, n)
		}
	}
	for _, p := range params {
		usable = append(usable, name{text: p})
	}
	if depth <= 0 || g.often(15) {
		usable = slices.DeleteFunc(usable, func(n name) bool { return n.arity > 0 || strings.Contains(n.text, "%s") })
		if len(usable) == 0 || g.often(15) {
			return fmt.Sprint(g.below(4))
		}
		return usable[g.below(len(usable))].text
	}
	sub := func() string { return g.expression(m, params, depth-1, states) }
	if len(usable) > 0 && g.often(60) {
		return g.use(usable[g.below(len(usable))], sub, func() string { return g.expression(m, params, depth-1, false) })
	}
	switch g.below(6) {
	case 0:
		return fmt.Sprintf("(%s + %s)", sub(), sub())
	case 1:
		return fmt.Sprintf("(%s * %s)", sub(), sub())
	case 2:
		return fmt.Sprintf("(IF %s < %s THEN %s ELSE %s)", sub(), sub(), sub(), sub())
	case 3:
		return fmt.Sprintf("(IF %s = %s THEN %s ELSE %s)", sub(), sub(), sub(), sub())
	case 4:
		return fmt.Sprintf("(LET l == %s IN l + l)", sub())
	}
	return fmt.Sprintf("(%s %% %d)", sub(), 2+g.below(3))
}

// use applies a name. An instance takes constants alone: with others TLC refuses what a module of the instance holds.
func (g *maker) use(n name, sub, constant func() string) string {
	text := n.text
	if strings.Contains(text, "%s") {
		text = fmt.Sprintf(text, constant())
	}
	var args []string
	for range n.arity {
		args = append(args, sub())
	}
	if len(args) > 0 {
		text += "(" + strings.Join(args, ", ") + ")"
	}
	return text
}

// root adds the module that is checked, and its configuration.
func (g *maker) root() {
	m := &module{name: Root}
	g.beginModule(m, 60)
	m.line("VARIABLES x, y")
	m.variables = append(m.variables, "x", "y")
	m.names = append(m.names, name{text: "x", states: true}, name{text: "y", states: true})
	if g.often(30) {
		m.line("CONSTANT CT")
		m.names = append(m.names, name{text: "CT", declared: true})
	}
	g.body(m, "T", 1+g.below(4))
	// Operators for the configuration to put in the place of others.
	for arity, params := range []string{"", "(p)", "(p, q)"} {
		m.line("R%d%s == (%s) %% 4", arity, params, g.expression(&module{}, strings.Split("p,q", ",")[:arity], 2, false))
	}
	m.line("Inits == %s", g.each(m, func(v string) string { return fmt.Sprintf("%s = (%s) %% 3", v, g.constant(m, nil)) }))
	var actions []string
	for range 1 + g.below(3) {
		actions = append(actions, g.action(m))
	}
	for _, other := range m.extends {
		if v := "v" + other.name; slices.Contains(other.variables, v) {
			actions = append(actions, fmt.Sprintf("Step%s /\\ UNCHANGED <<%s>>", other.name,
				strings.Join(slices.DeleteFunc(slices.Clone(m.variables), func(w string) bool { return w == v }), ", ")))
		}
	}
	for i, a := range actions {
		m.line("Act%d == %s", i, a)
		actions[i] = fmt.Sprintf("Act%d", i)
	}
	m.line("Next == %s", strings.Join(actions, " \\/ "))
	m.line("vars == <<%s>>", strings.Join(m.variables, ", "))
	m.line("Spec == Inits /\\ [][Next]_vars /\\ WF_vars(Next)")
	config := []string{"SPECIFICATION Spec"}
	property := func(kind, body string) {
		id := fmt.Sprintf("P%d", len(config))
		m.line("%s == %s", id, body)
		config = append(config, kind+" "+id)
	}
	// One that depends on no variable and is false TLC takes as an error.
	for range 1 + g.below(3) {
		property("INVARIANT", fmt.Sprintf("(%s) %% 5 # %d \\/ x > 9", g.expression(m, nil, 2, true), g.below(3)))
	}
	if g.often(40) {
		property("PROPERTY", fmt.Sprintf("[][(%s) %% 4 # %d \\/ x' # %d]_vars", g.expression(m, nil, 2, true), g.below(4), g.below(4)))
	}
	if g.often(25) {
		property("PROPERTY", fmt.Sprintf("<>(%s = %d)", []string{"x", "y"}[g.below(2)], g.below(3)))
	}
	if g.often(20) {
		property("CONSTRAINT", fmt.Sprintf("%s < %d \\/ x > 9", g.expression(m, nil, 1, true), 1+g.below(5)))
	}
	if g.often(60) {
		config = append(config, "CHECK_DEADLOCK FALSE")
	}
	m.line("====")
	g.files[Root+".tla"] = m.text.String()
	g.files[Root+".cfg"] = strings.Join(append(config, g.constants(m)...), "\n") + "\n"
}

func (g *maker) each(m *module, f func(v string) string) string {
	var parts []string
	for _, v := range m.variables {
		parts = append(parts, f(v))
	}
	return strings.Join(parts, " /\\ ")
}

func (g *maker) action(m *module) string {
	var parts []string
	if g.often(70) {
		parts = append(parts, fmt.Sprintf("%s %s %s", g.expression(m, nil, 1, true), []string{"<", "#", "=", ">"}[g.below(4)], g.expression(m, nil, 1, true)))
	}
	if g.often(20) {
		parts = append(parts, fmt.Sprintf("(x # %s \\/ y # %s)", g.constant(m, nil), g.constant(m, nil)))
	}
	changed := m.variables[g.below(len(m.variables))]
	for _, v := range m.variables {
		switch {
		case v == changed && g.often(30):
			parts = append(parts, fmt.Sprintf("\\E i \\in 0..(%s %% 3) : %s' = (%s + i) %% 4", g.expression(m, nil, 1, true), v, v))
		case v == changed || g.often(25):
			parts = append(parts, fmt.Sprintf("%s' = (%s + %s) %% %d", v, v, g.expression(m, nil, 2, true), 3+g.below(3)))
		default:
			parts = append(parts, fmt.Sprintf("%s' = %s", v, v))
		}
	}
	return strings.Join(parts, " /\\ ")
}

// constants are the lines of the configuration that give values.
func (g *maker) constants(m *module) []string {
	lines := []string{"CONSTANTS"}
	for _, n := range m.names {
		if strings.Contains(n.text, "%s") || slices.Contains(m.variables, n.text) {
			continue
		}
		simple := !strings.Contains(n.text, "!")
		switch {
		case n.declared && n.arity == 0 && g.often(75):
			lines = append(lines, fmt.Sprintf("%s = %d", n.text, g.below(4)))
		case n.declared && n.arity == 0:
			lines = append(lines, n.text+" <- R0")
		case n.declared && g.often(60):
			lines = append(lines, n.text+" <- R1")
		case n.declared:
			for i := range 9 {
				lines = append(lines, fmt.Sprintf("%s(%d) = %d", n.text, i, g.below(4)))
			}
		case g.often(75):
		case n.arity == 0 && g.often(50):
			lines = append(lines, fmt.Sprintf("%s = %d", n.text, g.below(4)))
		case simple:
			lines = append(lines, fmt.Sprintf("%s <- R%d", n.text, n.arity))
		}
	}
	for _, other := range g.modules {
		if g.parametrized || !m.uses(other) { // TLC fails with an internal error for the definitions of an instance with parameters
			continue
		}
		for _, n := range other.names {
			if n.declared || strings.ContainsAny(n.text, "!%") || slices.Contains(other.variables, n.text) || !g.often(7) {
				continue
			}
			if n.arity == 0 && g.often(40) {
				lines = append(lines, fmt.Sprintf("%s = [%s]%d", n.text, other.name, g.below(4)))
			} else {
				lines = append(lines, fmt.Sprintf("%s <- [%s]R%d", n.text, other.name, n.arity))
			}
		}
	}
	if len(lines) == 1 {
		return nil
	}
	return lines
}
