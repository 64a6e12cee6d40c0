package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/config"
	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// named is the place of a name in the configuration.
func (l *assembly) named(name string) scope.Where { return l.placeAt(l.config.PositionOf(name)) }

// placeAt returns the place of a position in the configuration.
func (l *assembly) placeAt(pos syntax.Pos) scope.Where {
	return scope.Where{Source: &scope.Source{File: l.config.File, Text: l.config.Text}, Pos: pos}
}

// postcondition is where a configuration, or an option, names one.
func (l *assembly) postcondition(name string) scope.Where {
	config := l.config
	if config.PostconditionFrom != "" && name == config.Postconditions[len(config.Postconditions)-1] {
		return scope.Where{Source: &scope.Source{File: config.PostconditionFrom}, Pos: syntax.Pos{}}
	}
	return l.named(name)
}

// assembly makes a specification of a module and a configuration.
type assembly struct {
	*scope.Loader
	root   *scope.Scope
	config *config.Config
	c      *compiler
	s      *Spec
	place  place // of what the configuration names
}

// configure puts the constants of a configuration in their places.
func (l *assembly) configure() {
	root := l.root
	for _, a := range config.Assignments(l.config) {
		if a.Value != nil && a.Module == "" && len(a.Arguments) == 0 {
			l.giveValue(a, l.placeAt(a.Pos))
		}
	}
	l.giveApplications()
	for _, a := range config.Assignments(l.config) {
		if a.Value != nil && a.Module != "" && len(a.Arguments) == 0 {
			l.overrideWithin(a, &scope.Def{Kind: scope.Constant, Name: a.Name, Value: l.constantOf(a.Value, l.placeAt(a.Pos))}, l.placeAt(a.Pos))
		}
	}
	for _, a := range config.Assignments(l.config) {
		if a.Operator != "" && a.Module == "" {
			l.override(a, l.placeAt(a.Pos))
		}
	}
	for _, a := range config.Assignments(l.config) {
		if a.Operator != "" && a.Module != "" {
			at := l.placeAt(a.Pos)
			l.overrideWithin(a, l.substitute(a, at), at)
		}
	}
	var missing []*scope.Def
	for _, d := range root.Names {
		if d.Kind == scope.Constant && d.Given() == nil {
			missing = append(missing, d)
		}
	}
	slices.SortFunc(missing, func(a, b *scope.Def) int {
		return cmp.Or(cmp.Compare(a.At.Pos.Line, b.At.Pos.Line), cmp.Compare(a.Name, b.Name))
	})
	for _, d := range missing {
		l.Fail(d.At, "the constant %s has no value: give it one in the configuration, as CONSTANT %s = 3", d.Name, d.Name)
	}
}

// giveValue is Name = Value.
func (l *assembly) giveValue(a config.Assignment, at scope.Where) {
	root, config := l.root, l.config
	d := l.configured(a.Name)
	switch {
	case d == nil:
		// As TLC: nothing uses it, and a declared constant that is misspelt here is missed at the end.
		l.Notes = append(l.Notes, fmt.Sprintf("%s:%d: module %s neither declares nor defines %s: its value changes nothing",
			config.File, a.Pos.Line, root.Module, a.Name))
		return
	case d.Origin == nil:
		l.Fail(at, "%s is neither a constant nor a definition", a.Name)
	case len(d.Params) > 0:
		l.Fail(at, "%s takes %s: give it an operator, as %s <- Name, or its values, as %s(1) = 2", a.Name,
			plural.Count(len(d.Params), "argument"), a.Name, a.Name)
	}
	d.Origin.Instead = &scope.Def{Kind: scope.Constant, Name: a.Name, Value: l.constantOf(a.Value, at)}
}

// giveApplications are the values of operators for some arguments each, as F(0) = 1.
func (l *assembly) giveApplications() {
	root := l.root
	operators := map[string]*applications{}
	for _, a := range config.Assignments(l.config) {
		if len(a.Arguments) == 0 {
			continue
		}
		at := l.placeAt(a.Pos)
		var args []value.Value
		for _, e := range a.Arguments {
			args = append(args, l.constantOf(e, at))
		}
		known := operators[a.Module+" "+a.Name]
		if known == nil {
			known = &applications{name: a.Name}
			operators[a.Module+" "+a.Name] = known
			instead := &scope.Def{Kind: scope.Native, Name: a.Name, Native: &library.Builtin{Special: known.compile}}
			d := l.configured(a.Name)
			switch {
			case a.Module != "":
				l.overrideWithin(a, instead, at)
			case d == nil:
				l.Fail(at, "%s is neither declared nor defined in module %s", a.Name, root.Module)
			case d.Origin == nil:
				l.Fail(at, "%s is neither a constant nor a definition", a.Name)
			default:
				if n, _ := scope.ArityOf(d); n >= 0 && n != len(args) {
					l.Fail(at, "%s takes %s, and is given a value for %d", a.Name, plural.Count(n, "argument"), len(args))
				}
				d.Origin.Instead = instead
			}
		}
		known.arguments, known.values = append(known.arguments, args), append(known.values, l.constantOf(a.Value, at))
	}
}

// applications is an operator that a configuration gives by its values.
type applications struct {
	name      string
	arguments [][]value.Value
	values    []value.Value
}

