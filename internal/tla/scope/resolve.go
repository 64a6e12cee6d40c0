package scope

import (
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
)

// resolver finds names that nothing stands for, operators with too many or too few arguments, and names that are bound twice, also in definitions
// that nothing uses.
type resolver struct {
	loader  *Loader
	scope   *Scope
	current string // the operator whose body is looked through
	partial bool   // the module uses one that this package has in part: names that are not known may be from that module
}

// known is a name that is bound around an expression.
type known struct {
	name  string
	arity int // -1 if it is an instance, or not known
	at    syntax.Pos
	up    *known
}

func (k *known) find(name string) *known {
	for ; k != nil; k = k.up {
		if k.name == name {
			return k
		}
	}
	return nil
}

// coreArity is how many arguments the operators of the language take.
var coreArity = map[string]int{"TRUE": 0, "FALSE": 0, "BOOLEAN": 0, "STRING": 0, "~": 1, "SUBSET": 1, "UNION": 1, "DOMAIN": 1, "'": 1, "UNCHANGED": 1,
	"ENABLED": 1, "[]": 1, "<>": 1, "=": 2, "#": 2, `\in`: 2, `\notin`: 2, `\subseteq`: 2, `\cup`: 2, `\cap`: 2, `\`: 2, "=>": 2, "<=>": 2, "~>": 2,
	"-+->": 2, `\cdot`: 2, `/\`: 2, `\/`: 2, `\X`: -1}

// whole are the modules that this package has all of.
var whole = map[string]bool{"Naturals": true, "Integers": true, "Reals": true, "Sequences": true, "FiniteSets": true, "Bags": true, "TLC": true,
	"TLAPS": true, "Json": true, "IOUtils": true, "CSV": true, "Randomization": true, "Bitwise": true, "Statistics": true}

// Resolve looks through the modules that were read from files.
func (l *Loader) Resolve() {
	done := map[string]bool{}
	for _, s := range l.Scopes {
		p := l.parsed[s.Module]
		if p == nil || s.Source == nil || s.Up != nil || done[s.Module] || library.Modules[s.Module] != nil || library.Proven(s.Module) {
			continue
		}
		if _, found := library.ModuleText(s.Source.File); found {
			continue
		}
		done[s.Module] = true
		r := &resolver{loader: l, scope: s, partial: l.partial(p.tree)}
		for _, u := range p.tree.Units {
			r.unit(u)
		}
	}
}

// partial reports whether a module uses, by whatever way, one that this package has in part.
func (l *Loader) partial(m *syntax.Module) bool {
	of := func(name string) bool {
		p := l.parsed[name]
		if library.Modules[name] != nil {
			return !whole[name]
		}
		if p == nil || library.Proven(name) {
			return false
		}
		if _, found := library.ModuleText(p.source.File); found {
			return true
		}
		return l.partial(p.tree)
	}
	for _, e := range m.Extends {
		if of(e.Text) {
			return true
		}
	}
	for _, u := range m.Units {
		if i, ok := u.(*syntax.Instance); ok && i.Text == "" && of(i.Module.Text) {
			return true
		}
	}
	return false
}

func (r *resolver) fail(pos syntax.Pos, format string, args ...any) {
	r.loader.Fail(Where{r.scope.Source, pos}, format, args...)
}

func (r *resolver) unit(u syntax.Unit) {
	switch u := u.(type) {
	case syntax.Recursive:
		for _, p := range u.List {
			switch d := r.scope.Find(p.Text); {
			case d == nil || d.Body == nil:
				r.fail(p.Pos, "%s is declared RECURSIVE and not defined", p.Text)
			case len(d.Params) != p.Arity:
				r.fail(d.At.Pos, "%s is declared RECURSIVE with %s, at line %d, and defined with %d", p.Text,
					plural.Count(p.Arity, "argument"), p.Pos.Line, len(d.Params))
			}
		}
	case *syntax.Operator:
		r.current = u.Text
		r.expr(u.Body, r.params(u.Params, nil), false)
		r.current = ""
	case *syntax.Function:
		r.expr(u.Body, r.bounds(u.Bounds, nil, false), false)
	case *syntax.Instance:
		r.substitutions(u, nil, false)
	case syntax.Assumption:
		r.expr(u.Body, nil, false)
	case syntax.Theorem:
		if u.Body != nil {
			r.expr(u.Body, nil, false)
		}
	}
}

func (r *resolver) substitutions(u *syntax.Instance, k *known, at bool) {
	k = r.params(u.Params, k)
	for _, w := range u.Substitutions {
		r.argument(w.Value, -1, k, at)
	}
}

// bind adds a name; one that stands for something already would hide that.
func (r *resolver) bind(k *known, n syntax.Name, arity int) *known {
	if old := k.find(n.Text); old != nil {
		r.fail(n.Pos, "%s is bound already, at line %d, column %d: it needs another name", n.Text, old.at.Line, old.at.Column)
	}
	if d := r.scope.Find(n.Text); d != nil && d.At.Source != nil && n.Text != r.current && r.before(d, n.Pos) {
		r.fail(n.Pos, "%s is defined already, at %s: it needs another name", n.Text, &d.At)
	}
	return &known{n.Text, arity, n.Pos, k}
}

// before reports whether a definition is before a place of the module.
func (r *resolver) before(d *Def, pos syntax.Pos) bool {
	if d.At.Source == nil || d.At.Source.File != r.scope.Source.File {
		return true
	}
	return d.At.Pos.Line < pos.Line || d.At.Pos.Line == pos.Line && d.At.Pos.Column < pos.Column
}

func (r *resolver) params(list []syntax.Param, k *known) *known {
	for _, p := range list {
		k = r.bind(k, p.Name, p.Arity)
	}
	return k
}

func (r *resolver) bounds(list []syntax.Bound, k *known, at bool) *known {
	for _, b := range list {
		if b.Set != nil {
			r.expr(b.Set, k, at)
		}
	}
	for _, b := range list {
		for _, n := range b.Names {
			k = r.bind(k, n, 0)
		}
	}
	return k
}

func (r *resolver) all(list []syntax.Expr, k *known, at bool) {
	for _, e := range list {
		r.expr(e, k, at)
	}
}

// expr looks through an expression. at reports whether @ has a meaning in it.
func (r *resolver) expr(e syntax.Expr, k *known, at bool) {
	switch e := e.(type) {
	case *syntax.Apply:
		r.apply(e, len(e.Args), k, at)
	case *syntax.Paren:
		r.expr(e.Inner, k, at)
	case *syntax.Junction:
		r.all(e.Items, k, at)
	case *syntax.Quantified:
		r.expr(e.Body, r.bounds(e.Bounds, k, at), at)
	case *syntax.Choose:
		r.expr(e.Body, r.bounds([]syntax.Bound{e.Bound}, k, at), at)
	case *syntax.SetEnum:
		r.all(e.Items, k, at)
	case *syntax.SetFilter:
		r.expr(e.Body, r.bounds([]syntax.Bound{e.Bound}, k, at), at)
	case *syntax.SetMap:
		r.expr(e.Body, r.bounds(e.Bounds, k, at), at)
	case *syntax.FunctionOf:
		r.expr(e.Body, r.bounds(e.Bounds, k, at), at)
	case *syntax.FunctionSet:
		r.all([]syntax.Expr{e.Domain, e.Range}, k, at)
	case *syntax.Index:
		r.expr(e.Function, k, at)
		r.all(e.Args, k, at)
	case *syntax.Field:
		r.expr(e.Record, k, at)
	case *syntax.Record:
		for _, f := range e.Fields {
			r.expr(f.Value, k, at)
		}
	case *syntax.RecordSet:
		for _, f := range e.Fields {
			r.expr(f.Value, k, at)
		}
	case *syntax.Except:
		r.expr(e.Function, k, at)
		for _, u := range e.Updates {
			for _, p := range u.Places {
				r.all(p, k, at)
			}
			r.expr(u.Value, k, true)
		}
	case *syntax.At:
		if !at {
			r.fail(e.Pos, "@ has no meaning outside of EXCEPT")
		}
	case *syntax.Tuple:
		r.all(e.Items, k, at)
	case *syntax.Product:
		r.all(e.Sets, k, at)
	case *syntax.Action:
		r.all([]syntax.Expr{e.Body, e.Subscript}, k, at)
	case *syntax.Fairness:
		r.all([]syntax.Expr{e.Subscript, e.Body}, k, at)
	case *syntax.If:
		r.all([]syntax.Expr{e.Cond, e.Then, e.Else}, k, at)
	case *syntax.Case:
		for _, a := range e.Arms {
			r.all([]syntax.Expr{a.Cond, a.Value}, k, at)
		}
		if e.Other != nil {
			r.expr(e.Other, k, at)
		}
	case *syntax.Let:
		r.expr(e.Body, r.let(e.Units, k, at), at)
	case *syntax.Lambda:
		r.fail(e.Pos, "a LAMBDA may stand only where an operator is an argument")
	}
}

func (r *resolver) let(units []syntax.Unit, k *known, at bool) *known {
	announced := map[string]bool{}
	define := func(n syntax.Name, arity int) {
		if !announced[n.Text] {
			k = r.bind(k, n, arity)
		}
	}
	for _, u := range units {
		switch u := u.(type) {
		case syntax.Recursive:
			for _, p := range u.List {
				k = r.bind(k, p.Name, p.Arity)
				announced[p.Text] = true
			}
		case *syntax.Operator:
			r.expr(u.Body, r.params(u.Params, k), at)
			define(u.Name, len(u.Params))
		case *syntax.Function:
			k = r.bind(k, u.Name, 0)
			r.expr(u.Body, r.bounds(u.Bounds, k, at), at)
		case *syntax.Instance:
			r.substitutions(u, k, at)
			define(u.Name, -1)
		}
	}
	return k
}

// argument looks through what an operator is given: an operator of some arity, or an expression. -1 stands for either.
func (r *resolver) argument(e syntax.Expr, arity int, k *known, at bool) {
	switch a := e.(type) {
	case *syntax.Lambda:
		if arity == 0 {
			break
		}
		if arity > 0 && len(a.Params) != arity {
			r.fail(a.Pos, "the LAMBDA takes %s, where an operator of %d is needed", plural.Count(len(a.Params), "argument"), arity)
		}
		r.expr(a.Body, r.params(a.Params, k), at)
		return
	case *syntax.Apply:
		if len(a.Args) == 0 && arity != 0 {
			r.apply(a, arity, k, at)
			return
		}
	}
	if arity > 0 {
		r.fail(e.Position(), "an operator of %s is needed here: its name, or a LAMBDA", plural.Count(arity, "argument"))
	}
	r.expr(e, k, at)
}

// apply looks up an operator that is used with a number of arguments; -1 stands for any.
func (r *resolver) apply(e *syntax.Apply, used int, k *known, at bool) {
	var params []syntax.Param // -1: not known
	arity := -1
	switch old := k.find(e.Name); {
	case len(e.Path) > 0:
		arity, params = r.selected(e, k, at)
	case old != nil:
		arity = old.arity
	default:
		arity, params = r.named(e)
	}
	if arity >= 0 && used >= 0 && arity != used {
		r.fail(e.Pos, "%s needs %s, and has %d", e.Name, plural.Count(arity, "argument"), used)
	}
	if e.Name == "'" && len(e.Path) == 0 && len(e.Args) == 1 && syntax.Primes(e.Args[0]) {
		r.fail(e.Pos, "a primed expression cannot be primed again")
	}
	for i, a := range e.Args {
		switch {
		case params != nil && i < len(params):
			r.argument(a, params[i].Arity, k, at)
		case coreArity[e.Name] > 0 && len(e.Path) == 0:
			r.argument(a, 0, k, at)
		default:
			r.argument(a, -1, k, at)
		}
	}
}

// named looks up a name of the module, or of the language.
func (r *resolver) named(e *syntax.Apply) (arity int, params []syntax.Param) {
	d := r.scope.Find(e.Name)
	if d == nil {
		if n, ok := coreArity[e.Name]; ok {
			return n, nil
		}
		if r.partial {
			return -1, nil
		}
		r.fail(e.Pos, "%s is not defined", e.Name)
	}
	if d.Kind == Operator && !d.Recursive && e.Name == r.current {
		r.fail(e.Pos, "%s uses itself: declare it by RECURSIVE", e.Name)
	}
	if d.Kind == Operator && !d.Recursive && !r.before(d, e.Pos) && d.At.Source == r.scope.Source {
		r.fail(e.Pos, "%s is used before it is defined, at line %d: define it above, or declare it by RECURSIVE", e.Name, d.At.Pos.Line)
	}
	return ArityOf(d)
}

// ArityOf is how many arguments a definition takes, and its parameters; -1: not known.
func ArityOf(d *Def) (arity int, params []syntax.Param) {
	switch d.Kind {
	case Constant, Variable, Operator, Substituted:
		if d.Recursive && d.Body == nil {
			return -1, nil
		}
		return len(d.Params), d.Params
	case Native:
		switch b := d.Native; {
		case b.None != nil:
			return 0, nil
		case b.One != nil, b.Test != nil:
			return 1, make([]syntax.Param, 1)
		case b.Two != nil, b.Compare != nil:
			return 2, make([]syntax.Param, 2)
		case b.Three != nil:
			return 3, make([]syntax.Param, 3)
		}
	}
	return -1, nil
}

// selected looks up I!J(x)!name as far as it goes by way of instances.
func (r *resolver) selected(e *syntax.Apply, k *known, at bool) (arity int, params []syntax.Param) {
	for _, s := range e.Path {
		for _, a := range s.Args {
			r.argument(a, -1, k, at)
		}
	}
	if k.find(e.Path[0].Text) != nil {
		return -1, nil
	}
	scope := r.scope
	for i, s := range e.Path {
		d := scope.Names[s.Text]
		if i == 0 {
			d = scope.Find(s.Text)
		}
		switch {
		case d == nil && r.partial:
			return -1, nil
		case d == nil:
			r.fail(s.Pos, "%s is not defined", s.Text)
		case d.Kind == Operator: // a part of its definition
			return -1, nil
		case d.Kind != Instance || d.Inner == nil:
			r.fail(s.Pos, "%s is not an instance of a module: %s! cannot select from it", s.Text, s.Text)
		case len(s.Args) != len(d.Params):
			r.fail(s.Pos, "%s needs %s, and has %d", s.Text, plural.Count(len(d.Params), "argument"), len(s.Args))
		}
		scope = d.Inner
	}
	d := scope.Names[e.Name]
	if d == nil {
		if _, found := library.ModuleText("library/" + scope.Module + ".tla"); found || library.Modules[scope.Module] != nil && !whole[scope.Module] {
			return -1, nil
		}
		r.fail(e.Pos, "%s is not defined in module %s", e.Name, scope.Module)
	}
	return ArityOf(d)
}
