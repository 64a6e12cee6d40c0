// Package scope finds what names stand for: it loads a module with all that it extends and instances, declares their definitions, and reports names without a
// meaning.
package scope

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/tla/config"
	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Kind reports what a name stands for.
type Kind uint8

const (
	Constant Kind = iota
	Variable
	Operator    // params and body
	Instance    // of a module, under a name
	Substituted // a constant or variable of an instanced module: an expression outside of that module
	Parameter   // of a named instance: bound where the instance is used
	Native      // an operator that is part of this package
	Unsupported // a name of a known module that this package does not have
)

// Def is the meaning of a name in a module.
type Def struct {
	Kind
	Name      string
	At        Where
	Params    []syntax.Param
	Body      syntax.Expr
	Bounds    []syntax.Bound // of a function
	home      *Scope         // where it is declared; nil: in a module of this package
	Place     Site           // where the body's names are looked up
	Recursive bool
	local     bool
	Index     int              // variable
	Value     value.Value      // constant
	StandsIn  bool             // substituted: for a variable
	Part      bool             // operator: what a selection such as F!2 names of another one
	Steady    bool             // substituted: for a constant of a module that is not constant itself
	Origin    *origin          // what a configuration may put something else in the place of; nil: nothing
	unit      *syntax.Instance // instance: its declaration
	selected  map[*Def]*Def    // instance: what I!Name stands for, as far as it was used
	through   []passage        // instance: by which it came from the module that declares it
	Inner     *Scope           // instance
	Native    *library.Builtin
	Keys      map[string]string // instance: under which names its parameters are bound
	Compiled  any               // what the evaluator keeps for the definition
}

// Scope has the names of a module, or of one instance of that module.
type Scope struct {
	Module      string
	Names       map[string]*Def
	modules     map[string]*inner         // the modules within this one, and within those that it extends
	within      map[*syntax.Module]*Scope // those within this one, as they are
	Up          *Scope                    // of the module around
	instancer   *Scope                    // of an instance: the place of its INSTANCE
	Source      *Source
	Assumptions []assumption
	replaces    bool         // it is of an instance in which a constant or variable stands for something else
	replaced    *replacement // of an instance: of its constants and variables
	module      *module
}

// module is the common state of the scopes of one module.
type module struct {
	instanced  bool // by any INSTANCE
	parameters bool // it has constants or variables, or extends what has
}

// Reevaluated reports whether TLC evaluates what a definition says wherever it is used, even if it is constant: a definition of a
// module that is instanced and has constants or variables. Others it evaluates once, before it looks for states. What is used by
// way of a named instance is a definition of the module with the INSTANCE.
func (d *Def) Reevaluated() bool {
	s := d.Place.Scope
	if d.Kind == Instance {
		s = d.home
	}
	return s != nil && s.module != nil && s.module.instanced && s.module.parameters
}

// inner is a module within a module.
type inner struct {
	tree  *syntax.Module
	scope *Scope // around it
}

// Foreign reports whether the names of a scope depend on what stands for a constant or variable of an instanced module.
func (s *Scope) Foreign() bool {
	return s != nil && (s.replaces || s.Up.Foreign() || s.instancer.Foreign())
}

// instance returns the replacements of the instance that a definition is, or else is in, or nil if there is none.
func (d *Def) instance() *replacement {
	s := d.home
	if d.Kind == Instance {
		s = d.Inner
	}
	if s == nil {
		return nil
	}
	return s.replaced
}

// partOf reports whether a scope is within an instance.
func (s *Scope) partOf(r *replacement) bool {
	return s != nil && (s.replaced == r || s.Up.partOf(r) || s.instancer.partOf(r))
}

// Encloses reports whether a scope is within the instance that a definition has, or is of.
func (d *Def) Encloses(s *Scope) bool {
	r := d.instance()
	return r != nil && s.partOf(r)
}

// Instance names the instance that a definition has, or is of; it is empty if there is none.
func (d *Def) Instance() string {
	if r := d.instance(); r != nil {
		return fmt.Sprintf("instance %p", r)
	}
	return ""
}

// Replaced are the definitions beside one of an instance that stand for something of its module.
func (d *Def) Replaced() (list []*Def) {
	if d.home == nil {
		return nil
	}
	for _, other := range d.home.Names {
		if other.Kind == Substituted {
			list = append(list, other)
		}
	}
	return list
}

