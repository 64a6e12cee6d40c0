package random

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// Behaviours has the files of a specification of a number, by name, whose definitions, actions and properties differ from those of Make: instances within
// instances, with parameters and with constants in the place of variables; recursive actions; labels and names of subexpressions; @ in EXCEPT; symmetry;
// fairness, ENABLED and properties of behaviours.
func Behaviours(number uint64) map[string]string {
	b := &behaviours{dice: dice{splitmix.Mix(^number)}, files: map[string]string{}}
	b.symmetric = b.often(25)
	b.make()
	return b.files
}

// dice draws from a chain of numbers.
type dice struct{ chance uint64 }

func (d *dice) below(n int) int {
	d.chance += splitmix.Gamma
	return int(splitmix.Mix(d.chance) % uint64(n))
}

// often is true in the given percentage of cases.
func (d *dice) often(percent int) bool { return d.below(100) < percent }

func (d *dice) one(list ...string) string { return list[d.below(len(list))] }

// kind is the type of an expression.
type kind int

const (
	number   kind = iota // 0, 1 or 2
	truth                // a boolean
	set                  // of such numbers
	process              // an element of P
	function             // from P to such numbers
	sets                 // a function from {0, 1} to such sets
	record               // with a number a and a set b
	kinds
)

// level is what an expression depends on.
type level int

const (
	constantLevel level = iota
	stateLevel
	actionLevel
	temporalLevel
)

// The places of arguments in the text of a symbol.
const (
	anyPlace      = "\x01" // a number of any level below actions
	constantPlace = "\x02" // a constant number
)

// symbol is something that an expression can use.
type symbol struct {
	text    string // with the instances before it, and places for arguments
	kind    kind
	level   level
	changes []string // the variables whose next values an action gives; nil if it is no action of this module's variables
	within  bool     // its text has names of its module
}

// part is a module of a specification.
type part struct {
	name      string
	constants []symbol
	variables []symbol
	symbols   []symbol // definitions, too
	text      strings.Builder
	count     int // of names that were made up
}

func (m *part) line(format string, args ...any) { fmt.Fprintf(&m.text, format+"\n", args...) }

func (m *part) fresh(prefix string) string {
	m.count++
	return fmt.Sprintf("%s%s%d", prefix, m.name, m.count)
}

func (m *part) names() (list []string) {
	for _, v := range m.variables {
		list = append(list, v.text)
	}
	return list
}

func (m *part) declareVariable(text string, k kind) {
	v := symbol{text: text, kind: k, level: stateLevel}
	m.variables = append(m.variables, v)
	m.symbols = append(m.symbols, v)
}

func (m *part) declareConstant(text string, k kind) {
	c := symbol{text: text, kind: k}
	m.constants = append(m.constants, c)
	m.symbols = append(m.symbols, c)
}

// tuple is the state function of some variables.
func tuple(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return "<<" + strings.Join(names, ", ") + ">>"
}

// behaviours makes one specification.
type behaviours struct {
	dice
	files     map[string]string
	symmetric bool // the elements of P are interchangeable
	modules   []*part
	config    []string
}

// expression writes expressions of a module, of which some names are bound.
type expression struct {
	*behaviours
	m     *part
	bound []symbol
	level level
}

func (b *behaviours) expressionIn(m *part, l level, bound ...symbol) expression {
	return expression{b, m, bound, l}
}

func (e expression) with(text string, k kind) expression {
	e.bound = append(slices.Clone(e.bound), symbol{text: text, kind: k})
	return e
}

// bind binds a new name: a module that binds one twice is refused.
func (e expression) bind(k kind) (name string, inside expression) {
	name = fmt.Sprintf("i%d", len(e.bound))
	return name, e.with(name, k)
}

// over is an expression with a bound name: a format gets the name and what is written with it.
func (e expression) over(format string, k kind, write func(inside expression) string) string {
	name, inside := e.bind(k)
	return fmt.Sprintf(format, name, write(inside))
}

// symbolOf writes a symbol of a kind, or nothing.
func (e expression) symbolOf(k kind, depth int) string {
	var usable []symbol
	for _, s := range append(slices.Clone(e.m.symbols), e.bound...) {
		simple := !strings.ContainsAny(s.text, anyPlace+constantPlace)
		if s.kind == k && s.level <= e.level && (simple || depth > 0) {
			usable = append(usable, s)
		}
	}
	if len(usable) == 0 {
		return ""
	}
	// Bound names and definitions made last are less often drawn if all are equal.
	i := max(e.below(len(usable)), e.below(len(usable)))
	return e.applied(usable[i].text, depth)
}