func (f *applications) compile(c *compiler, d *scope.Def, u call) node {
	c.arity(d, len(f.arguments[0]), u)
	args := c.all(u.args, u.from)
	at := u.at
	return node{eval: func(x *ctx) value.Value {
		given := evalAll(x, args)
		x.m.at = at
		for i, known := range f.arguments {
			if slices.EqualFunc(known, given, value.Equal) {
				return f.values[i]
			}
		}
		var shown []string
		for _, v := range given {
			shown = append(shown, value.Short(v))
		}
		value.Fail("%s(%s) has no value: the configuration gives it none", f.name, strings.Join(shown, ", "))
		return nil
	}}.dependingOn(args...)
}

// override is Name <- Operator.
func (l *assembly) override(a config.Assignment, at scope.Where) {
	root := l.root
	d := l.configured(a.Name)
	switch {
	case d == nil:
		l.Fail(at, "%s is neither declared nor defined in module %s", a.Name, root.Module)
	case d.Origin == nil:
		l.Fail(at, "%s is neither a constant nor a definition", a.Name)
	}
	other := l.substitute(a, at)
	want, _ := scope.ArityOf(d)
	if have, _ := scope.ArityOf(other); want >= 0 && have >= 0 && want != have {
		l.Fail(at, "%s <- %s: %s takes %s, and %s %d", a.Name, a.Operator, a.Name, plural.Count(want, "argument"), a.Operator, have)
	}
	if d != other {
		d.Origin.Instead = other
	}
}

// substitute returns the definition that the configuration substitutes for something, or that definition's value if the
// configuration gives it one.
func (l *assembly) substitute(a config.Assignment, at scope.Where) *scope.Def {
	root := l.root
	other := root.Find(a.Operator)
	if other == nil {
		l.Fail(at, "%s <- %s: %s is not defined in module %s", a.Name, a.Operator, a.Operator, root.Module)
	}
	for _, b := range config.Assignments(l.config) {
		if b.Name == a.Operator && b.Operator != "" && b.Module == a.Module && (b.Operator != a.Operator || b.Module != "") {
			l.Fail(at, "%s <- %s: the configuration also says %s <- %s: write %s <- %s", a.Name, a.Operator,
				a.Operator, b.Operator, a.Name, b.Operator)
		}
	}
	if other.Origin != nil && other.Origin.Instead != nil {
		return other.Origin.Instead
	}
	return other
}

// configured returns the definition that a configuration names: Name, or I!Name of an instance.
func (l *assembly) configured(name string) *scope.Def {
	path := strings.Split(name, "!")
	within := l.root
	var instances []*scope.Def
	for _, part := range path[:len(path)-1] {
		i := within.Names[part]
		if i == nil || i.Kind != scope.Instance || len(i.Params) > 0 {
			return nil
		}
		instances = append(instances, i)
		within = i.Inner
	}
	d := within.Names[path[len(path)-1]]
	if d == nil {
		return nil
	}
	for _, i := range slices.Backward(instances) {
		d = l.Selected(i, d)
	}
	return d
}

// overrideWithin puts something in the place of the body of a definition of one module, wherever that is used.
func (l *assembly) overrideWithin(a config.Assignment, other *scope.Def, at scope.Where) {
	for _, s := range l.Scopes {
		if s.Module != a.Module || s.Up != nil {
			continue
		}
		d := s.Names[a.Name]
		if d == nil || d.Origin == nil || d.Kind == scope.Constant {
			break
		}
		want, _ := scope.ArityOf(d)
		if have, _ := scope.ArityOf(other); want >= 0 && have >= 0 && want != have {
			l.Fail(at, "%s <- [%s]%s: %s takes %s, and %s %d", a.Name, a.Module, a.Operator, a.Name, plural.Count(want, "argument"), a.Operator, have)
		}
		if d != other {
			d.Origin.Body.Instead = other
		}
		return
	}
	l.Fail(at, "%s is not defined in a module %s", a.Name, a.Module)
}

func (l *assembly) constantOf(e syntax.Expr, at scope.Where) value.Value {
	switch e := e.(type) {
	case *syntax.Number:
		var n int64
		if _, err := fmt.Sscan(e.Text, &n); err != nil {
			l.Fail(at, "%s is not a 64-bit integer", e.Text)
		}
		return value.Int(n)
	case *syntax.String:
		return value.Text(e.Text)
	case *syntax.Apply:
		switch e.Name {
		case "TRUE", "FALSE":
			return value.Bool(e.Name == "TRUE")
		}
		return value.ModelValue(e.Name)
	case *syntax.SetEnum:
		var items []value.Value
		for _, i := range e.Items {
			items = append(items, l.constantOf(i, at))
		}
		var set value.Value
		if err := failure.CatchValue(func() { set = value.NewSet(items) }); err != nil {
			l.Fail(at, "a set in the configuration cannot have these elements together: %v", err)
		}
		return set
	}
	return nil
}

// settle refuses an operator that depends on a state where it stands for a constant.
func (l *assembly) settle() {
	for _, a := range config.Assignments(l.config) {
		d := l.root.Names[a.Name]
		if a.Operator == "" || a.Module != "" || d == nil || d.Kind != scope.Constant || len(d.Params) > 0 {
			continue
		}
		if other := d.Given(); other != nil && other.Kind == scope.Operator && other.Body != nil &&
			l.c.levelOf(other.Body, placeAt(other.Place)) > constantLevel {
			l.Fail(l.placeAt(a.Pos), "%s <- %s: the operator depends on a state, and %s is a constant", a.Name, a.Operator, a.Name)
		}
	}
}
