package syntax

import "github.com/bloodhound-dst/bloodhound/internal/plural"

// expr reads a whole expression.
func (p *parser) expr() Expr { return p.binary(fixity{}, "") }

// binary reads operands with the infix operators between them that bind tighter than the operator left of them.
func (p *parser) binary(left fixity, leftOp string) (e Expr) {
	begin := p.peek().pos
	defer func() {
		if e != nil {
			p.spans[e] = Span{begin, p.tokens[p.at-1].last}
		}
	}()
	defer p.deeper(begin)()
	beside := p.height
	p.height = 0
	defer func() { p.height = max(p.height, beside) }()
	e = p.operand(left, leftOp)
	p.higher(begin)
	for row := 1; ; row++ {
		t := p.peek()
		f, ok := infix[t.text]
		if !ok || t.kind != symbol {
			return e
		}
		switch {
		case leftOp == "" || f.low > left.high:
		case f.high < left.low || !left.prefix && f.left && t.text == leftOp || leftOp == `\X` && t.text == `\X`:
			return e
		default:
			p.conflict(t, leftOp)
		}
		p.nextToken()
		if row > deepest {
			p.fail(t.pos, "there are more than %s in a row: define names for parts of this", plural.Count(deepest, "operator"))
		}
		p.spans[e] = Span{begin, p.tokens[p.at-2].last} // up to the operator
		e = join(t, e, p.binary(f, t.text))
		p.higher(t.pos)
	}
}