// Instanced reports whether a scope is that of an instance, in which something stands for constants or variables.
func (s *Scope) Instanced() bool { return s != nil && s.instancer != nil }

// varies reports whether a module has variables, or definitions that are not constant whatever stands for its variables. Only
// expressions of constant level may stand for the constants of such a module (Specifying Systems, section 17.8).
func (s *Scope) varies() bool {
	for _, d := range s.Names {
		switch {
		case d.Kind == Variable || d.Kind == Substituted && d.StandsIn:
			return true
		case d.Kind == Operator && d.Body != nil && (syntax.Primes(d.Body) || syntax.Names(d.Body, "ENABLED") || syntax.Any(d.Body, fair)):
			return true
		}
	}
	return false
}

func fair(e syntax.Expr) bool {
	_, is := e.(*syntax.Fairness)
	return is
}

// origin is a definition or declaration as a configuration knows it: one, whatever the ways to its module and however many
// instances that has. The definition that an INSTANCE makes of another one, I!Name or Name, is one of its own, and only the body
// is that of the other.
type origin struct {
	Instead *Def  // of the name: Name = 2, Name <- Other
	Body    *body // nil: of a declaration
}

// body is the body of a definition. If a configuration replaces it for one module, as in Name <- [Module]Other, the
// replacement applies to every definition with this body.
type body struct {
	Instead *Def
	within  *body // a body in which constants and variables are replaced: the one that it is made of
}

// Given returns the definition with which the configuration replaces a definition, or nil.
func (d *Def) Given() *Def {
	if d == nil || d.Origin == nil {
		return nil
	}
	if d.Origin.Instead != nil {
		return d.Origin.Instead
	}
	for b := d.Origin.Body; b != nil; b = b.within {
		if b.Instead != nil {
			return b.Instead
		}
	}
	return nil
}

// passage is an INSTANCE that brings a named instance of its module to another one.
type passage struct {
	unit     *syntax.Instance
	replaces bool
}

// originKey identifies an origin: a place in a module, or an INSTANCE and the origin of the definition that it
// instantiates.
type originKey struct {
	at       Where
	instance *syntax.Instance
	of       *origin
}

// originOf is the origin of a definition or declaration of a module.
func (l *Loader) originOf(d *Def) *origin {
	if d.At.Source == nil {
		return &origin{Body: &body{}}
	}
	key := originKey{at: d.At}
	if l.origins[key] == nil {
		l.origins[key] = &origin{Body: &body{}}
	}
	return l.origins[key]
}

// instanced is the definition that an INSTANCE makes of one of its module.
func (l *Loader) instanced(d *Def, u *syntax.Instance, replaces bool) *Def {
	c := *d
	c.Compiled = nil
	if d.Origin == nil {
		return &c
	}
	key := originKey{instance: u, of: d.Origin}
	if l.origins[key] == nil {
		o := &origin{Body: d.Origin.Body}
		if replaces {
			o.Body = &body{within: o.Body}
		}
		l.origins[key] = o
	}
	c.Origin = l.origins[key]
	return &c
}

// Selected is the definition I!Name that a named instance makes of one of its module.
func (l *Loader) Selected(instance, d *Def) *Def {
	if instance.selected[d] == nil {
		if instance.selected == nil {
			instance.selected = map[*Def]*Def{}
		}
		s := l.instanced(d, instance.unit, instance.Inner.instancer != nil)
		for _, t := range instance.through {
			s = l.instanced(s, t.unit, t.replaces)
		}
		instance.selected[d] = s
	}
	return instance.selected[d]
}

type assumption struct {
	Name  string
	Body  syntax.Expr
	Place Site
	At    Where
}

// Find is the definition of a name in a module or in one around it; nil: there is none.
func (s *Scope) Find(name string) *Def {
	for ; s != nil; s = s.Up {
		if d := s.Names[name]; d != nil {
			return d
		}
	}
	return nil
}

// Site is where the names of an expression are looked up: those that are bound around it, which only the evaluator knows, and those of the module.
type Site struct {
	Scope *Scope
	Bound any
}

