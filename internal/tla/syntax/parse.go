package syntax

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

import "strings"

// Parse reads the first module of a text. file is its name in errors, which are of type *Error.
func Parse(file, source string) (*Module, error) {
	tokens, l, err := lex(file, source)
	if err != nil {
		return nil, err
	}
	p := &parser{lexer: l, tokens: tokens, spans: map[Expr]Span{}}
	var m *Module
	err = p.catch(func() { m = p.module(); m.Spans = p.spans })
	return m, err
}

// ParseExpr reads one expression, such as an option gives it.
func ParseExpr(file, source string) (Expr, error) {
	l := &lexer{file: file, lines: strings.Split(source, "\n")}
	for {
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		l.list = append(l.list, t)
		if t.kind == end {
			break
		}
	}
	p := &parser{lexer: l, tokens: l.list, spans: map[Expr]Span{}}
	var e Expr
	err := p.catch(func() {
		e = p.expr()
		if p.peek().kind != end {
			p.unexpected("after the expression")
		}
	})
	return e, err
}

// parser reads tokens from left to right. It goes back only where a bracket may begin several things.
type parser struct {
	lexer   *lexer
	tokens  []token
	at      int
	columns []int // of the bullets of the junction lists around: what is at or left of the innermost ends its item
	facts   bool  // steps of proofs are expressions here
	depth   int
	height  int // of the highest expression that was read within the one being read
	spans   map[Expr]Span
}

type failure struct{ err error }

func (p *parser) catch(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			fail, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = fail.err
		}
	}()
	f()
	return nil
}

func (p *parser) fail(at Pos, format string, args ...any) {
	panic(failure{p.lexer.fail(at, format, args...)})
}

// deepest is how deep expressions and modules may be in each other, and how many operators may stand in a row.
const deepest = 10_000

// highest is how high the tree of an expression may be. Operators in a row make it as high as brackets in each other do, and whoever walks it
// needs a part of the stack for each.
const highest = 3 * deepest

// higher counts one more level above all that was read of an expression.
func (p *parser) higher(at Pos) {
	if p.height++; p.height > highest {
		p.fail(at, "there are more than %s and brackets in and behind each other: define names for parts of the expression", plural.Count(highest, "operator"))
	}
}

// deeper counts how deep the parser is; what it gives ends that.
func (p *parser) deeper(at Pos) (end func()) {
	if p.depth++; p.depth > deepest {
		p.fail(at, "brackets and operators are more than %d deep in each other: define names for parts of the expression", deepest)
	}
	return func() { p.depth-- }
}

func (p *parser) unexpected(where string) {
	t := p.tokens[p.at]
	p.fail(t.pos, "%s is not expected %s", t, where)
}

// peek is the next token, or the end where it is outside of the junction list's item.
func (p *parser) peek() token {
	t := p.tokens[p.at]
	if n := len(p.columns); n > 0 && t.pos.Column <= p.columns[n-1] {
		return token{kind: end, pos: t.pos}
	}
	return t
}

// raw is the next token, wherever it is.
func (p *parser) raw(ahead int) token { return p.tokens[min(p.at+ahead, len(p.tokens)-1)] }

func (p *parser) nextToken() token {
	t := p.peek()
	if t.kind == end {
		p.unexpected("here")
	}
	p.at++
	return t
}

// is reports whether the next token is a symbol or keyword.
func (p *parser) is(texts ...string) bool {
	t := p.peek()
	return t.is(texts...)
}

func (t token) is(texts ...string) bool {
	if t.kind != symbol && t.kind != keyword {
		return false
	}
	return slices.Contains(texts, t.text)
}