// applied writes arguments in the places of a text.
func (e expression) applied(text string, depth int) string {
	for strings.Contains(text, constantPlace) {
		text = strings.Replace(text, constantPlace, fmt.Sprint(e.below(3)), 1)
	}
	for strings.Contains(text, anyPlace) {
		text = strings.Replace(text, anyPlace, e.generate(number, depth-1), 1)
	}
	return text
}

// generate writes an expression of a kind.
func (e expression) generate(k kind, depth int) string {
	if e.often(45) || depth <= 0 {
		if s := e.symbolOf(k, depth); s != "" {
			return s
		}
	}
	switch k {
	case number:
		return e.number(depth)
	case truth:
		return e.truth(depth)
	case set:
		return e.set(depth)
	case process:
		return "(CHOOSE p \\in P : TRUE)"
	case function:
		return e.function(depth)
	case sets:
		return e.sets(depth)
	}
	return e.record(depth)
}

func (e expression) has(k kind) bool {
	return slices.ContainsFunc(append(slices.Clone(e.m.symbols), e.bound...), func(s symbol) bool { return s.kind == k && s.level <= e.level })
}

func (e expression) number(depth int) string {
	if depth <= 0 {
		return fmt.Sprint(e.below(3))
	}
	n := func() string { return e.generate(number, depth-1) }
	switch e.below(9) {
	case 0:
		return fmt.Sprintf("((%s + %s) %% 3)", n(), n())
	case 1:
		return fmt.Sprintf("((%s * %s) %% 3)", n(), n())
	case 2:
		return fmt.Sprintf("(IF %s THEN %s ELSE %s)", e.generate(truth, depth-1), n(), n())
	case 3:
		return fmt.Sprintf("(Cardinality(%s) %% 3)", e.generate(set, depth-1))
	case 4:
		if e.has(process) && e.has(function) {
			return fmt.Sprintf("%s[%s]", e.generate(function, depth-1), e.generate(process, depth-1))
		}
	case 5:
		if e.has(record) {
			return e.generate(record, depth-1) + ".a"
		}
	case 6:
		name, inside := e.bind(number)
		return fmt.Sprintf("(LET %s == %s IN (%s + %s) %% 3)", name, n(), name, inside.generate(number, depth-1))
	case 7:
		return fmt.Sprintf("(CASE %s -> %s [] OTHER -> %s)", e.generate(truth, depth-1), n(), n())
	}
	return fmt.Sprint(e.below(3))
}

func (e expression) truth(depth int) string {
	n := func() string { return e.generate(number, depth-1) }
	t := func() string { return e.generate(truth, depth-1) }
	switch e.below(12) {
	case 0:
		return fmt.Sprintf("(%s < %s)", n(), n())
	case 1:
		return fmt.Sprintf("(%s = %s)", n(), n())
	case 2:
		return fmt.Sprintf("(%s # %s)", n(), n())
	case 3:
		return fmt.Sprintf("(%s \\in %s)", n(), e.generate(set, depth-1))
	case 4:
		return fmt.Sprintf("(%s \\subseteq %s)", e.generate(set, depth-1), e.generate(set, depth-1))
	case 5:
		name, inside := e.bind(number)
		return fmt.Sprintf("(%s %s \\in %s : %s)", e.one("\\E", "\\A"), name, e.generate(set, depth-1), inside.generate(truth, depth-1))
	case 6:
		if e.has(function) {
			name, inside := e.bind(process)
			return fmt.Sprintf("(%s %s \\in P : %s[%s] %s %s)", e.one("\\E", "\\A"), name, inside.generate(function, depth-1), name, e.one("<", "=", "#"), n())
		}
	case 7:
		if depth > 0 {
			return "~" + t()
		}
	case 8:
		if depth > 0 {
			return fmt.Sprintf("(%s %s %s)", t(), e.one("/\\", "\\/", "=>", "<=>"), t())
		}
	case 9:
		if e.has(function) {
			return fmt.Sprintf("(%s = %s)", e.generate(function, depth-1), e.generate(function, depth-1))
		}
	case 10:
		return fmt.Sprintf("(%s %s %s)", e.generate(set, depth-1), e.one("=", "#"), e.generate(set, depth-1))
	}
	return fmt.Sprintf("(%s > %s)", n(), n())
}