// Loader finds and reads modules.
type Loader struct {
	folders        []string
	parsed         map[string]*parsed
	reading        []string
	unsaved        map[string]string // modules that are given as text, by name
	Scopes         []*Scope
	extended       map[*syntax.Module]*Scope // modules as they are: one scope each, whoever extends them
	natives        map[string]*Scope         // those that are part of this package
	origins        map[originKey]*origin
	withParameters map[*syntax.Module]bool // known of replaceable
	modules        map[*syntax.Module]*module
	Variables      []string
	VariableDefs   []*Def
	Notes          []string
	untranslated   *Where // an algorithm in PlusCal that is a comment only
}

// NewLoader is a loader of modules from folders. Those of unsaved are given as text, by name.
func NewLoader(unsaved map[string]string, folders ...string) *Loader {
	return &Loader{folders: folders, unsaved: unsaved, parsed: map[string]*parsed{}, extended: map[*syntax.Module]*Scope{}, natives: map[string]*Scope{},
		origins: map[originKey]*origin{}, withParameters: map[*syntax.Module]bool{}, modules: map[*syntax.Module]*module{}}
}

// Trees are the modules that were read, in the order of their names.
func (l *Loader) Trees() (list []*syntax.Module) {
	for _, name := range slices.Sorted(maps.Keys(l.parsed)) {
		list = append(list, l.parsed[name].tree)
	}
	return list
}

type parsed struct {
	tree   *syntax.Module
	source *Source
}

// Fail ends loading with an error at a place.
func (l *Loader) Fail(at Where, format string, args ...any) {
	panic(failure.Wrap(ErrorAt(at, fmt.Sprintf(format, args...))))
}

// Located does something with values. Errors of values are reported at a place.
func (l *Loader) Located(at Where, f func()) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *value.Error:
			l.Fail(at, "%s", r.Message)
		default:
			panic(r)
		}
	}()
	f()
}

// read parses a module, once.
func (l *Loader) read(name string, at Where) *parsed {
	if p := l.parsed[name]; p != nil {
		return p
	}
	if text, ok := l.unsaved[name]; ok {
		return l.parse(name, &Source{File: name, Text: text})
	}
	for _, folder := range l.folders {
		file := filepath.Join(folder, name+".tla")
		if text, err := regular.Read(file, config.MaxBytes); err == nil {
			return l.parse(name, &Source{File: file, Text: string(text)})
		} else if !os.IsNotExist(err) {
			l.Fail(at, "%v", err)
		}
	}
	if p := l.beside(name); p != nil {
		return p
	}
	if text, found := library.ModuleText("library/" + name + ".tla"); found {
		return l.parse(name, &Source{File: "library/" + name + ".tla", Text: text})
	}
	if library.Proven(name) {
		return l.parse(name, &Source{File: name + ".tla", Text: "---- MODULE " + name + " ----\n===="})
	}
	return nil
}

// header is where a module begins.
var header = regexp.MustCompile(`(?m)^[ \t]*-{4,}[ \t]*MODULE[ \t]+(\w+)`)

// beside finds a module that is after the first one in a file that was read.
func (l *Loader) beside(name string) *parsed {
	files := slices.SortedFunc(maps.Values(l.parsed), func(a, b *parsed) int { return strings.Compare(a.source.File, b.source.File) })
	for _, p := range files {
		for _, at := range header.FindAllStringSubmatchIndex(p.source.Text, -1) {
			if text := p.source.Text; text[at[2]:at[3]] == name && p.tree.Name != name {
				// The text before is left empty, so that places are those of the file.
				return l.parse(name, &Source{File: p.source.File, Text: strings.Repeat("\n", strings.Count(text[:at[0]], "\n")) + text[at[0]:]})
			}
		}
	}
	return nil
}

func (l *Loader) parse(name string, s *Source) *parsed {
	tree, err := syntax.Parse(s.File, s.Text)
	if err != nil {
		panic(failure.Wrap(err))
	}
	if tree.Name != name {
		l.Fail(Where{s, tree.Pos}, "the file of module %s holds module %s", name, tree.Name)
	}
	s.Module, s.Spans = name, tree.Spans
	p := &parsed{tree, s}
	l.parsed[name] = p
	if a := plusCalOf(s); a != nil && l.untranslated == nil {
		l.notePlusCal(a)
		if a.untranslated {
			l.untranslated = &a.at
		}
	}
	return p
}

// replacement of the constants and variables of a module that is instanced.
type replacement struct {
	given  map[string]substitution
	root   string                    // the module that is instanced
	place  Site                      // around the INSTANCE
	scopes map[*syntax.Module]*Scope // of the module, and of those that it extends: one each, too
	other  bool                      // something stands for a constant or variable that is not that itself
	used   map[string]bool
}