func (p *parser) accept(s string) bool {
	if p.is(s) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(s, where string) token {
	if !p.is(s) {
		t := p.tokens[p.at]
		p.fail(t.pos, "%s is expected %s, not %s", s, where, t)
	}
	return p.nextToken()
}

func (p *parser) name(what string) Name {
	if t := p.peek(); t.kind != ident {
		p.fail(t.pos, "%s is expected, not %s", what, p.tokens[p.at])
	}
	t := p.nextToken()
	return Name{t.pos, t.text}
}

// separated reads one or more, with commas between them.
func separated[T any](p *parser, what string, read func(what string) T) []T {
	list := []T{read(what)}
	for p.accept(",") {
		list = append(list, read(what))
	}
	return list
}

func (p *parser) names(what string) []Name { return separated(p, what, p.name) }

func (p *parser) module() *Module {
	m := &Module{Pos: p.nextToken().pos} // ----
	defer p.deeper(m.Pos)()
	p.expect("MODULE", "after ----")
	m.Name = p.name("the name of the module").Text
	if p.peek().kind != rule {
		p.unexpected("after the name of the module: ---- is")
	}
	p.nextToken()
	if p.accept("EXTENDS") {
		m.Extends = p.names("the name of a module")
	}
	for p.peek().kind != closing {
		m.Units = append(m.Units, p.units()...)
	}
	p.nextToken()
	return m
}

// units reads what one keyword or definition gives; a rule and a USE give nothing.
func (p *parser) units() []Unit {
	t := p.peek()
	switch {
	case t.kind == rule && p.raw(1).is("MODULE"):
		return []Unit{p.module()}
	case t.kind == rule:
		p.nextToken()
		return nil
	case t.is("CONSTANT", "CONSTANTS"):
		p.nextToken()
		return []Unit{Constants{p.params("a constant")}}
	case t.is("VARIABLE", "VARIABLES"):
		p.nextToken()
		return []Unit{Variables{p.names("a variable")}}
	case t.is("ASSUME", "ASSUMPTION", "AXIOM"):
		p.nextToken()
		return []Unit{Assumption{p.named(t.pos), p.expr(), t.is("AXIOM")}}
	case t.is("THEOREM", "LEMMA", "PROPOSITION", "COROLLARY"):
		p.nextToken()
		th := Theorem{Name: p.named(t.pos)}
		if p.is("ASSUME") {
			p.sequent()
		} else {
			th.Body = p.expr()
		}
		p.proof()
		return []Unit{th}
	case t.is("USE", "HIDE"):
		p.nextToken()
		p.usable()
		return nil
	}
	return p.definition(true)
}

// named is the name before ==, if there is one.
func (p *parser) named(at Pos) Name {
	if p.peek().kind == ident && p.raw(1).is("==") {
		n := p.name("")
		p.nextToken()
		return n
	}
	return Name{Pos: at}
}

// definition is one of those that LET may have too.
func (p *parser) definition(module bool) []Unit {
	local := module && p.accept("LOCAL")
	switch t := p.peek(); {
	case t.is("RECURSIVE"):
		p.nextToken()
		return []Unit{Recursive{p.params("an operator")}}
	case t.is("INSTANCE") && module:
		return []Unit{p.instance(Name{Pos: t.pos}, nil, local)}
	}
	name, params, bounds := p.head()
	p.expect("==", "after what is defined")
	switch {
	case bounds != nil:
		return []Unit{&Function{name, bounds, p.expr(), local}}
	case p.is("INSTANCE"):
		return []Unit{p.instance(name, params, local)}
	}
	return []Unit{&Operator{name, params, p.expr(), local}}
}

// head parses the part left of ==.
func (p *parser) head() (Name, []Param, []Bound) {
	t := p.peek()
	if _, ok := prefix[t.text]; ok && (t.kind == symbol || t.kind == keyword) {
		p.nextToken()
		return Name{t.pos, t.text}, []Param{{Name: p.name("a parameter")}}, nil
	}
	if t.kind != ident {
		p.unexpected("here: a declaration or a definition is")
	}
	name := p.name("")
	next := p.peek()
	switch _, binary := infix[next.text]; {
	case p.accept("("):
		params := p.params("a parameter")
		p.expect(")", "after the parameters")
		return name, params, nil
	case p.accept("["):
		bounds := p.bounds(true)
		p.expect("]", "after the function's arguments")
		return name, nil, bounds
	case binary && next.kind == symbol:
		p.nextToken()
		return Name{next.pos, next.text}, []Param{{Name: name}, {Name: p.name("a parameter")}}, nil
	case next.kind == symbol && postfix[next.text] != fixity{}:
		p.nextToken()
		return Name{next.pos, next.text}, []Param{{Name: name}}, nil
	}
	return name, nil, nil
}

// params are names, some of operators: F(_, _), _+_, -._ and _^+.
func (p *parser) params(what string) []Param { return separated(p, what, p.param) }

func (p *parser) param(what string) Param {
	if p.accept("_") {
		t := p.nextToken()
		if _, ok := infix[t.text]; ok && p.accept("_") {
			return Param{Name{t.pos, t.text}, 2}
		}
		return Param{Name{t.pos, t.text}, 1}
	}
	if t := p.peek(); t.kind == symbol || t.kind == keyword {
		if _, ok := prefix[t.text]; ok {
			p.nextToken()
			p.expect("_", "after a prefix operator")
			return Param{Name{t.pos, t.text}, 1}
		}
	}
	param := Param{Name: p.name(what)}
	if p.is("(") && p.raw(1).is("_") {
		p.nextToken()
		for {
			p.expect("_", "in an operator's parameters")
			param.Arity++
			if !p.accept(",") {
				break
			}
		}
		p.expect(")", "after an operator's parameters")
	}
	return param
}

func (p *parser) instance(name Name, params []Param, local bool) *Instance {
	p.nextToken() // INSTANCE
	in := &Instance{Name: name, Params: params, Local: local, Module: p.name("the name of a module")}
	if !p.accept("WITH") {
		return in
	}
	for {
		var s Substitution
		if t := p.peek(); t.kind == ident {
			s.Name = p.name("")
		} else {
			s.Name = Name{t.pos, p.nextToken().text}
		}
		p.expect("<-", "in a substitution")
		s.Value = p.argument()
		in.Substitutions = append(in.Substitutions, s)
		if !p.accept(",") {
			return in
		}
	}
}