func (e expression) set(depth int) string {
	n := func() string { return e.generate(number, depth-1) }
	if depth <= 0 {
		return e.one("{}", "{0}", "{1, 2}", "{0, 2}", "0..1")
	}
	s := func() string { return e.generate(set, depth-1) }
	switch e.below(8) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", s(), e.one("\\cup", "\\cap", "\\"), s())
	case 1:
		name, inside := e.bind(number)
		return fmt.Sprintf("{%s \\in %s : %s}", name, s(), inside.generate(truth, depth-1))
	case 2:
		name, inside := e.bind(number)
		return fmt.Sprintf("{((%s + %s) %% 3) : %s \\in %s}", name, inside.generate(number, depth-1), name, s())
	case 3:
		return fmt.Sprintf("(0..%s)", n())
	case 4:
		if e.has(sets) {
			return fmt.Sprintf("%s[%s %% 2]", e.generate(sets, depth-1), n())
		}
	case 5:
		if e.has(record) {
			return e.generate(record, depth-1) + ".b"
		}
	case 6:
		return fmt.Sprintf("{%s, %s}", n(), n())
	}
	return fmt.Sprintf("{%s}", n())
}

// old binds @, instead of one around it.
func (e expression) old(k kind) expression {
	e.bound = slices.Clone(e.bound)
	for i := range e.bound {
		if e.bound[i].text == "@" {
			e.bound[i].kind = kinds // none that is asked for
		}
	}
	return e.with("@", k)
}

// numberOfAt is the new value of a place in EXCEPT that has a number.
func (e expression) numberOfAt(depth int) string {
	inside := e.old(number)
	name, within := inside.bind(number)
	switch e.below(5) {
	case 0:
		return fmt.Sprintf("(@ + %s) %% 3", inside.generate(number, depth-1))
	case 1:
		return fmt.Sprintf("IF %s THEN @ ELSE %s", inside.generate(truth, depth-1), inside.generate(number, depth-1))
	case 2:
		return fmt.Sprintf("Cardinality({%s \\in 0..@ : %s}) %% 3", name, within.generate(truth, depth-1))
	case 3:
		return fmt.Sprintf("CHOOSE %s \\in 0..@ : %s", name, e.one("\\A v \\in 0..@ : v <= "+name, name+" <= @", name+" = @ \\/ "+name+" > @"))
	}
	return inside.generate(number, depth-1)
}

// setOfAt is the new value of a place in EXCEPT that has a set.
func (e expression) setOfAt(depth int) string {
	inside := e.old(set)
	name, within := inside.bind(number)
	switch e.below(5) {
	case 0:
		return fmt.Sprintf("{%s \\in @ : %s}", name, within.generate(truth, depth-1))
	case 1:
		return fmt.Sprintf("@ %s %s", e.one("\\cup", "\\cap", "\\"), inside.generate(set, depth-1))
	case 2:
		return fmt.Sprintf("{(%s + %s) %% 3 : %s \\in @}", name, within.generate(number, depth-1), name)
	case 3:
		return fmt.Sprintf("IF \\E %s \\in @ : %s THEN @ ELSE @ \\cup {%s}", name, within.generate(truth, depth-1), inside.generate(number, depth-1))
	}
	return inside.generate(set, depth-1)
}

func (e expression) function(depth int) string {
	name, inside := e.bind(process)
	if depth <= 0 || !e.has(function) {
		return fmt.Sprintf("[%s \\in P |-> %s]", name, inside.generate(number, depth-1))
	}
	f := e.generate(function, depth-1)
	if e.has(process) {
		p := e.generate(process, 0)
		text := fmt.Sprintf("[%s EXCEPT ![%s] = %s", f, p, e.numberOfAt(depth-1))
		if e.often(20) {
			text += fmt.Sprintf(", ![%s] = %s", p, e.numberOfAt(depth-1))
		}
		return text + "]"
	}
	return fmt.Sprintf("[%s \\in P |-> (%s[%s] + %s) %% 3]", name, inside.generate(function, depth-1), name, inside.generate(number, depth-1))
}

func (e expression) sets(depth int) string {
	if depth <= 0 || !e.has(sets) {
		return e.over("[%s \\in 0..1 |-> %s]", number, func(inside expression) string { return inside.generate(set, depth-1) })
	}
	text := fmt.Sprintf("[%s EXCEPT ![%s %% 2] = %s", e.generate(sets, depth-1), e.generate(number, 1), e.setOfAt(depth-1))
	if e.often(25) {
		text += fmt.Sprintf(", ![%d] = %s", e.below(2), e.setOfAt(depth-1))
	}
	return text + "]"
}

func (e expression) record(depth int) string {
	if depth <= 0 || !e.has(record) {
		return fmt.Sprintf("[a |-> %s, b |-> %s]", e.generate(number, depth-1), e.generate(set, depth-1))
	}
	a, b := "!.a = "+e.numberOfAt(depth-1), "!.b = "+e.setOfAt(depth-1)
	r := e.generate(record, depth-1)
	switch e.below(3) {
	case 0:
		return fmt.Sprintf("[%s EXCEPT %s]", r, a)
	case 1:
		return fmt.Sprintf("[%s EXCEPT %s]", r, b)
	}
	return fmt.Sprintf("[%s EXCEPT %s, %s]", r, b, a)
}

