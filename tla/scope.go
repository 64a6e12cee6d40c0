package tla

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// source is a module's file, for errors, and by which use of an operator what is compiled of it was reached.
type source struct {
	file, text string
	module     string
	spans      map[syntax.Expr]syntax.Span
	via        *use
}

// excerpt is a part of the text in one line.
func (s *source) excerpt(span syntax.Span) string {
	var words []string
	for n := span.First.Line; n <= span.Last.Line; n++ {
		text := line(s.text, n)
		runes := []rune(text)
		first, last := 0, len(runes)
		if n == span.First.Line {
			first = syntax.Before(text, span.First.Column)
		}
		if n == span.Last.Line {
			last = syntax.Before(text, span.Last.Column+1)
		}
		words = append(words, strings.Fields(string(runes[first:max(first, last)]))...)
	}
	return strings.Join(words, " ")
}

// where is a place in a module.
type where struct {
	source *source
	pos    syntax.Pos
}

func (w *where) String() string {
	if w == nil || w.source == nil {
		return "an unknown place"
	}
	return fmt.Sprintf("%s:%d:%d", w.source.file, w.pos.Line, w.pos.Column)
}

// kind tells what a name stands for.
type kind uint8

const (
	constant kind = iota
	variable
	operator    // params and body
	instance    // of a module, under a name
	substituted // a constant or variable of an instanced module: an expression outside of it
	parameter   // of a named instance: bound where the instance is used
	native      // an operator that is part of this package
	unsupported // a name of a known module that this package does not have
)

// def is what a name of a module stands for.
type def struct {
	kind
	name      string
	at        where
	params    []syntax.Param
	body      syntax.Expr
	bounds    []syntax.Bound // of a function
	home      *scope         // where it is declared; nil: in a module of this package
	place     place          // where the body's names are looked up
	recursive bool
	local     bool
	index     int              // variable
	value     value.Value      // constant
	standsIn  bool             // substituted: for a variable
	steady    bool             // substituted: for a constant of a module that is not constant itself
	origin    *origin          // what a configuration may put something else in the place of; nil: nothing
	unit      *syntax.Instance // instance: its declaration
	selected  map[*def]*def    // instance: what I!Name stands for, as far as it was asked for
	through   []passage        // instance: by which it came from the module that declares it
	inner     *scope           // instance
	native    *builtin
	keys      map[string]string // instance: under which names its parameters are bound
	shared    [2]*special       // a recursive operator that needs nothing from outside, for this state and the next
	constant  *node             // an operator without parameters that is constant
	varies    bool              // it is not
	costly    bool              // it is of a state, and worth being remembered: states has it for this state and the next
	states    [2]*node
	reached   int // how deep the compiler is in its body
}

// scope has the names of a module, or of one instance of it.
type scope struct {
	module      string
	names       map[string]*def
	modules     map[string]*inner         // the modules within this one, and within those that it extends
	within      map[*syntax.Module]*scope // those within this one, as they are
	up          *scope                    // of the module around
	instancer   *scope                    // of an instance: where its INSTANCE stands
	source      *source
	assumptions []assumption
	replaces    bool // it is of an instance in which a constant or variable stands for something else
}

// inner is a module within a module.
type inner struct {
	tree  *syntax.Module
	scope *scope // around it
}

// foreign tells whether the names of a scope depend on what stands for a constant or variable of an instanced module.
func (s *scope) foreign() bool {
	return s != nil && (s.replaces || s.up.foreign() || s.instancer.foreign())
}

// varies tells whether a module has variables, or definitions that are not constant whatever stands for its variables. Only expressions of constant level may stand for the
// constants of such a module (Specifying Systems, section 17.8).
func (s *scope) varies() bool {
	for _, d := range s.names {
		switch {
		case d.kind == variable || d.kind == substituted && d.standsIn:
			return true
		case d.kind == operator && d.body != nil && (primes(d.body) || names(d.body, "ENABLED") || syntax.Any(d.body, fair)):
			return true
		}
	}
	return false
}

