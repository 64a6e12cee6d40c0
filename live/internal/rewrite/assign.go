package rewrite

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// target is the left side of an assignment.
type target struct {
	text   string     // in Go
	typ    types.Type // nil if it is blank
	beside string     // its shadow variable, if it has one
	lies   bool       // it is memory that text names, and whose address can be taken
}

// target evaluates what the left side of an assignment consists of.
func (w *writer) target(e ast.Expr) target {
	e = ast.Unparen(e)
	id, isIdent := e.(*ast.Ident)
	if isIdent {
		if id.Name == "_" {
			return target{text: "_"}
		}
		obj := w.info.ObjectOf(id)
		t := target{text: id.Name, typ: obj.Type()}
		if n, ok := w.names[obj]; ok {
			t.beside = n
		} else {
			t.lies = !w.foreign(obj)
		}
		return t
	}
	T := w.info.TypeOf(e)
	if x, ok := e.(*ast.IndexExpr); ok {
		if _, ok := under(w.info.TypeOf(x.X)).(*types.Map); ok {
			return target{text: w.inMap(x, true).text, typ: T}
		}
	}
	text := w.located(e).text
	if !holds(T) {
		return target{text: text, typ: T}
	}
	return target{text: "(*" + w.temp("&"+text) + ")", typ: T, lies: true}
}

// follow makes the shadow of a target follow its assignment.
func (w *writer) follow(n ast.Node, t target, v value) {
	switch {
	case t.typ == nil:
	case t.beside != "":
		w.emit("%s = %s", t.beside, orNil(v.s))
	case t.lies:
		w.store(t.text, t.typ, v)
	default:
		w.lose(n, v)
	}
}

// lose counts a value that goes where no shadow follows.
func (w *writer) lose(n ast.Node, v value) {
	switch {
	case v.s != "":
		w.emit("bh_Lose(%s, %s)", w.site(n, "lost"), v.s)
	case v.addr != "" && aggregate(v.typ):
		w.emit("bh_LoseMemory(%s, %s, %s)", w.site(n, "lost"), v.addr, w.size(v.typ, v.text))
	}
}

func (w *writer) assign(s *ast.AssignStmt) {
	switch s.Tok {
	case token.ASSIGN:
		w.assignTo(s)
	case token.DEFINE:
		w.define(s)
	default:
		w.update(s, s.Lhs[0], operators[s.Tok], s.Rhs[0])
	}
}

// operators maps assignments with an operator to that operator.
var operators = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB, token.MUL_ASSIGN: token.MUL, token.QUO_ASSIGN: token.QUO, token.REM_ASSIGN: token.REM,
	token.AND_ASSIGN: token.AND, token.OR_ASSIGN: token.OR, token.XOR_ASSIGN: token.XOR, token.SHL_ASSIGN: token.SHL, token.SHR_ASSIGN: token.SHR,
	token.AND_NOT_ASSIGN: token.AND_NOT,
}

// assignTo writes an assignment. The operands of index expressions and pointer indirections on the left and the expressions on
// the right are evaluated first, then the assignments happen (Go specification, Assignment statements).
func (w *writer) assignTo(s *ast.AssignStmt) {
	for _, l := range s.Lhs {
		w.hoist(l)
	}
	want := make([]types.Type, len(s.Lhs))
	for i, l := range s.Lhs {
		if !isBlank(l) {
			want[i] = w.info.TypeOf(l)
		}
	}
	list := w.rights(s.Rhs, len(s.Lhs), want)
	targets := make([]target, len(s.Lhs))
	for i, l := range s.Lhs {
		targets[i] = w.target(l)
	}
	if len(list) == 1 {
		v := list[0]
		if v.s != "" {
			v.s = w.shadow(v.s)
		}
		if v.addr != "" && aggregate(v.typ) {
			v.addr = w.temp(v.addr)
		}
		w.emit("%s = %s", targets[0].text, v.text)
		w.follow(s, targets[0], v)
		return
	}
	var left []string
	for i, v := range list {
		list[i] = w.hold(v)
		left = append(left, targets[i].text)
	}
	w.emit("%s%s", strings.Join(left, ", "), texts(" = ", list))
	for i, v := range list {
		w.follow(s, targets[i], v)
	}
}

// define writes a short variable declaration, which may assign to variables of the same scope.
func (w *writer) define(s *ast.AssignStmt) {
	want := make([]types.Type, len(s.Lhs))
	targets := make([]target, len(s.Lhs))
	var left []string
	for i, l := range s.Lhs {
		id := l.(*ast.Ident)
		left = append(left, id.Name)
		if obj := w.info.Defs[id]; obj != nil {
			want[i] = obj.Type()
		} else {
			targets[i] = w.target(id)
			want[i] = targets[i].typ
		}
	}
	list := w.rights(s.Rhs, len(s.Lhs), want)
	for i, v := range list {
		list[i] = w.settle(v, len(list) > 1)
	}
	w.emit("%s%s", strings.Join(left, ", "), texts(" := ", list))
	for i, l := range s.Lhs {
		id := l.(*ast.Ident)
		if obj := w.info.Defs[id]; obj != nil {
			w.declare(obj, id.Name, list[i])
		} else if id.Name != "_" {
			w.follow(s, targets[i], list[i])
		}
	}
}

// settle makes a shadow, and where a value lies, independent of what an assignment changes, such as the meaning of a name.
func (w *writer) settle(v value, many bool) value {
	if many {
		return w.hold(v)
	}
	if v.s != "" {
		v.s = w.shadow(v.s)
	}
	if v.addr != "" && aggregate(v.typ) {
		v.addr = w.temp(v.addr)
	}
	return v
}