// definition adds a definition that is no action, and names of what is within it.
func (b *behaviours) definition(m *part) {
	l := level(b.below(2))
	if len(m.variables) == 0 {
		l = constantLevel
	}
	e := b.expressionIn(m, l)
	d := m.fresh("D")
	head, call := d, d
	if b.often(40) {
		head, call = d+"(a)", d+"("+anyPlace+")"
		e = e.with("a", number)
	}
	add := func(text string, k kind) { m.symbols = append(m.symbols, symbol{text: call + text, kind: k, level: l}) }
	const depth = 2
	switch b.below(10) {
	case 0:
		m.line("%s ==\n  /\\ %s\n  /\\ %s\n  /\\ %s", head, e.generate(truth, depth), e.generate(truth, depth), e.generate(truth, depth))
		add("", truth)
		add(fmt.Sprintf("!%d", 1+b.below(3)), truth)
	case 1:
		m.line("%s == lab:: ((%s) + (%s)) %% 3", head, e.generate(number, depth), e.generate(number, depth))
		add("", number)
		add("!lab", number)
		add("!lab!<<!1", number)
	case 2:
		inside := e.with("i", number)
		m.line("%s == %s i \\in 0..2 : in(i):: (%s) /\\ (%s)", head, b.one("\\E", "\\A"), inside.generate(truth, depth), inside.generate(truth, depth))
		add("", truth)
		add("!in("+anyPlace+")", truth)
		add("!in("+anyPlace+")!"+b.one("<<", ">>", "1", "2"), truth)
		add("!("+anyPlace+")", truth)
	case 3:
		m.line("%s == LET one == %s\n      two(c) == (c + %s) %% 3\n  IN two(one)", head,
			e.generate(number, depth), e.with("c", number).generate(number, depth))
		add("", number)
		add("!1", number)
	case 4:
		m.line("%s == IF %s THEN %s ELSE yes:: %s", head, e.generate(truth, depth), e.generate(number, depth), e.generate(number, depth))
		add("", number)
		add("!1", truth)
		add("!2", number)
		add("!yes", number)
	case 5:
		m.line("%s == {w \\in %s : %s}", head, e.generate(set, depth), e.with("w", number).generate(truth, depth))
		add("", set)
		add("!1", set)
		add("!("+anyPlace+")", truth)
	case 6:
		b.recursiveNumber(m, l)
	default:
		k := kind([]kind{number, truth, set}[b.below(3)])
		m.line("%s == %s", head, e.generate(k, depth))
		add("", k)
	}
}

func (b *behaviours) recursiveNumber(m *part, l level) {
	r := m.fresh("R")
	e := b.expressionIn(m, l)
	m.line("RECURSIVE %s(_)", r)
	m.line("%s(n) == IF n = 0 THEN %s ELSE (%s(n - 1) + %s) %% 3", r, e.generate(number, 1), r, e.with("n", number).generate(number, 1))
	m.symbols = append(m.symbols, symbol{text: r + "(" + anyPlace + ")", kind: number, level: l})
}

// assignment gives a variable its next value.
func (e expression) assignment(v symbol, depth int) string {
	if v.kind == number && e.often(25) {
		return fmt.Sprintf("%s' \\in %s", v.text, e.generate(set, depth))
	}
	if v.kind == number && e.often(10) {
		return fmt.Sprintf("(%s' = %s \\/ %s' = %s)", v.text, e.generate(number, depth), v.text, e.generate(number, depth))
	}
	// What the new value is made of is the old one more often than not.
	switch old := v.text; {
	case v.kind == number && e.often(50):
		return fmt.Sprintf("%s' = (%s + %s) %% 3", old, old, e.generate(number, depth))
	case v.kind == function && e.has(process) && e.often(80):
		return fmt.Sprintf("%s' = [%s EXCEPT ![%s] = %s]", old, old, e.generate(process, 0), e.numberOfAt(depth))
	case v.kind == sets && e.often(80):
		return fmt.Sprintf("%s' = [%s EXCEPT ![%d] = %s]", old, old, e.below(2), e.setOfAt(depth))
	case v.kind == record && e.often(80):
		return fmt.Sprintf("%s' = [%s EXCEPT !.%s]", old, old, e.one("a = "+e.numberOfAt(depth), "b = "+e.setOfAt(depth)))
	}
	return fmt.Sprintf("%s' = %s", v.text, e.generate(v.kind, depth))
}

// changes gives all variables of a module their next values.
func (e expression) changes(depth int) (conjuncts []string) {
	kept := []string{}
	must := e.below(len(e.m.variables))
	for i, v := range e.m.variables {
		if i == must || e.often(30) {
			conjuncts = append(conjuncts, e.assignment(v, depth))
		} else {
			kept = append(kept, v.text)
		}
	}
	if len(kept) > 0 {
		conjuncts = append(conjuncts, "UNCHANGED "+tuple(kept))
	}
	return conjuncts
}