// join makes the expression of an infix operator.
func join(op token, a, b Expr) Expr {
	switch op.text {
	case `/\`, `\/`:
		and := op.text == `/\`
		if j, ok := a.(*Junction); ok && j.And == and && j.Infix {
			return &Junction{j.Pos, and, append(j.Items, b), true}
		}
		return &Junction{a.Position(), and, []Expr{a, b}, true}
	case `\X`:
		if x, ok := a.(*Product); ok {
			return &Product{x.Pos, append(x.Sets, b)}
		}
		return &Product{a.Position(), []Expr{a, b}}
	}
	return &Apply{Pos: op.pos, Name: op.text, Args: []Expr{a, b}}
}

// conflict fails at an operator that may not stand beside the one left of it.
func (p *parser) conflict(at token, left string) {
	p.fail(at.pos, "%s and %s bind equally: put one of them in parentheses", left, at.text)
}

// operand parses the expression between infix operators, with its prefix and postfix operators.
func (p *parser) operand(left fixity, leftOp string) Expr {
	t := p.peek()
	if f, ok := prefix[t.text]; ok && (t.kind == symbol || t.kind == keyword) {
		if t.text == "-" && left.low > f.high {
			p.fail(t.pos, "%s binds more tightly than the - behind it: put the negative number in parentheses", leftOp)
		}
		p.nextToken()
		op := t.text
		if op == "-" {
			op = "-."
		}
		f.prefix = true
		return &Apply{Pos: t.pos, Name: op, Args: []Expr{p.binary(f, t.text)}}
	}
	return p.postfixes(p.primary(), left, leftOp)
}

func (p *parser) postfixes(e Expr, left fixity, leftOp string) Expr {
	for {
		t := p.peek()
		if t.kind != symbol {
			return e
		}
		switch {
		case t.text == "[":
			p.nextToken()
			e = &Index{e.Position(), e, p.list("]")}
		case t.text == ".":
			p.nextToken()
			f := p.peek()
			if f.kind != ident && f.kind != keyword {
				p.unexpected("after a dot: the name of a field is")
			}
			p.nextToken()
			e = &Field{e.Position(), e, f.text}
		case postfix[t.text] != fixity{}:
			if left.prefix && left.high >= postfix[t.text].low {
				p.conflict(t, leftOp)
			}
			p.nextToken()
			e = &Apply{Pos: e.Position(), Name: t.text, Args: []Expr{e}}
		default:
			return e
		}
		p.higher(t.pos)
	}
}

// list reads expressions up to a closing mark.
func (p *parser) list(closing string) []Expr {
	var list []Expr
	if p.accept(closing) {
		return list
	}
	for {
		list = append(list, p.expr())
		if !p.accept(",") {
			p.expect(closing, "after the list")
			return list
		}
	}
}

func (p *parser) primary() Expr {
	t := p.peek()
	switch t.kind {
	case number:
		p.nextToken()
		return &Number{t.pos, t.text}
	case text:
		p.nextToken()
		return &String{t.pos, t.text}
	case ident:
		return p.applied()
	case keyword:
		return p.worded()
	case step:
		if p.facts {
			return p.applied()
		}
	case symbol:
		return p.marked()
	}
	p.unexpected("here: an expression is")
	return nil
}

// applied is a name with its arguments, and with what is before it: instances on the way to it, or the definition that it selects a part of.
func (p *parser) applied() Expr {
	t := p.nextToken()
	a := &Apply{Pos: t.pos, Name: t.text}
	for {
		if p.is("(") {
			p.nextToken()
			a.Args = p.arguments()
		}
		if params, ok := a.names(); ok && p.is("::") {
			p.nextToken()
			return &Paren{Pos: t.pos, Inner: p.expr(), Label: a.Name, Params: params}
		}
		if !p.is("!") {
			return a
		}
		p.nextToken()
		if p.accept(":") { // Op!: is what Op stands for
			continue
		}
		a.Path = append(a.Path, Step{Name{a.Pos, a.Name}, a.Args})
		a.Pos, a.Name, a.Args = t.pos, p.selector(), nil
	}
}

// names are the arguments as parameters of a label, if that is what they may be.
func (a *Apply) names() (params []Param, ok bool) {
	for _, arg := range a.Args {
		n, isName := arg.(*Apply)
		if !isName || len(n.Path)+len(n.Args) > 0 {
			return nil, false
		}
		params = append(params, Param{Name: Name{n.Pos, n.Name}})
	}
	return params, len(a.Path) == 0
}

// selector parses the part after !: a name, or the part of a definition to select.
func (p *parser) selector() string {
	if p.is("(") { // the arguments follow
		return "("
	}
	n := p.nextToken()
	switch _, prefixed := prefix[n.text]; {
	case n.kind != symbol, p.facts, n.is("<<", ">>", "@"), prefixed:
	case infix[n.text] == fixity{} && postfix[n.text] == fixity{}:
		p.fail(n.pos, "%s selects no part of a definition: a number, <<, >>, a label and (values for bound names) do", n)
	}
	return n.text
}

func (p *parser) arguments() []Expr {
	var list []Expr
	for {
		list = append(list, p.argument())
		if !p.accept(",") {
			p.expect(")", "after the arguments")
			return list
		}
	}
}

// argument is an expression, or the symbol of an operator, or a LAMBDA.
func (p *parser) argument() Expr {
	t := p.peek()
	if t.kind == symbol || t.kind == keyword {
		_, in := infix[t.text]
		_, pre := prefix[t.text]
		_, post := postfix[t.text]
		if next := p.raw(1); (in || pre || post) && next.is(",", ")", "]") {
			p.nextToken()
			return &Apply{Pos: t.pos, Name: t.text}
		} else if in && !pre && p.bullet(t) == 0 {
			// INSTANCE M WITH + <- \oplus ends where no comma follows.
			p.nextToken()
			return &Apply{Pos: t.pos, Name: t.text}
		}
	}
	return p.expr()
}

// bullet is the column of a token that may begin a junction list, else 0.
func (p *parser) bullet(t token) int {
	if t.is(`/\`, `\/`) {
		return t.pos.Column
	}
	return 0
}

func (p *parser) worded() Expr {
	t := p.nextToken()
	switch t.text {
	case "IF":
		e := &If{Pos: t.pos, Cond: p.expr()}
		p.expect("THEN", "after IF")
		e.Then = p.expr()
		p.expect("ELSE", "after THEN")
		e.Else = p.expr()
		return e
	case "CASE":
		e := &Case{Pos: t.pos}
		for {
			if p.accept("OTHER") {
				p.expect("->", "after OTHER")
				e.Other = p.expr()
				return e
			}
			cond := p.expr()
			p.expect("->", "in a CASE")
			e.Arms = append(e.Arms, Arm{cond, p.expr()})
			if !p.accept("[]") {
				return e
			}
		}
	case "LET":
		e := &Let{Pos: t.pos}
		for !p.is("IN") {
			if p.peek().kind == end {
				p.unexpected("in LET: IN is")
			}
			e.Units = append(e.Units, p.definition(false)...)
		}
		p.nextToken()
		e.Body = p.expr()
		return e
	case "CHOOSE":
		e := &Choose{Pos: t.pos, Bound: p.bound(false)}
		p.expect(":", "after CHOOSE")
		e.Body = p.expr()
		return e
	case "LAMBDA":
		e := &Lambda{Pos: t.pos, Params: p.params("a parameter")}
		p.expect(":", "after LAMBDA")
		e.Body = p.expr()
		return e
	case "WF_", "SF_":
		e := &Fairness{Pos: t.pos, Strong: t.text == "SF_", Subscript: p.subscript(false)}
		p.expect("(", "after the subscript")
		e.Body = p.expr()
		p.expect(")", "after the action")
		return e
	}
	p.at--
	p.unexpected("here: an expression is")
	return nil
}

func (p *parser) marked() Expr {
	t := p.peek()
	switch t.text {
	case `/\`, `\/`:
		return p.junction()
	case "(":
		p.nextToken()
		e := p.expr()
		p.expect(")", "after (")
		return parenthesised(e)
	case "{":
		return p.set()
	case "[":
		return p.bracket()
	case "<<":
		p.nextToken()
		items := p.tuple()
		if p.accept(">>_") {
			if len(items) != 1 {
				p.fail(t.pos, "<<A>>_v has one action")
			}
			return &Action{t.pos, true, items[0], p.subscript(true)}
		}
		p.expect(">>", "after <<")
		return &Tuple{t.pos, items}
	case `\A`, `\E`:
		p.nextToken()
		e := &Quantified{Pos: t.pos, Kind: t.text, Bounds: p.bounds(false)}
		p.expect(":", "after what is quantified")
		e.Body = p.expr()
		return e
	case `\AA`, `\EE`:
		p.nextToken()
		e := &Quantified{Pos: t.pos, Kind: t.text, Bounds: []Bound{{Names: p.names("a variable")}}}
		p.expect(":", "after what is quantified")
		e.Body = p.expr()
		return e
	case "@":
		p.nextToken()
		return &At{t.pos}
	}
	_, between := infix[t.text]
	_, behind := postfix[t.text]
	if (between || behind) && p.raw(1).is("(") { // +(1, 2), ^*(R)
		return p.applied()
	}
	p.unexpected("here: an expression is")
	return nil
}

// parenthesised keeps a junction or product in parentheses from growing by what follows them.
func parenthesised(e Expr) Expr {
	switch e.(type) {
	case *Junction, *Product:
		return &Paren{Pos: e.Position(), Inner: e}
	}
	return e
}

func (p *parser) tuple() []Expr {
	var items []Expr
	if p.is(">>", ">>_") {
		return items
	}
	for {
		items = append(items, p.expr())
		if !p.accept(",") {
			return items
		}
	}
}

// junction reads a list whose bullets stand in one column.
func (p *parser) junction() Expr {
	first := p.peek()
	j := &Junction{Pos: first.pos, And: first.text == `/\`}
	for {
		// The bullet itself is outside of the items, and within the lists around.
		if t := p.peek(); t.kind != symbol || t.text != first.text || t.pos.Column != first.pos.Column {
			return j
		}
		p.at++
		p.columns = append(p.columns, first.pos.Column)
		j.Items = append(j.Items, p.expr())
		p.columns = p.columns[:len(p.columns)-1]
	}
}

// subscript parses the part after WF_, SF_, ]_ and >>_: a name, or an expression in some kind of brackets.
func (p *parser) subscript(arguments bool) Expr {
	t := p.peek()
	if t.kind != ident || arguments {
		if t.kind != ident && !t.is("<<", "(", "[", "{") {
			p.unexpected("as a subscript")
		}
		e := p.primary()
		for p.is(".") || p.is("[") && p.peek().glue {
			e = p.postfixOnce(e)
		}
		return e
	}
	p.nextToken()
	a := &Apply{Pos: t.pos, Name: t.text}
	for p.accept("!") {
		a.Path = append(a.Path, Step{Name: Name{t.pos, a.Name}})
		a.Name = p.name("a name").Text
	}
	return a
}

func (p *parser) postfixOnce(e Expr) Expr {
	p.higher(p.peek().pos)
	if p.accept(".") {
		return &Field{e.Position(), e, p.name("a field").Text}
	}
	p.nextToken()
	return &Index{e.Position(), e, p.list("]")}
}

// set is {a, b}, {x \in S : P} or {e : x \in S}.
func (p *parser) set() Expr {
	t := p.nextToken()
	if p.accept("}") {
		return &SetEnum{Pos: t.pos}
	}
	first := p.expr()
	if p.accept(":") {
		if b, ok := asBound(first); ok {
			e := &SetFilter{t.pos, b, p.expr()}
			p.expect("}", "after {")
			return e
		}
		e := &SetMap{t.pos, p.bounds(true), first}
		p.expect("}", "after {")
		return e
	}
	e := &SetEnum{t.pos, []Expr{first}}
	if p.accept(",") {
		e.Items = append(e.Items, p.list("}")...)
	} else {
		p.expect("}", "after {")
	}
	return e
}

// asBound takes x \in S and <<x, y>> \in S for what they are before a colon.
func asBound(e Expr) (Bound, bool) {
	in, ok := e.(*Apply)
	if !ok || in.Name != `\in` || len(in.Args) != 2 {
		return Bound{}, false
	}
	switch x := in.Args[0].(type) {
	case *Apply:
		if len(x.Path) == 0 && len(x.Args) == 0 {
			return Bound{Names: []Name{{x.Pos, x.Name}}, Set: in.Args[1]}, true
		}
	case *Tuple:
		b := Bound{Pattern: true, Set: in.Args[1]}
		for _, item := range x.Items {
			a, ok := item.(*Apply)
			if !ok || len(a.Path) > 0 || len(a.Args) > 0 {
				return Bound{}, false
			}
			b.Names = append(b.Names, Name{a.Pos, a.Name})
		}
		return b, true
	}
	return Bound{}, false
}

// bounds are x, y \in S, <<a, b>> \in T. Without must, there may be names only.
func (p *parser) bounds(must bool) []Bound {
	list := []Bound{p.bound(must)}
	for list[0].Set != nil && p.accept(",") {
		list = append(list, p.bound(true))
	}
	return list
}

func (p *parser) bound(must bool) Bound {
	var b Bound
	if p.accept("<<") {
		b.Pattern = true
		b.Names = p.names("a name")
		p.expect(">>", "after <<")
	} else {
		b.Names = p.names("a name")
	}
	if must || b.Pattern || p.is(`\in`) {
		p.expect(`\in`, "after what is bound")
		b.Set = p.expr()
	}
	return b
}

// bracket parses an operand that starts with [.
func (p *parser) bracket() Expr {
	t := p.nextToken()
	if n := p.peek(); n.kind == ident || n.kind == keyword {
		switch {
		case p.raw(1).is("|->"):
			return &Record{t.pos, p.fields("|->")}
		case p.raw(1).is(":"):
			return &RecordSet{t.pos, p.fields(":")}
		}
	}
	first := p.expr()
	if b, ok := p.boundsFrom(first); ok {
		e := &FunctionOf{Pos: t.pos, Bounds: b}
		p.expect("|->", "after a function's arguments")
		e.Body = p.expr()
		p.expect("]", "after [")
		return e
	}
	switch {
	case p.accept("->"):
		e := &FunctionSet{t.pos, first, p.expr()}
		p.expect("]", "after [")
		return e
	case p.accept("EXCEPT"):
		e := &Except{Pos: t.pos, Function: first}
		for {
			e.Updates = append(e.Updates, p.update())
			if !p.accept(",") {
				p.expect("]", "after [")
				return e
			}
		}
	case p.accept("]_"):
		return &Action{t.pos, false, first, p.subscript(true)}
	}
	p.unexpected("after [")
	return nil
}

// boundsFrom takes an expression for the beginning of a function's arguments, if what follows it says so.
func (p *parser) boundsFrom(first Expr) ([]Bound, bool) {
	b, ok := asBound(first)
	switch {
	case ok && p.is("|->", ","):
		list := []Bound{b}
		for p.accept(",") {
			list = append(list, p.bound(true))
		}
		return list, true
	case p.is(","): // x, y \in S
		a, ok := first.(*Apply)
		if !ok || len(a.Path)+len(a.Args) > 0 {
			return nil, false
		}
		p.nextToken()
		list := p.bounds(true)
		if list[0].Pattern {
			return nil, false
		}
		list[0].Names = append([]Name{{a.Pos, a.Name}}, list[0].Names...)
		return list, true
	}
	return nil, false
}

func (p *parser) fields(mark string) []FieldValue {
	var list []FieldValue
	for {
		t := p.nextToken()
		if t.kind != ident && t.kind != keyword {
			p.fail(t.pos, "the name of a field is expected, not %s", t)
		}
		p.expect(mark, "after the name of a field")
		list = append(list, FieldValue{Name{t.pos, t.text}, p.expr()})
		if !p.accept(",") {
			p.expect("]", "after the fields")
			return list
		}
	}
}

func (p *parser) update() Update {
	t := p.expect("!", "in EXCEPT")
	u := Update{Pos: t.pos}
	for {
		switch {
		case p.accept("["):
			u.Places = append(u.Places, p.list("]"))
		case p.accept("."):
			f := p.nextToken()
			u.Places = append(u.Places, []Expr{&String{f.pos, f.text}})
		default:
			if len(u.Places) == 0 {
				p.unexpected("after !: [ or . is")
			}
			p.expect("=", "in EXCEPT")
			u.Value = p.expr()
			return u
		}
	}
}