type substitution struct {
	expr syntax.Expr
	at   Where
}

// Module is the scope of a module by its name. r is set if it is instanced, so that its constants and variables are replaced: it
// is another one than that of the module as it is, unless there is nothing to replace.
func (l *Loader) Module(name string, at Where, around *Scope, r *replacement) *Scope {
	for s := around; s != nil; s = s.Up { // a module within a module
		if m := s.modules[name]; m != nil {
			return l.scopeOf(m.tree, m.scope, r, func() *Scope {
				return &Scope{Module: name, Names: map[string]*Def{}, Up: m.scope, Source: m.scope.Source}
			}, nil)
		}
	}
	if slices.Contains(l.reading, name) {
		l.Fail(at, "module %s extends or instances itself, by way of %s", name, strings.Join(l.reading, ", "))
	}
	l.reading = append(l.reading, name)
	defer func() { l.reading = l.reading[:len(l.reading)-1] }()
	natives := library.Modules[name]
	p := (*parsed)(nil)
	if natives == nil || !library.Standard[name] {
		p = l.read(name, at)
	}
	if natives == nil && p == nil {
		l.Fail(at, "module %s is not known: there is no %s.tla in %s", name, name, strings.Join(l.folders, ", "))
	}
	begin := func() *Scope {
		s := &Scope{Module: name, Names: map[string]*Def{}}
		for n, b := range natives {
			d := &Def{Kind: Native, Name: n, Native: b}
			if b == nil {
				d.Kind = Unsupported
			}
			d.Origin = l.originOf(d)
			s.Names[n] = d
		}
		return s
	}
	extends := func(s *Scope) {
		for _, other := range library.Includes[name] {
			s.include(l.Module(other, at, nil, nil), at, l)
		}
	}
	if p != nil {
		return l.scopeOf(p.tree, nil, r, func() *Scope { s := begin(); s.Source = p.source; return s }, extends)
	}
	if l.natives[name] == nil {
		s := begin()
		l.natives[name] = s
		l.Scopes = append(l.Scopes, s)
		extends(s)
	}
	return l.natives[name]
}

// scopeOf is the scope of a module within the scope around it, if any: that of an instance, or that of the module as it is.
func (l *Loader) scopeOf(tree *syntax.Module, around *Scope, r *replacement, begin func() *Scope, extends func(*Scope)) *Scope {
	if l.modules[tree] == nil {
		l.modules[tree] = &module{parameters: l.replaceable(tree, around)}
	}
	l.modules[tree].instanced = l.modules[tree].instanced || r != nil && r.root == tree.Name
	known := l.extended
	if around != nil {
		if around.within == nil {
			around.within = map[*syntax.Module]*Scope{}
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
	s.module = l.modules[tree]
	if r != nil {
		s.instancer, s.replaced = r.place.Scope, r
	}
	known[tree] = s
	l.Scopes = append(l.Scopes, s)
	l.fill(s, tree, r)
	if extends != nil {
		extends(s)
	}
	return s
}

// replaceable reports whether a module, or one that it extends, has a constant or variable.
func (l *Loader) replaceable(m *syntax.Module, around *Scope) bool {
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
		for s := around; s != nil; s = s.Up {
			if within := s.modules[e.Text]; within != nil {
				return l.replaceable(within.tree, within.scope)
			}
		}
		if library.Modules[e.Text] != nil && library.Standard[e.Text] {
			return false
		}
		p := l.read(e.Text, Where{l.parsed[m.Name].source, e.Pos})
		return p != nil && l.replaceable(p.tree, nil)
	})
	l.withParameters[m] = has
	return has
}

// include takes the names of a module that is extended. Of two definitions of one name the first is taken, as in TLC.
func (s *Scope) include(other *Scope, at Where, l *Loader) {
	for _, n := range slices.Sorted(maps.Keys(other.Names)) {
		if d := other.Names[n]; !d.local {
			s.adopt(n, d, other, at, l)
		}
	}
	for n, m := range other.modules {
		s.holds(n, m)
	}
	for _, a := range other.Assumptions {
		if !slices.ContainsFunc(s.Assumptions, func(b assumption) bool { return a.At == b.At }) {
			s.Assumptions = append(s.Assumptions, a)
		}
	}
}