func (e expression) changed(depth int) string {
	return "(" + strings.Join(e.changes(depth), " /\\ ") + ")"
}

// unchanged returns the conjunct by which all variables but the given ones keep their values.
func (m *part) unchanged(changed ...string) string {
	others := slices.DeleteFunc(m.names(), func(v string) bool { return slices.Contains(changed, v) })
	if len(others) == 0 {
		return ""
	}
	return " /\\ UNCHANGED " + tuple(others)
}

// action defines an action of all variables of a module.
func (b *behaviours) action(m *part) {
	e := b.expressionIn(m, stateLevel)
	a := m.fresh("A")
	call, within := a, false
	add := func(text string) {
		m.symbols = append(m.symbols, symbol{text: call + text, kind: truth, level: actionLevel, changes: m.names(), within: within})
	}
	state := func(text string) {
		m.symbols = append(m.symbols, symbol{text: call + text, kind: truth, level: stateLevel})
	}
	of := func(k kind) string { return e.generate(k, 2) }
	withNumber := func(text string) expression { return e.with(text, number) }
	switch b.below(14) {
	case 0: // with a parameter
		m.line("%s(a) == %s /\\ %s", a, withNumber("a").generate(truth, 2), withNumber("a").changed(2))
		call = a + "(" + anyPlace + ")"
		add("")
		state("!1")
	case 1: // by a bound number
		m.line("%s == \\E i \\in %s : go(i):: %s /\\ %s", a, of(set), withNumber("i").generate(truth, 1), withNumber("i").changed(2))
		add("")
		add("!go(" + anyPlace + ")")
		add("!(" + anyPlace + ")")
	case 2:
		m.line("%s == IF %s THEN %s ELSE %s", a, of(truth), e.changed(2), e.changed(1))
		add("")
		add("!2")
		state("!1")
	case 3:
		m.line("%s == CASE %s -> %s [] OTHER -> %s", a, of(truth), e.changed(2), e.changed(1))
		add("")
	case 4:
		m.line("%s == LET l == %s IN %s", a, of(number), withNumber("l").changed(2))
		add("")
	case 5: // recursive, down a number
		m.line("RECURSIVE %s(_, _)", a)
		inner := withNumber("n").with("a", number)
		step := inner.generate(number, 1)
		switch b.below(3) {
		case 0:
			m.line("%s(n, a) == IF n = 0 THEN %s ELSE %s(n - 1, %s)", a, inner.changed(1), a, step)
		case 1:
			m.line("%s(n, a) ==\n  \\/ n = 0 /\\ %s\n  \\/ n > 0 /\\ %s(n - 1, %s)", a, inner.changed(1), a, step)
		default:
			m.line("%s(n, a) == IF n = 0 THEN %s ELSE %s(n - 1, %s) \\/ %s", a, inner.changed(1), a, step, inner.changed(1))
		}
		call = a + "(" + anyPlace + ", " + anyPlace + ")"
		add("")
	case 6: // recursive, through a set
		m.line("RECURSIVE %s(_)", a)
		m.line("%s(S) == IF S = {} THEN %s ELSE \\E e \\in S : %s /\\ %s(S \\ {e})", a, e.changed(1), withNumber("e").generate(truth, 1), a)
		call = a + "(" + b.one("0..1", "{1}", "{0, 2}", "0.."+constantPlace) + ")"
		add("")
	case 7: // an argument that is a condition, with a disjunction sometimes
		m.line("%s(c) == c /\\ %s", a, e.changed(2))
		either, some := fmt.Sprintf("%s \\/ %s", of(truth), of(truth)), fmt.Sprintf("\\E i \\in 0..1 : %s", withNumber("i").generate(truth, 1))
		call, within = fmt.Sprintf("%s(%s)", a, b.one(of(truth), either, some)), true
		add("")
	case 8: // an argument that is an action
		first := e.changes(1)
		m.line("%s(c) == %s /\\ c", a, of(truth))
		call, within = fmt.Sprintf("%s(%s)", a, strings.Join(first, " /\\ ")), true
		add("")
	case 9: // an argument that is an operator
		m.line("%s(F(_)) == \\E i \\in 0..1 : F(i) /\\ %s", a, withNumber("i").changed(1))
		// With a variable in it, TLC fails where it asks whether the action is enabled.
		call, within = fmt.Sprintf("%s(LAMBDA j : %s)", a, b.expressionIn(m, constantLevel).with("j", number).generate(truth, 1)), true
		add("")
	case 10:
		if m.hasProcesses() {
			inner := e.with("p", process)
			m.line("%s == \\E p \\in P : at(p):: %s /\\ %s", a, inner.generate(truth, 1), inner.changed(2))
			add("")
			break
		}
		fallthrough
	case 11:
		m.line("%s == (%s \\/ %s) /\\ %s", a, of(truth), of(truth), e.changed(2))
		add("")
		state("!1")
		state("!1!2")
	default:
		m.line("%s ==\n  /\\ %s\n  /\\ %s", a, of(truth), strings.Join(e.changes(2), "\n  /\\ "))
		add("")
		state("!1")
	}
}