func fair(e syntax.Expr) bool {
	_, is := e.(*syntax.Fairness)
	return is
}

// origin is a definition or declaration as a configuration knows it: one, whatever the ways to its module and however many instances that has. The definition that
// an INSTANCE makes of another one, I!Name or Name, is one of its own, and only the body is that of the other.
type origin struct {
	instead *def  // of the name: Name = 2, Name <- Other
	body    *body // nil: of a declaration
}

// body is that of a definition. What a configuration puts in its place for one module, as Name <- [Module]Other, reaches all that has the body.
type body struct {
	instead *def
	within  *body // a body in which constants and variables are replaced: the one that it is made of
}

// given is what the configuration puts in the place of a definition, or nil.
func (d *def) given() *def {
	if d == nil || d.origin == nil {
		return nil
	}
	if d.origin.instead != nil {
		return d.origin.instead
	}
	for b := d.origin.body; b != nil; b = b.within {
		if b.instead != nil {
			return b.instead
		}
	}
	return nil
}

// passage is an INSTANCE that brings a named instance of its module to another one.
type passage struct {
	unit     *syntax.Instance
	replaces bool
}

// originKey is what makes an origin one: a place in a module, or an INSTANCE and the origin of what it makes a definition of.
type originKey struct {
	at       where
	instance *syntax.Instance
	of       *origin
}

// originOf is the origin of a definition or declaration of a module.
func (l *loader) originOf(d *def) *origin {
	if d.at.source == nil {
		return &origin{body: &body{}}
	}
	key := originKey{at: d.at}
	if l.origins[key] == nil {
		l.origins[key] = &origin{body: &body{}}
	}
	return l.origins[key]
}

// instanced is the definition that an INSTANCE makes of one of its module.
func (l *loader) instanced(d *def, u *syntax.Instance, replaces bool) *def {
	c := *d
	if d.origin == nil {
		return &c
	}
	key := originKey{instance: u, of: d.origin}
	if l.origins[key] == nil {
		o := &origin{body: d.origin.body}
		if replaces {
			o.body = &body{within: o.body}
		}
		l.origins[key] = o
	}
	c.origin = l.origins[key]
	return &c
}

// selected is the definition I!Name that a named instance makes of one of its module.
func (l *loader) selected(instance, d *def) *def {
	if instance.selected[d] == nil {
		if instance.selected == nil {
			instance.selected = map[*def]*def{}
		}
		s := l.instanced(d, instance.unit, instance.inner.instancer != nil)
		for _, t := range instance.through {
			s = l.instanced(s, t.unit, t.replaces)
		}
		instance.selected[d] = s
	}
	return instance.selected[d]
}

type assumption struct {
	name  string
	body  syntax.Expr
	place place
	at    where
}

func (s *scope) find(name string) *def {
	for ; s != nil; s = s.up {
		if d := s.names[name]; d != nil {
			return d
		}
	}
	return nil
}

// place is where the names of an expression are looked up: parameters and bound names, parameters of instances, names of the module.
type place struct {
	env, inst *env
	scope     *scope
}

// loader finds and reads modules.
type loader struct {
	folders        []string
	parsed         map[string]*parsed
	reading        []string
	unsaved        map[string]string // modules that are given as text, by name
	scopes         []*scope
	extended       map[*syntax.Module]*scope // modules as they are: one scope each, whoever extends them
	natives        map[string]*scope         // those that are part of this package
	origins        map[originKey]*origin
	withParameters map[*syntax.Module]bool // known of replaceable
	variables      []string
	variableDefs   []*def
	logs           logs
	notes          []string
	draws          bool // something depends on chance
}

// newLoader is a loader of modules from folders. Those of unsaved are given as text, by name.
func newLoader(unsaved map[string]string, folders ...string) *loader {
	return &loader{folders: folders, unsaved: unsaved, parsed: map[string]*parsed{}, extended: map[*syntax.Module]*scope{}, natives: map[string]*scope{},
		origins: map[originKey]*origin{}, withParameters: map[*syntax.Module]bool{}}
}