// adopt takes a name of another module.
func (s *Scope) adopt(n string, d *Def, from *Scope, at Where, l *Loader) {
	old := s.Names[n]
	switch {
	case old == d:
	case old == nil:
		s.Names[n] = d
	case old.Kind == Unsupported || d.Kind == Unsupported || old.Kind == Native || d.Kind == Native || old.At == d.At:
	case old.Kind == Operator && d.Kind == Operator && len(old.Params) == len(d.Params):
		l.Notes = append(l.Notes, fmt.Sprintf("%s:%d: %s is defined twice, at %s and at %s: the first is taken", at.Source.File,
			at.Pos.Line, n, &old.At, &d.At))
	default:
		l.Fail(at, "%s is defined twice: by module %s, and at %s", n, from.Module, &old.At)
	}
}

// holds adds a module within it.
func (s *Scope) holds(name string, m *inner) {
	if s.modules == nil {
		s.modules = map[string]*inner{}
	}
	if s.modules[name] == nil {
		s.modules[name] = m
	}
}

func (l *Loader) declare(s *Scope, d *Def) {
	if d.Kind == Constant || d.Kind == Operator {
		d.Origin = l.originOf(d)
	}
	d.home = s
	if old := s.Names[d.Name]; old != nil && old.Kind == Native && library.Modules[s.Module][d.Name] != nil {
		return // what this package has of a module stays in its place
	}
	if old := s.Names[d.Name]; old != nil && !(old.Recursive && old.Body == nil) && (old.At != d.At || old.At.Source == nil) {
		if old.At.Source == nil {
			l.Fail(d.At, "%s is defined already, by a module that is part of this program", d.Name)
		}
		l.Fail(d.At, "%s is defined already, at %s", d.Name, &old.At)
	} else if old != nil && old.Recursive && old.Body == nil {
		d.Recursive = true
		*old = *d
		return
	}
	s.Names[d.Name] = d
}

// fill declares the names of a module.
func (l *Loader) fill(s *Scope, m *syntax.Module, r *replacement) {
	at := func(pos syntax.Pos) Where { return Where{s.Source, pos} }
	for _, e := range m.Extends {
		// In an instance, what the module extends has its constants and variables replaced, too.
		s.include(l.Module(e.Text, at(e.Pos), s.Up, r), at(e.Pos), l)
	}
	outer := Site{Scope: s}
	for _, u := range m.Units {
		l.unit(s, u, r, outer, at)
	}
}

func (l *Loader) unit(s *Scope, u syntax.Unit, r *replacement, outer Site, at func(syntax.Pos) Where) {
	switch u := u.(type) {
	case syntax.Constants:
		for _, p := range u.List {
			l.declare(s, l.replaced(&Def{Kind: Constant, Name: p.Text, At: at(p.Pos), Params: make([]syntax.Param, p.Arity)}, r))
		}
	case syntax.Variables:
		for _, n := range u.List {
			d := &Def{Kind: Variable, Name: n.Text, At: at(n.Pos)}
			if r == nil {
				d = l.variable(d)
			} else {
				d = l.replaced(d, r)
			}
			l.declare(s, d)
		}
	case syntax.Recursive:
		for _, p := range u.List {
			l.declare(s, &Def{Kind: Operator, Name: p.Text, At: at(p.Pos), Recursive: true, Params: make([]syntax.Param, p.Arity), Place: outer})
		}
	case *syntax.Operator:
		l.declare(s, &Def{Kind: Operator, Name: u.Text, At: at(u.Pos), Params: u.Params, Body: u.Body, Place: outer, local: u.Local})
	case *syntax.Function:
		l.declare(s, &Def{Kind: Operator, Name: u.Text, At: at(u.Pos), Bounds: u.Bounds, Body: u.Body, Place: outer, local: u.Local})
	case *syntax.Instance:
		l.Instance(s, u, outer, at)
	case syntax.Assumption:
		if r == nil && !u.Axiom {
			s.Assumptions = append(s.Assumptions, assumption{u.Text, u.Body, outer, at(u.Pos)})
		}
		if u.Text != "" {
			l.declare(s, &Def{Kind: Operator, Name: u.Text, At: at(u.Pos), Body: u.Body, Place: outer})
		}
	case syntax.Theorem:
		if u.Text != "" && u.Body != nil {
			l.declare(s, &Def{Kind: Operator, Name: u.Text, At: at(u.Pos), Body: u.Body, Place: outer})
		}
	case *syntax.Module:
		s.holds(u.Name, &inner{u, s})
	}
}