// steps are the symbols of a module that are actions of its variables.
func (m *part) steps() (list []symbol) {
	for _, s := range m.symbols {
		if s.level == actionLevel && len(s.changes) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// step is an action of all variables of a module.
func (b *behaviours) step(m *part) string {
	e := b.expressionIn(m, stateLevel)
	list := m.steps()
	s := list[b.below(len(list))]
	text := s.text
	for _, place := range []string{constantPlace, anyPlace} {
		if strings.Contains(text, place) && b.often(40) {
			text = strings.Replace(text, place, "k", 1)
			return fmt.Sprintf("(\\E k \\in 0..%d : %s%s)", 1+b.below(2), e.applied(text, 2), m.unchanged(s.changes...))
		}
	}
	return "(" + e.applied(text, 2) + m.unchanged(s.changes...) + ")"
}

// fairness is WF or SF of an action.
func (b *behaviours) fairness(m *part, action func() string) string {
	names := m.names()
	v := tuple(names)
	if b.often(15) {
		v = names[b.below(len(names))]
	}
	return fmt.Sprintf("%sF_%s(%s)", b.one("W", "W", "S"), v, action())
}

// behaviour adds Init, Next and Spec of a module, and properties; it reports the names of the properties.
func (b *behaviours) behaviour(m *part) {
	e := b.expressionIn(m, constantLevel)
	var initial, next []string
	for _, v := range m.variables {
		if v.kind == number && b.often(25) {
			initial = append(initial, v.text+" \\in "+e.generate(set, 1))
		} else {
			initial = append(initial, v.text+" = "+e.generate(v.kind, 1))
		}
	}
	m.line("Init%s == %s", m.name, strings.Join(initial, " /\\ "))
	for range 1 + b.below(3) {
		next = append(next, b.step(m))
	}
	m.line("Next%s == %s", m.name, strings.Join(next, "\n  \\/ "))
	m.symbols = append(m.symbols, symbol{text: "Next" + m.name, kind: truth, level: actionLevel, changes: m.names()})
	spec := fmt.Sprintf("Init%s /\\ [][Next%s]_%s", m.name, m.name, tuple(m.names()))
	for range b.below(3) {
		spec += " /\\ " + b.fairness(m, func() string {
			if b.often(50) {
				return "Next" + m.name
			}
			return b.step(m)
		})
	}
	if i := slices.IndexFunc(m.variables, func(v symbol) bool { return v.kind == function }); i >= 0 && b.often(40) {
		f := m.variables[i]
		spec += fmt.Sprintf(" /\\ \\A p \\in P : %sF_%s(%s[p] # %s /\\ Next%s)", b.one("W", "S"), tuple(m.names()), f.text,
			b.expressionIn(m, stateLevel).generate(number, 1), m.name)
	}
	m.line("Spec%s == %s", m.name, spec)
	m.symbols = append(m.symbols, symbol{text: "Spec" + m.name, kind: truth, level: temporalLevel})
}

// enabled is ENABLED of an action.
func (b *behaviours) enabled(m *part) string {
	if b.often(50) {
		return "ENABLED Next" + m.name
	}
	return "ENABLED " + b.step(m)
}

// temporal defines a property of behaviours.
func (b *behaviours) temporal(m *part) string {
	e := b.expressionIn(m, stateLevel)
	t := func() string {
		if b.often(10) {
			return b.enabled(m)
		}
		return e.generate(truth, 2)
	}
	v := tuple(m.names())
	f := m.fresh("Q")
	var body string
	switch b.below(12) {
	case 0:
		body = fmt.Sprintf("<>(%s)", t())
	case 1:
		body = fmt.Sprintf("[]<>(%s)", t())
	case 2:
		body = fmt.Sprintf("<>[](%s)", t())
	case 3:
		body = fmt.Sprintf("(%s) ~> (%s)", t(), t())
	case 4:
		body = fmt.Sprintf("[][%s]_%s", b.expressionIn(m, actionLevel).generate(truth, 2), v)
	case 5:
		body = fmt.Sprintf("\\A i \\in 0..1 : (%s) ~> (%s)", e.with("i", number).generate(truth, 1), e.with("i", number).generate(truth, 1))
	case 6:
		body = b.fairness(m, func() string { return b.step(m) })
	case 7:
		body = fmt.Sprintf("[]<><<%s>>_%s", b.step(m), v)
	case 8:
		body = fmt.Sprintf("(%s) => (%s)", b.fairness(m, func() string { return b.step(m) }), fmt.Sprintf("[]<>(%s)", t()))
	case 9:
		w := m.variables[b.below(len(m.variables))]
		body = fmt.Sprintf("[][%s' # %s => %s]_%s", w.text, w.text, t(), v)
	case 10:
		body = fmt.Sprintf("[]((%s) => <>(%s))", t(), t())
	default:
		body = fmt.Sprintf("[](%s) \\/ <>(%s)", t(), t())
	}
	m.line("%s == %s", f, body)
	m.symbols = append(m.symbols, symbol{text: f, kind: truth, level: temporalLevel})
	return f
}

// hasProcesses reports whether a module has the constant P.
func (m *part) hasProcesses() bool {
	return slices.ContainsFunc(m.constants, func(c symbol) bool { return c.text == "P" })
}

// beginModule writes the first lines of a module.
func (b *behaviours) beginModule(name string) *part {
	m := &part{name: name}
	m.line("---- MODULE %s ----\nEXTENDS Naturals, FiniteSets%s", name, map[bool]string{true: ", TLC"}[name == Root])
	b.modules = append(b.modules, m)
	return m
}

func (b *behaviours) end(m *part) {
	m.line("====")
	b.files[m.name+".tla"] = m.text.String()
}

// constantModule makes a module without variables, whose instances take state functions for constants.
func (b *behaviours) constantModule() *part {
	m := b.beginModule("C")
	m.line("CONSTANTS e, G(_)")
	m.declareConstant("e", number)
	m.symbols = append(m.symbols, symbol{text: "G(" + anyPlace + ")", kind: number})
	for range 2 {
		b.definition(m)
	}
	b.end(m)
	return m
}

// stateModule makes a module with variables, which the root instances, or another one between.
func (b *behaviours) stateModule(name string, inner []*part) *part {
	m := b.beginModule(name)
	k := "k" + name
	m.line("CONSTANTS %s", k)
	m.declareConstant(k, number)
	if b.often(40) {
		m.line("CONSTANT P")
		m.constants = append(m.constants, symbol{text: "P", kind: kinds})
	}
	h := b.one("h", "x")
	m.line("VARIABLE %s", h)
	m.declareVariable(h, number)
	if b.often(40) {
		m.line("VARIABLE t")
		m.declareVariable("t", set)
	}
	if m.hasProcesses() && b.often(50) {
		m.line("VARIABLE f")
		m.declareVariable("f", function)
	}
	for _, other := range inner {
		b.instance(m, other)
	}
	for range 1 + b.below(2) {
		b.definition(m)
	}
	for range 1 + b.below(2) {
		b.action(m)
	}
	b.behaviour(m)
	for range 1 + b.below(2) {
		b.temporal(m)
	}
	b.end(m)
	return m
}

// instance adds an instance of a module, whose variables and constants get others in their place.
func (b *behaviours) instance(m, other *part) {
	if other.hasProcesses() && !m.hasProcesses() {
		return
	}
	id := m.fresh("I")
	head, prefix := id, id+"!"
	constant := b.expressionIn(m, constantLevel)
	if b.often(45) {
		head, prefix = id+"(z)", id+"("+constantPlace+")!"
		constant = constant.with("z", number)
	}
	state := b.expressionIn(m, stateLevel)
	var with []string
	for _, c := range other.constants {
		switch {
		case c.kind == kinds: // P, which modules that have it call the same
		case len(other.variables) == 0 && b.often(50):
			with = append(with, c.text+" <- "+state.generate(number, 1))
		default:
			with = append(with, c.text+" <- "+constant.generate(number, 1))
		}
	}
	if len(other.variables) == 0 {
		with = append(with, "G <- LAMBDA n : "+b.one("(n + 1) % 3", "(n * 2) % 3", "n"))
	}
	// A variable is another one, or a constant, or an expression.
	direct := true
	var taken []string
	instead := map[string]string{} // variables for variables
	for _, v := range other.variables {
		free := slices.DeleteFunc(slices.Clone(m.variables), func(w symbol) bool { return w.kind != v.kind || slices.Contains(taken, w.text) })
		switch i := b.below(100); {
		case i < 60 && len(free) > 0:
			w := free[b.below(len(free))]
			taken = append(taken, w.text)
			instead[v.text] = w.text
			if w.text != v.text || b.often(30) {
				with = append(with, v.text+" <- "+w.text)
			}
			continue
		case i < 80:
			with = append(with, v.text+" <- "+b.expressionIn(m, constantLevel).generate(v.kind, 1))
		default:
			with = append(with, v.text+" <- "+state.generate(v.kind, 1))
		}
		direct = false
	}
	text := head + " == INSTANCE " + other.name
	if len(with) > 0 {
		text += " WITH " + strings.Join(with, ", ")
	}
	m.line("%s", text)
	for _, s := range other.symbols {
		isConstant := slices.ContainsFunc(other.constants, func(c symbol) bool { return c.text == s.text })
		isVariable := slices.ContainsFunc(other.variables, func(v symbol) bool { return v.text == s.text })
		if isConstant || isVariable || s.within || strings.HasPrefix(s.text, "G(") {
			continue
		}
		s.text = prefix + s.text
		if s.level == constantLevel {
			s.level = stateLevel
		}
		changes := s.changes
		s.changes = nil
		for _, v := range changes {
			if direct {
				s.changes = append(s.changes, instead[v])
			}
		}
		m.symbols = append(m.symbols, s)
	}
}

// make adds all modules and the configuration.
func (b *behaviours) make() {
	var inner []*part
	if b.often(35) {
		inner = append(inner, b.constantModule())
	}
	if b.often(90) {
		first := b.stateModule("B", inner)
		inner = append(inner, first)
		if b.often(60) {
			between := b.stateModule("M", []*part{first})
			inner = append(inner, between)
		}
	}
	m := b.beginModule(Root)
	m.line("CONSTANT P")
	m.constants = append(m.constants, symbol{text: "P", kind: kinds})
	m.line("VARIABLE x")
	m.declareVariable("x", number)
	b.config = []string{"SPECIFICATION SpecT", "CONSTANT P = {1, 2}"}
	if b.symmetric {
		b.config[1] = "CONSTANT P = {p1, p2}"
		if b.often(20) {
			b.config[1] = "CONSTANT P = {p1, p2, p3}"
		}
	}
	for i, v := range []symbol{{text: "f", kind: function}, {text: "t", kind: set}, {text: "g", kind: sets},
		{text: "r", kind: record}, {text: "y", kind: number}} {
		if b.often(30) || i == 0 && b.symmetric {
			m.line("VARIABLE %s", v.text)
			m.declareVariable(v.text, v.kind)
		}
		if len(m.variables) == 3 {
			break
		}
	}
	if len(inner) > 0 {
		b.instance(m, inner[len(inner)-1])
		for range b.below(2) {
			b.instance(m, inner[b.below(len(inner))])
		}
	}
	for range 1 + b.below(3) {
		b.definition(m)
	}
	for range 1 + b.below(3) {
		b.action(m)
	}
	b.behaviour(m)
	b.properties(m)
	b.end(m)
	b.files[Root+".cfg"] = strings.Join(b.config, "\n") + "\n"
}

// properties adds what is checked.
func (b *behaviours) properties(m *part) {
	property := func(keyword, body string) {
		id := m.fresh("V")
		m.line("%s == %s", id, body)
		b.config = append(b.config, keyword+" "+id)
	}
	e := b.expressionIn(m, stateLevel)
	if b.symmetric && b.often(85) {
		property("SYMMETRY", "Permutations(P)")
	}
	for range b.below(2) {
		property("INVARIANT", fmt.Sprintf("x > 9 \\/ (%s) \\/ (%s)", e.generate(truth, 2), e.generate(truth, 2)))
	}
	if b.often(15) { // one that depends on no variable and is false TLC takes as an error
		property("INVARIANT", fmt.Sprintf("x = x /\\ (%s => %s)", e.generate(truth, 2), b.enabled(m)))
	}
	for range 1 + b.below(2) {
		b.config = append(b.config, "PROPERTY "+b.temporal(m))
	}
	// What instances say of themselves.
	var theirs []symbol
	for _, s := range m.symbols {
		if s.level == temporalLevel && strings.Contains(s.text, "!") {
			theirs = append(theirs, s)
		}
	}
	if len(theirs) > 0 && b.often(60) {
		s := theirs[b.below(len(theirs))]
		property("PROPERTY", e.applied(s.text, 1))
	}
	if b.often(12) {
		property("CONSTRAINT", fmt.Sprintf("x > 9 \\/ (%s) \\/ (%s)", e.generate(truth, 2), e.generate(truth, 2)))
	}
	if b.often(8) {
		property("ACTION_CONSTRAINT", fmt.Sprintf("(%s) \\/ x' # %d", b.expressionIn(m, stateLevel).generate(truth, 2), b.below(3)))
	}
	if b.often(70) {
		b.config = append(b.config, "CHECK_DEADLOCK FALSE")
	}
}