// rights evaluates the right side of an assignment to n variables of some types: n expressions, or one that has n values.
func (w *writer) rights(list []ast.Expr, n int, want []types.Type) (values []value) {
	if len(list) == n {
		for _, r := range list {
			w.hoist(r)
		}
		for i, r := range list {
			values = append(values, w.assignable(r, w.pure(r), want[i]))
		}
		return values
	}
	values = w.many(list[0], n)
	for i := range values {
		values[i] = w.assignable(list[0], values[i], want[i])
	}
	return values
}

// many evaluates an expression that has n values.
func (w *writer) many(e ast.Expr, n int) (values []value) {
	e = ast.Unparen(e)
	if c, ok := e.(*ast.CallExpr); ok {
		return w.call(c, false)
	}
	v, ok := w.fresh(), w.fresh()
	tuple, isTuple := w.info.TypeOf(e).(*types.Tuple)
	if !isTuple || n != 2 {
		w.fail(e, "an expression with %s", plural.Count(n, "value"))
	}
	T := tuple.At(0).Type()
	first := value{}
	switch e := e.(type) {
	case *ast.IndexExpr: // of a map
		w.hoist(e.X)
		w.hoist(e.Index)
		w.emit("%s, %s := %s", v, ok, w.pure(e).text)
		first = w.plain(v, T)
	case *ast.TypeAssertExpr:
		w.hoist(e.X)
		x := w.temp(w.pure(e.X).text)
		w.emit("%s, %s := %s.(%s)", v, ok, x, w.src(e.Type))
		first = w.unboxed(v, T, x, ok)
	case *ast.UnaryExpr: // a receive operation
		w.hoist(e.X)
		w.emit("%s, %s := <-%s", v, ok, w.pure(e.X).text)
		first = w.plain(v, T)
	default:
		w.fail(e, "an expression of type %T with two values", e)
	}
	w.emit("_, _ = %s, %s", v, ok)
	return []value{first, w.plain(ok, types.Typ[types.Bool])}
}

// unboxed is a value that was taken out of an interface x, if ok, an expression, holds ("" if it does).
func (w *writer) unboxed(v string, T types.Type, x, ok string) value {
	u := w.plain(v, T)
	if !holds(T) || isInterface(T) {
		return u
	}
	s, isScalar := scalarOf(T)
	if isScalar {
		n := w.fresh()
		w.emit("var %s bh_e; _ = %s", n, n)
		w.when(ok, n+" = "+load("bh_Boxed("+x+")", s))
		u.s = n
		return u
	}
	w.emit("bh_Clear(bh_p(&%s), %s)", v, w.size(T, v))
	w.when(ok, "bh_Copy(bh_p(&"+v+"), bh_Boxed("+x+"), "+w.size(T, v)+")")
	u.addr = "bh_p(&" + v + ")"
	return u
}

func (w *writer) when(ok, statement string) {
	if ok == "" {
		w.emit("%s", statement)
		return
	}
	w.emit("if %s { %s }", ok, statement)
}

// assignable is a value as an assignment to a variable of type T converts it: an interface gets memory that has its shadow.
func (w *writer) assignable(n ast.Node, v value, T types.Type) value {
	if v.s != "" && v.typ == types.Typ[types.UntypedBool] && isInterface(T) {
		v.text, v.typ = "bool("+v.text+")", types.Typ[types.Bool]
	}
	if T == nil || v.typ == nil || !isInterface(T) || isInterface(v.typ) || isUntyped(v.typ) {
		return v
	}
	return w.boxed(n, v, T)
}

// boxed is a value in an interface of type T.
func (w *writer) boxed(n ast.Node, v value, T types.Type) value {
	if v.s == "" && (v.addr == "" || !aggregate(v.typ)) {
		return v
	}
	s, isScalar := scalarOf(v.typ)
	u, ok := T.Underlying().(*types.Interface)
	box := w.temp("bh_any(" + v.text + ")")
	if isScalar {
		w.emit("bh_BoxNumber(&%s, %d, %s)", box, s.size(), v.s)
	} else {
		w.emit("bh_Box(&%s, %s, %s)", box, v.addr, w.size(v.typ, v.text))
	}
	if ok && !u.Empty() {
		box += ".(" + w.typeText(n, T) + ")"
	}
	return value{text: box, typ: T}
}

func (w *writer) incDec(s *ast.IncDecStmt) {
	op := token.ADD
	if s.Tok == token.DEC {
		op = token.SUB
	}
	w.update(s, s.X, op, nil)
}

// update writes x op= y, and x++ and x-- as y of 1: the operands of x are evaluated once.
func (w *writer) update(s ast.Stmt, x ast.Expr, op token.Token, y ast.Expr) {
	w.hoist(x)
	right := value{text: "1", num: "1"}
	if y != nil {
		w.hoist(y)
	}
	t := w.target(x)
	if y != nil {
		right = w.pure(y)
	} else {
		right.typ = t.typ
	}
	if !t.lies && t.beside == "" && t.typ != nil && holds(t.typ) { // an element of a map, or a variable of a function that has no second body
		w.lose(s, right)
		w.emit("%s %s= %s", t.text, op, right.text)
		return
	}
	left := w.plain(t.text, t.typ)
	if t.beside != "" {
		left.s = t.beside
	} else if t.lies {
		left = w.lying(t.text, t.typ)
	}
	result := w.binary(s, op, left, right, t.typ)
	if result.s != "" {
		result.s = w.shadow(result.s)
	}
	w.emit("%s = %s", t.text, result.text)
	w.follow(s, t, result)
}