type parsed struct {
	tree   *syntax.Module
	source *source
}

func (l *loader) fail(at where, format string, args ...any) {
	panic(failure{errorAt(at, fmt.Sprintf(format, args...))})
}

// located does something with values. What cannot be done with them is told at a place.
func (l *loader) located(at where, f func()) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *value.Error:
			l.fail(at, "%s", r.Message)
		default:
			panic(r)
		}
	}()
	f()
}

type failure struct{ err error }

func catch(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.err
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

func errorAt(at where, message string) error {
	e := &syntax.Error{Pos: at.pos, Message: message}
	if at.source != nil {
		e.File = at.source.file
		e.Line = line(at.source.text, at.pos.Line)
		e.Chain = chain(at, nil)
	}
	return e
}

func line(text string, n int) string {
	for ; n > 1; n-- {
		_, after, found := strings.Cut(text, "\n")
		if !found {
			return ""
		}
		text = after
	}
	text, _, _ = strings.Cut(text, "\n")
	return strings.TrimSuffix(text, "\r")
}

// read parses a module, once.
func (l *loader) read(name string, at where) *parsed {
	if p := l.parsed[name]; p != nil {
		return p
	}
	if text, ok := l.unsaved[name]; ok {
		return l.parse(name, &source{file: name, text: text})
	}
	for _, folder := range l.folders {
		file := filepath.Join(folder, name+".tla")
		if text, err := regular.Read(file, maxText); err == nil {
			return l.parse(name, &source{file: file, text: string(text)})
		} else if !os.IsNotExist(err) {
			l.fail(at, "%v", err)
		}
	}
	if p := l.beside(name); p != nil {
		return p
	}
	if text, err := library.ReadFile("library/" + name + ".tla"); err == nil {
		return l.parse(name, &source{file: "library/" + name + ".tla", text: string(text)})
	}
	if proven(name) {
		return l.parse(name, &source{file: name + ".tla", text: "---- MODULE " + name + " ----\n===="})
	}
	return nil
}

// header is where a module begins.
var header = regexp.MustCompile(`(?m)^[ \t]*-{4,}[ \t]*MODULE[ \t]+(\w+)`)

// beside finds a module that stands after the first one in a file that was read.
func (l *loader) beside(name string) *parsed {
	files := slices.SortedFunc(maps.Values(l.parsed), func(a, b *parsed) int { return strings.Compare(a.source.file, b.source.file) })
	for _, p := range files {
		for _, at := range header.FindAllStringSubmatchIndex(p.source.text, -1) {
			if text := p.source.text; text[at[2]:at[3]] == name && p.tree.Name != name {
				// What stands before is left empty, so that places are those of the file.
				return l.parse(name, &source{file: p.source.file, text: strings.Repeat("\n", strings.Count(text[:at[0]], "\n")) + text[at[0]:]})
			}
		}
	}
	return nil
}

func (l *loader) parse(name string, s *source) *parsed {
	tree, err := syntax.Parse(s.file, s.text)
	if err != nil {
		panic(failure{err})
	}
	if tree.Name != name {
		l.fail(where{s, tree.Pos}, "the file of module %s holds module %s", name, tree.Name)
	}
	s.module, s.spans = name, tree.Spans
	p := &parsed{tree, s}
	l.parsed[name] = p
	return p
}

// replacement of the constants and variables of a module that is instanced.
type replacement struct {
	given  map[string]substitution
	place  place                     // around the INSTANCE
	scopes map[*syntax.Module]*scope // of the module, and of those that it extends: one each, too
	other  bool                      // something stands for a constant or variable that is not that itself
	used   map[string]bool
}

type substitution struct {
	expr syntax.Expr
	at   where
}

// module is the scope of a module by its name. r is set if it is instanced, so that its constants and variables are replaced: it is another one than that of the
// module as it is, unless there is nothing to replace.
func (l *loader) module(name string, at where, around *scope, r *replacement) *scope {
	for s := around; s != nil; s = s.up { // a module within a module
		if m := s.modules[name]; m != nil {
			return l.scopeOf(m.tree, m.scope, r, func() *scope {
				return &scope{module: name, names: map[string]*def{}, up: m.scope, source: m.scope.source}
			}, nil)
		}
	}
	if slices.Contains(l.reading, name) {
		l.fail(at, "module %s extends or instances itself, by way of %s", name, strings.Join(l.reading, ", "))
	}
	l.reading = append(l.reading, name)
	defer func() { l.reading = l.reading[:len(l.reading)-1] }()
	natives := modules[name]
	p := (*parsed)(nil)
	if natives == nil || !standard[name] {
		p = l.read(name, at)
	}
	if natives == nil && p == nil {
		l.fail(at, "module %s is not known: there is no %s.tla in %s", name, name, strings.Join(l.folders, ", "))
	}
	begin := func() *scope {
		s := &scope{module: name, names: map[string]*def{}}
		for n, b := range natives {
			d := &def{kind: native, name: n, native: b}
			if b == nil {
				d.kind = unsupported
			}
			d.origin = l.originOf(d)
			s.names[n] = d
		}
		return s
	}
	extends := func(s *scope) {
		for _, other := range includes[name] {
			s.include(l.module(other, at, nil, nil), at, l)
		}
	}
	if p != nil {
		return l.scopeOf(p.tree, nil, r, func() *scope { s := begin(); s.source = p.source; return s }, extends)
	}
	if l.natives[name] == nil {
		s := begin()
		l.natives[name] = s
		l.scopes = append(l.scopes, s)
		extends(s)
	}
	return l.natives[name]
}

// scopeOf is the scope of a module within the scope around it, if any: that of an instance, or that of the module as it is.
func (l *loader) scopeOf(tree *syntax.Module, around *scope, r *replacement, begin func() *scope, extends func(*scope)) *scope {
	known := l.extended
	if around != nil {
		if around.within == nil {
			around.within = map[*syntax.Module]*scope{}
		}
		known = around.within
	}
	if r != nil && l.replaceable(tree, around) {
		known = r.scopes
	} else {
		r = nil
	}
	if s := known[tree]; s != nil {
		return s
	}
	s := begin()
	if r != nil {
		s.instancer = r.place.scope
	}
	known[tree] = s
	l.scopes = append(l.scopes, s)
	l.fill(s, tree, r)
	if extends != nil {
		extends(s)
	}
	return s
}

// replaceable tells whether a module, or one that it extends, has a constant or variable.
func (l *loader) replaceable(m *syntax.Module, around *scope) bool {
	if known, ok := l.withParameters[m]; ok {
		return known
	}
	l.withParameters[m] = false // as far as it extends itself
	has := slices.ContainsFunc(m.Units, func(u syntax.Unit) bool {
		switch u.(type) {
		case syntax.Constants, syntax.Variables:
			return true
		}
		return false
	}) || slices.ContainsFunc(m.Extends, func(e syntax.Name) bool {
		for s := around; s != nil; s = s.up {
			if within := s.modules[e.Text]; within != nil {
				return l.replaceable(within.tree, within.scope)
			}
		}
		if modules[e.Text] != nil && standard[e.Text] {
			return false
		}
		p := l.read(e.Text, where{l.parsed[m.Name].source, e.Pos})
		return p != nil && l.replaceable(p.tree, nil)
	})
	l.withParameters[m] = has
	return has
}

// include takes the names of a module that is extended. Of two definitions of one name the first is taken, as in TLC.
func (s *scope) include(other *scope, at where, l *loader) {
	for _, n := range slices.Sorted(maps.Keys(other.names)) {
		if d := other.names[n]; !d.local {
			s.adopt(n, d, other, at, l)
		}
	}
	for n, m := range other.modules {
		s.holds(n, m)
	}
	for _, a := range other.assumptions {
		if !slices.ContainsFunc(s.assumptions, func(b assumption) bool { return a.at == b.at }) {
			s.assumptions = append(s.assumptions, a)
		}
	}
}

// adopt takes a name of another module.
func (s *scope) adopt(n string, d *def, from *scope, at where, l *loader) {
	old := s.names[n]
	switch {
	case old == d:
	case old == nil:
		s.names[n] = d
	case old.kind == unsupported || d.kind == unsupported || old.kind == native || d.kind == native || old.at == d.at:
	case old.kind == operator && d.kind == operator && len(old.params) == len(d.params):
		l.notes = append(l.notes, fmt.Sprintf("%s:%d: %s is defined twice, at %s and at %s: the first is taken", at.source.file, at.pos.Line, n, &old.at, &d.at))
	default:
		l.fail(at, "%s is defined twice: by module %s, and at %s", n, from.module, &old.at)
	}
}

// holds adds a module within it.
func (s *scope) holds(name string, m *inner) {
	if s.modules == nil {
		s.modules = map[string]*inner{}
	}
	if s.modules[name] == nil {
		s.modules[name] = m
	}
}

func (l *loader) declare(s *scope, d *def) {
	if d.kind == constant || d.kind == operator {
		d.origin = l.originOf(d)
	}
	d.home = s
	if old := s.names[d.name]; old != nil && old.kind == native && modules[s.module][d.name] != nil {
		return // what this package has of a module stays in its place
	}
	if old := s.names[d.name]; old != nil && !(old.recursive && old.body == nil) && (old.at != d.at || old.at.source == nil) {
		if old.at.source == nil {
			l.fail(d.at, "%s is defined already, by a module that is part of this program", d.name)
		}
		l.fail(d.at, "%s is defined already, at %s", d.name, &old.at)
	} else if old != nil && old.recursive && old.body == nil {
		d.recursive = true
		*old = *d
		return
	}
	s.names[d.name] = d
}

// fill declares the names of a module.
func (l *loader) fill(s *scope, m *syntax.Module, r *replacement) {
	at := func(pos syntax.Pos) where { return where{s.source, pos} }
	for _, e := range m.Extends {
		// In an instance, what the module extends has its constants and variables replaced, too.
		s.include(l.module(e.Text, at(e.Pos), s.up, r), at(e.Pos), l)
	}
	outer := place{scope: s}
	for _, u := range m.Units {
		l.unit(s, u, r, outer, at)
	}
}

func (l *loader) unit(s *scope, u syntax.Unit, r *replacement, outer place, at func(syntax.Pos) where) {
	switch u := u.(type) {
	case syntax.Constants:
		for _, p := range u.List {
			l.declare(s, l.replaced(&def{kind: constant, name: p.Text, at: at(p.Pos), params: make([]syntax.Param, p.Arity)}, r))
		}
	case syntax.Variables:
		for _, n := range u.List {
			d := &def{kind: variable, name: n.Text, at: at(n.Pos)}
			if r == nil {
				d = l.variable(d)
			} else {
				d = l.replaced(d, r)
			}
			l.declare(s, d)
		}
	case syntax.Recursive:
		for _, p := range u.List {
			l.declare(s, &def{kind: operator, name: p.Text, at: at(p.Pos), recursive: true, params: make([]syntax.Param, p.Arity), place: outer})
		}
	case *syntax.Operator:
		l.declare(s, &def{kind: operator, name: u.Text, at: at(u.Pos), params: u.Params, body: u.Body, place: outer, local: u.Local})
	case *syntax.Function:
		l.declare(s, &def{kind: operator, name: u.Text, at: at(u.Pos), bounds: u.Bounds, body: u.Body, place: outer, local: u.Local})
	case *syntax.Instance:
		l.instance(s, u, outer, at)
	case syntax.Assumption:
		if r == nil {
			s.assumptions = append(s.assumptions, assumption{u.Text, u.Body, outer, at(u.Pos)})
		}
		if u.Text != "" {
			l.declare(s, &def{kind: operator, name: u.Text, at: at(u.Pos), body: u.Body, place: outer})
		}
	case syntax.Theorem:
		if u.Text != "" && u.Body != nil {
			l.declare(s, &def{kind: operator, name: u.Text, at: at(u.Pos), body: u.Body, place: outer})
		}
	case *syntax.Module:
		s.holds(u.Name, &inner{u, s})
	}
}

// variable numbers a variable of the specification. One that comes by two ways is one.
func (l *loader) variable(d *def) *def {
	for _, old := range l.variableDefs {
		if old.at == d.at {
			return old
		}
	}
	d.index = len(l.variables)
	l.variables = append(l.variables, d.name)
	l.variableDefs = append(l.variableDefs, d)
	return d
}

// replaced is what stands for a constant or variable of an instanced module: what WITH says, or what has its name around.
func (l *loader) replaced(d *def, r *replacement) *def {
	if r == nil {
		return d
	}
	varies := d.kind == variable || d.standsIn
	if s, ok := r.given[d.name]; ok {
		r.used[d.name], r.other = true, true
		return &def{kind: substituted, name: d.name, at: s.at, body: s.expr, place: r.place, params: d.params, standsIn: varies}
	}
	around := r.place.scope.find(d.name)
	r.other = r.other || around != nil && around.at != d.at
	if around == nil {
		l.fail(d.at, "%s is not given a value: an INSTANCE needs WITH %s <- ..., or something of that name around it", d.name, d.name)
	}
	return &def{kind: substituted, name: d.name, at: d.at, body: &syntax.Apply{Pos: d.at.pos, Name: d.name}, place: r.place, params: d.params, standsIn: varies}
}

func (l *loader) instance(s *scope, u *syntax.Instance, outer place, at func(syntax.Pos) where) {
	around := outer
	keys := map[string]string{}
	if len(u.Params) > 0 {
		// Parameters are names of the substitutions alone; the module does not see them.
		around.scope = &scope{module: s.module, names: map[string]*def{}, up: s, source: s.source}
		for _, p := range u.Params {
			keys[p.Text] = fmt.Sprintf("%p %s", u, p.Text)
			around.scope.names[p.Text] = &def{kind: parameter, name: keys[p.Text], at: at(p.Pos), params: make([]syntax.Param, p.Arity)}
		}
	}
	r := &replacement{given: map[string]substitution{}, place: around, scopes: map[*syntax.Module]*scope{}, used: map[string]bool{}}
	for _, w := range u.Substitutions {
		r.given[w.Text] = substitution{w.Value, at(w.Pos)}
	}
	inner := l.module(u.Module.Text, at(u.Module.Pos), s, r)
	var constants []*def // what stands for them
	for _, s := range r.scopes {
		s.replaces = r.other || len(u.Params) > 0
		for _, d := range s.names {
			if d.kind == substituted && !d.standsIn {
				constants = append(constants, d)
			}
		}
	}
	if len(constants) > 0 && inner.varies() {
		for _, d := range constants {
			d.steady = true
		}
	}
	for _, w := range u.Substitutions {
		if !r.used[w.Text] {
			l.fail(at(w.Pos), "%s is no constant or variable of module %s", w.Text, u.Module.Text)
		}
	}
	if u.Text != "" {
		l.declare(s, &def{kind: instance, name: u.Text, at: at(u.Pos), params: u.Params, inner: inner, unit: u, local: u.Local, keys: keys})
		return
	}
	for _, n := range slices.Sorted(maps.Keys(inner.names)) {
		d := inner.names[n]
		if d.local || d.kind == substituted {
			continue
		}
		if replaces := d.home != nil && d.home.instancer != nil; replaces || u.Local {
			d = l.instanced(d, u, replaces)
			if d.kind == instance {
				d.through, d.selected = append(slices.Clip(d.through), passage{u, replaces}), nil
			}
			if d.local = u.Local; replaces {
				d.home = s
			}
		}
		s.adopt(n, d, inner, at(u.Module.Pos), l)
	}
}
