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
	"github.com/bloodhound-dst/bloodhound/tla/syntax"
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
	place     place          // where the body's names are looked up
	recursive bool
	local     bool
	index     int         // variable
	value     value.Value // constant
	standsIn  bool        // substituted: for a variable
	override  *def        // constant or operator: what the configuration puts in its place
	plain     *def        // what stands for it where an instance is named: the definition itself
	inner     *scope      // instance
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
	up          *scope // of the module around
	source      *source
	order       []string
	assumptions []assumption
	foreign     bool // of an instance in which a constant or variable stands for something else
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
	folders      []string
	parsed       map[string]*parsed
	reading      []string
	unsaved      map[string]string // modules that are given as text, by name
	scopes       []*scope
	natives      map[string]*scope // modules of this package, one scope each, so that a configuration can override their operators
	variables    []string
	variableDefs []*def
	logs         logs
	notes        []string
	draws        bool // something depends on chance
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
	place  place    // around the INSTANCE
	scopes []*scope // of the module, and of those that it extends
	other  bool     // something stands for a constant or variable that is not that itself
	used   map[string]bool
}

// holds notes a scope that is made for an instance.
func (r *replacement) holds(s *scope) {
	if r != nil {
		r.scopes = append(r.scopes, s)
	}
}

type substitution struct {
	expr syntax.Expr
	at   where
}

// module makes the scope of a module by its name. r is set if it is instanced, so that its constants and variables are replaced.
func (l *loader) module(name string, at where, around *scope, r *replacement) *scope {
	for s := around; s != nil; s = s.up { // a module within a module
		if d := s.names["MODULE "+name]; d != nil {
			nested := &scope{module: name, names: map[string]*def{}, up: s, source: d.at.source}
			r.holds(nested)
			l.fill(nested, d.tree(), r)
			return nested
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
	if p == nil && l.natives[name] != nil {
		return l.natives[name]
	}
	if natives == nil && p == nil {
		l.fail(at, "module %s is not known: there is no %s.tla in %s", name, name, strings.Join(l.folders, ", "))
	}
	s := &scope{module: name, names: map[string]*def{}}
	r.holds(s)
	l.scopes = append(l.scopes, s)
	for n, b := range natives {
		if b == nil {
			s.names[n] = &def{kind: unsupported, name: n}
			continue
		}
		s.names[n] = &def{kind: native, name: n, native: b}
	}
	if p != nil {
		s.source = p.source
		l.fill(s, p.tree, r)
	}
	for _, other := range includes[name] {
		s.include(l.module(other, at, nil, nil), at, l)
	}
	if p == nil {
		l.natives[name] = s
	}
	return s
}

// trees keeps nested modules apart from operators in the same table of names.
func (d *def) tree() *syntax.Module { return d.body.(nested).Module }

type nested struct{ *syntax.Module }

func (n nested) Position() syntax.Pos { return n.Pos }

// include takes the names of a module that is extended.
func (s *scope) include(other *scope, at where, l *loader) {
	for n, d := range other.names {
		if d.local {
			continue
		}
		if old := s.names[n]; old != nil && old != d && !sameDef(old, d) {
			l.fail(at, "%s is defined twice: by module %s, and at %s", n, other.module, &old.at)
		}
		s.names[n] = d
	}
	s.assumptions = append(s.assumptions, other.assumptions...)
}

// sameDef tells whether two definitions are one that came by two ways.
func sameDef(a, b *def) bool {
	return a.kind == native && b.kind == native || a.kind == b.kind && a.at == b.at && a.at.source != nil || a.kind == unsupported || b.kind == unsupported ||
		a.kind == native || b.kind == native
}

func (l *loader) declare(s *scope, d *def) {
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
	s.order = append(s.order, d.name)
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
		s.names["MODULE "+u.Name] = &def{kind: instance, name: u.Name, at: at(u.Pos), body: nested{u}, local: true}
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
	r := &replacement{given: map[string]substitution{}, place: around, used: map[string]bool{}}
	for _, w := range u.Substitutions {
		r.given[w.Text] = substitution{w.Value, at(w.Pos)}
	}
	inner := l.module(u.Module.Text, at(u.Module.Pos), s, r)
	for _, s := range r.scopes {
		s.foreign = r.other || len(u.Params) > 0
	}
	for _, w := range u.Substitutions {
		if !r.used[w.Text] {
			l.fail(at(w.Pos), "%s is no constant or variable of module %s", w.Text, u.Module.Text)
		}
	}
	if u.Text != "" {
		l.declare(s, &def{kind: instance, name: u.Text, at: at(u.Pos), params: u.Params, inner: inner, local: u.Local, keys: keys})
		return
	}
	for n, d := range inner.names {
		if d.local || d.kind == substituted {
			continue
		}
		if u.Local {
			c := *d
			c.local = true
			d = &c
		}
		if old := s.names[n]; old == nil || sameDef(old, d) {
			s.names[n] = d
		} else if old.at != d.at {
			l.fail(at(u.Module.Pos), "%s is defined already, and by module %s", n, u.Module.Text)
		}
	}
}