// variable numbers a variable of the specification. One that comes by two ways is one.
func (l *Loader) variable(d *Def) *Def {
	for _, old := range l.VariableDefs {
		if old.At == d.At {
			return old
		}
	}
	d.Index = len(l.Variables)
	l.Variables = append(l.Variables, d.Name)
	l.VariableDefs = append(l.VariableDefs, d)
	return d
}

// replaced returns the replacement for a constant or variable of an instanced module: the one in WITH, or the
// definition of that name around the INSTANCE.
func (l *Loader) replaced(d *Def, r *replacement) *Def {
	if r == nil {
		return d
	}
	varies := d.Kind == Variable || d.StandsIn
	if s, ok := r.given[d.Name]; ok {
		r.used[d.Name], r.other = true, true
		return &Def{Kind: Substituted, Name: d.Name, At: s.at, Body: s.expr, Place: r.place, Params: d.Params, StandsIn: varies}
	}
	around := r.place.Scope.Find(d.Name)
	r.other = r.other || around != nil && around.At != d.At
	if around == nil {
		l.Fail(d.At, "%s is not given a value: an INSTANCE needs WITH %s <- ..., or something of that name around it", d.Name, d.Name)
	}
	return &Def{Kind: Substituted, Name: d.Name, At: d.At, Body: &syntax.Apply{Pos: d.At.Pos, Name: d.Name}, Place: r.place, Params: d.Params, StandsIn: varies}
}

// Instance declares what an INSTANCE makes of the definitions of its module.
func (l *Loader) Instance(s *Scope, u *syntax.Instance, outer Site, at func(syntax.Pos) Where) {
	around := outer
	keys := map[string]string{}
	if len(u.Params) > 0 {
		// Parameters are names of the substitutions alone; the module does not see them.
		around.Scope = &Scope{Module: s.Module, Names: map[string]*Def{}, Up: s, Source: s.Source}
		for _, p := range u.Params {
			keys[p.Text] = fmt.Sprintf("%p %s", u, p.Text)
			around.Scope.Names[p.Text] = &Def{Kind: Parameter, Name: keys[p.Text], At: at(p.Pos), Params: make([]syntax.Param, p.Arity)}
		}
	}
	r := &replacement{given: map[string]substitution{}, root: u.Module.Text, place: around, scopes: map[*syntax.Module]*Scope{}, used: map[string]bool{}}
	for _, w := range u.Substitutions {
		r.given[w.Text] = substitution{w.Value, at(w.Pos)}
	}
	inner := l.Module(u.Module.Text, at(u.Module.Pos), s, r)
	var constants []*Def // what stands for them
	for _, s := range r.scopes {
		s.replaces = r.other || len(u.Params) > 0
		for _, d := range s.Names {
			if d.Kind == Substituted && !d.StandsIn {
				constants = append(constants, d)
			}
		}
	}
	if len(constants) > 0 && inner.varies() {
		for _, d := range constants {
			d.Steady = true
		}
	}
	for _, w := range u.Substitutions {
		if !r.used[w.Text] {
			l.Fail(at(w.Pos), "%s is not a constant or variable of module %s", w.Text, u.Module.Text)
		}
	}
	if u.Text != "" {
		l.declare(s, &Def{Kind: Instance, Name: u.Text, At: at(u.Pos), Params: u.Params, Inner: inner, unit: u, local: u.Local, Keys: keys})
		return
	}
	for _, n := range slices.Sorted(maps.Keys(inner.Names)) {
		d := inner.Names[n]
		if d.local || d.Kind == Substituted {
			continue
		}
		if replaces := d.home != nil && d.home.instancer != nil; replaces || u.Local {
			d = l.instanced(d, u, replaces)
			if d.Kind == Instance {
				d.through, d.selected = append(slices.Clip(d.through), passage{u, replaces}), nil
			}
			if d.local = u.Local; replaces {
				d.home = s
			}
		}
		s.adopt(n, d, inner, at(u.Module.Pos), l)
	}
}

// File is the source of the module.
func (s *Scope) File() *Source {
	for ; s != nil; s = s.Up {
		if s.Source != nil {
			return s.Source
		}
	}
	return nil
}
