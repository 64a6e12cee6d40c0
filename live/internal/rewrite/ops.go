package rewrite

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
)

func int64Of(tv types.TypeAndValue) int64 {
	n, _ := constant.Int64Val(constant.ToInt(tv.Value))
	return n
}

func (w *writer) unary(e *ast.UnaryExpr) value {
	T := w.info.TypeOf(e)
	if e.Op == token.AND {
		if lit, ok := ast.Unparen(e.X).(*ast.CompositeLit); ok {
			return w.composite(lit, true)
		}
		return value{text: "(&" + w.located(e.X).text + ")", typ: T}
	}
	x := w.pure(e.X)
	v := w.plain("("+e.Op.String()+x.text+")", T)
	switch {
	case isTypeParam(x.typ):
		w.loseAll(e, x)
	case x.s == "":
	case e.Op == token.ADD:
		v.s = x.s
	case e.Op == token.SUB:
		v.s = fmt.Sprintf("bh_Unary(%d, %s)", bv.Neg, x.s)
	default:
		v.s = fmt.Sprintf("bh_Unary(%d, %s)", bv.Not, x.s)
	}
	return v
}

// arithmetic are operators whose operands and result have one type: unsigned, signed.
var arithmetic = map[token.Token][2]bv.Op{
	token.ADD: {bv.Add, bv.Add}, token.SUB: {bv.Sub, bv.Sub}, token.MUL: {bv.Mul, bv.Mul}, token.QUO: {bv.UDiv, bv.SDiv}, token.REM: {bv.URem, bv.SRem},
	token.AND: {bv.And, bv.And}, token.OR: {bv.Or, bv.Or}, token.XOR: {bv.Xor, bv.Xor},
}

// comparisons are operators that give a truth value; swap puts the second operand first.
var comparisons = map[token.Token]struct {
	ops  [2]bv.Op
	swap bool
}{
	token.LSS: {[2]bv.Op{bv.Ult, bv.Slt}, false}, token.LEQ: {[2]bv.Op{bv.Ule, bv.Sle}, false},
	token.GTR: {[2]bv.Op{bv.Ult, bv.Slt}, true}, token.GEQ: {[2]bv.Op{bv.Ule, bv.Sle}, true},
	token.EQL: {[2]bv.Op{bv.Eq, bv.Eq}, false}, token.NEQ: {[2]bv.Op{bv.Eq, bv.Eq}, false},
}

// binary applies an operator to values. T is the type of the result.
func (w *writer) binary(n ast.Node, op token.Token, x, y value, T types.Type) value {
	text := "(" + x.text + " " + op.String() + " " + y.text + ")"
	if op == token.SHL || op == token.SHR {
		return w.shift(n, op, x, y, T)
	}
	if _, ok := comparisons[op]; ok {
		return w.comparison(n, op, x, y, text)
	}
	if isString(T) && op == token.ADD {
		a, b := w.temp("string("+x.text+")"), w.temp("string("+y.text+")")
		t := w.temp(text)
		w.emit("bh_Concat(string(%s), %s, %s)", t, a, b)
		return value{text: t, typ: T}
	}
	if codes, ok := arithmetic[op]; ok && isTypeParam(T) {
		x, y = w.lasting(x, y), w.lasting(y, x)
		t := w.temp("(" + x.text + " " + op.String() + " " + y.text + ")")
		if various(T) {
			w.emit("bh_Reach(%s, bh_any(%s), bh_any(%s))", w.site(n, "lost"), x.text, y.text) // texts
		}
		w.emit("bh_Narrow(%s, bh_p(&%s), bh_any(&%s), bh_Operate(%d, %s, %s, bh_any(&%s)), false)", w.site(n, "lost"), t, t, codes[0], x.addr, y.addr, t)
		return value{text: t, typ: T, addr: "bh_p(&" + t + ")"}
	}
	s, ok := scalarOf(T)
	if isTypeParam(T) {
		w.loseAll(n, x)
		w.loseAll(n, y)
	}
	if !ok || x.s == "" && y.s == "" {
		return w.plain(text, T)
	}
	if (op == token.QUO || op == token.REM) && y.s != "" {
		y = w.hold(y)
		w.emit("bh_Divisor(%s, %s, %s)", w.site(n, "division"), y.s, y.num)
		text = "(" + x.text + " " + op.String() + " " + y.text + ")"
	}
	if x.s != "" && !isName(x.s) {
		x.s = w.shadow(x.s)
	}
	if y.s != "" && !isName(y.s) {
		y.s = w.shadow(y.s)
	}
	v := w.plain(w.temp(text), T)
	if op == token.AND_NOT {
		v.s = w.shadow(binaryCall(bv.And, x, value{s: "bh_Unary(" + itoa(int(bv.Not)) + ", " + orNil(y.s) + ")", num: "^(" + variableOf(y.num) + ")"}, s))
		return v
	}
	v.s = w.shadow(binaryCall(arithmetic[op][index(s.signed)], x, y, s))
	return v
}

// variableOf is a number as an expression that is not constant: the complement of a constant may not fit.
func variableOf(num string) string { return "uint64(" + num + ")" }

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

func binaryCall(op bv.Op, x, y value, s scalar) string {
	return fmt.Sprintf("bh_Binary(%d, %s, %s, %s, %s, %d)", op, orNil(x.s), orNil(y.s), x.num, y.num, s.width)
}

func (w *writer) shift(n ast.Node, op token.Token, x, y value, T types.Type) value {
	left := x.text
	if x.known && !isUntyped(T) {
		// The type of a constant that is shifted by a variable is that of its context (Go specification, Operators).
		left = "(" + w.typeText(n, T) + ")(" + x.text + ")"
	}
	text := "(" + left + " " + op.String() + " " + y.text + ")"
	s, ok := scalarOf(T)
	count, known := scalarOf(y.typ)
	if isTypeParam(T) || isTypeParam(y.typ) {
		w.loseAll(n, x)
		w.loseAll(n, y)
	}
	if known && count.signed && y.s != "" {
		y = w.hold(y)
		text = "(" + left + " " + op.String() + " " + y.text + ")"
		w.emit("bh_Count(%s, %s)", w.site(n, "branch"), y.s)
	}
	if !ok || !known && y.typ != nil || x.s == "" && y.s == "" {
		return w.plain(text, T)
	}
	if y.typ == nil {
		count = scalar{width: 64}
	}
	code := bv.Shl
	if op == token.SHR {
		code = [2]bv.Op{bv.LShr, bv.AShr}[index(s.signed)]
	}
	v := w.plain(w.temp(text), T)
	v.s = w.shadow(fmt.Sprintf("bh_Shift(%d, %s, %s, %s, %s, %d, %d)", code, orNil(x.s), orNil(y.s), x.num, y.num, s.width, count.width))
	return v
}

// comparison compares values. Its type is an untyped truth value.
func (w *writer) comparison(n ast.Node, op token.Token, x, y value, text string) value {
	v := w.plain(text, types.Typ[types.UntypedBool])
	T := x.typ
	if T == nil || x.known {
		T = y.typ
	}
	if T == nil || T == types.Typ[types.UntypedNil] || x.typ == types.Typ[types.UntypedNil] || y.typ == types.Typ[types.UntypedNil] {
		return v
	}
	s, isScalar := scalarOf(T)
	c := comparisons[op]
	switch {
	case isScalar:
		if x.s == "" && y.s == "" || x.num == "" || y.num == "" {
			return v
		}
		a, b := x, y
		if c.swap {
			a, b = y, x
		}
		v.s = binaryCall(c.ops[index(s.signed)], a, b, s)
	case isString(T):
		v.s = textComparison(op, "string("+x.text+")", "string("+y.text+")")
	case isTypeParam(T) && !isInterface(x.typ) && !isInterface(y.typ):
		return w.parametric(op, c.ops[0], c.swap, x, y, v)
	case isInterface(x.typ) || isInterface(y.typ):
		return w.compareHeld(n, op, x, y)
	case compound(T):
		return w.compareParts(op, x, y, v)
	default:
		return v
	}
	if op == token.NEQ {
		v.s = fmt.Sprintf("bh_Unary(%d, %s)", bv.Not, v.s)
	}
	t := w.plain(w.temp(v.text), types.Typ[types.Bool])
	t.typ = types.Typ[types.UntypedBool]
	t.s = w.shadow(v.s)
	return t
}

// parametric compares values of a type parameter: what it is, the runtime knows.
func (w *writer) parametric(op token.Token, code bv.Op, swap bool, x, y, v value) value {
	x, y = w.lasting(x, y), w.lasting(y, x)
	a, b := x, y
	if swap {
		a, b = y, x
	}
	v.text = "(" + x.text + " " + op.String() + " " + y.text + ")"
	s := fmt.Sprintf("bh_Operate(%d, %s, %s, bh_any(&%s))", code, a.addr, b.addr, x.text)
	if op == token.NEQ {
		s = fmt.Sprintf("bh_Unary(%d, %s)", bv.Not, s)
	}
	return w.truth(v.text, s)
}

// lasting is a value with an address. A constant gets the type of the other operand.
func (w *writer) lasting(v, other value) value {
	if v.addr != "" {
		return v
	}
	if v.known {
		t := w.temp(other.text)
		w.emit("%s = %s", t, v.text)
		w.emit("bh_Clear(bh_p(&%s), %s)", t, w.size(other.typ, t))
		return value{text: t, typ: other.typ, addr: "bh_p(&" + t + ")"}
	}
	return w.hold(v)
}

// truth is an untyped truth value that is evaluated now.
func (w *writer) truth(text, s string) value {
	t := w.plain(w.temp(text), types.Typ[types.Bool])
	t.typ = types.Typ[types.UntypedBool]
	t.s = w.shadow(s)
	return t
}

// compareParts compares structs, or arrays.
func (w *writer) compareParts(op token.Token, x, y, v value) value {
	x, y = w.addressed(x), w.addressed(y)
	v.text = "(" + x.text + " " + op.String() + " " + y.text + ")"
	return w.negated(op, v.text, fmt.Sprintf("bh_Equal(%s, %s, bh_any(&%s))", x.addr, y.addr, x.text))
}

// compareHeld compares what interfaces hold, or an interface with a value.
func (w *writer) compareHeld(n ast.Node, op token.Token, x, y value) value {
	held := func(v value) string {
		if !isInterface(v.typ) {
			v = w.assignable(n, v, types.NewInterfaceType(nil, nil))
		}
		return w.temp("bh_any(" + v.text + ")")
	}
	a, b := held(x), held(y)
	return w.negated(op, "("+a+" "+op.String()+" "+b+")", "bh_Interfaces("+a+", "+b+")")
}

func (w *writer) negated(op token.Token, text, s string) value {
	if op == token.NEQ {
		s = fmt.Sprintf("bh_Unary(%d, %s)", bv.Not, s)
	}
	return w.truth(text, s)
}

// addressed is a value with an address, also of a type whose own memory has no shadows.
func (w *writer) addressed(v value) value {
	if v.addr == "" {
		v = w.hold(v)
		v.addr = "bh_p(&" + v.text + ")"
	}
	return v
}

// textComparison is the shadow of a comparison of strings, without the negation of !=.
func textComparison(op token.Token, x, y string) string {
	switch op {
	case token.LSS:
		return "bh_TextLess(" + x + ", " + y + ")"
	case token.GTR:
		return "bh_TextLess(" + y + ", " + x + ")"
	case token.LEQ:
		return fmt.Sprintf("bh_Unary(%d, bh_TextLess(%s, %s))", bv.Not, y, x)
	case token.GEQ:
		return fmt.Sprintf("bh_Unary(%d, bh_TextLess(%s, %s))", bv.Not, x, y)
	}
	return "bh_TextEqual(" + x + ", " + y + ")"
}

// convert writes a conversion.
func (w *writer) convert(e *ast.CallExpr) value {
	T := w.info.TypeOf(e)
	x := w.pure(e.Args[0])
	v := w.plain("("+w.src(e.Fun)+")("+x.text+")", T)
	if x.typ == nil || x.known {
		return v
	}
	to, isScalar := scalarOf(T)
	from, wasScalar := scalarOf(x.typ)
	switch {
	case isInterface(T):
		if b := w.assignable(e, x, T); b.text != x.text {
			return value{text: "(" + w.src(e.Fun) + ")(" + b.text + ")", typ: T}
		}
	case isScalar && wasScalar:
		if x.s != "" && to.isBool() {
			v.s = x.s
		} else if x.s != "" {
			v.s = fmt.Sprintf("bh_Convert(%s, %t, %d)", x.s, from.signed, to.width)
		}
	case isTypeParam(T) && isTypeParam(x.typ):
		w.lose(e, x)
	case isTypeParam(T) && wasScalar:
		v.text = w.temp(v.text)
		v.addr = "bh_p(&" + v.text + ")"
		w.emit("bh_Narrow(%s, %s, bh_any(&%s), %s, %t)", w.site(e, "lost"), v.addr, v.text, orNil(x.s), from.signed)
	case isTypeParam(x.typ) && isScalar && x.addr != "":
		v.s = fmt.Sprintf("bh_Widen(%s, bh_any(&%s), %d)", x.addr, x.text, to.width)
	case isSliceOf(x.typ) && isArray(T):
		x.text = w.temp(x.text)
		v.text = w.temp("(" + w.src(e.Fun) + ")(" + x.text + ")")
		v.addr = "bh_p(&" + v.text + ")"
		w.emit("bh_Copy(%s, bh_data(%s), %s)", v.addr, x.text, w.size(T, v.text))
	case wasScalar:
		w.lose(e, x) // a floating-point number, a complex one, a rune as a string
	case isString(T) && isByteSlice(x.typ):
		b := w.temp(x.text)
		v.text = w.temp("(" + w.src(e.Fun) + ")(" + b + ")")
		w.emit("bh_Text((*string)(bh_p(&%s)), bh_data(%s))", v.text, b)
	case isString(x.typ) && !isTypeParam(T) && !isString(T) && isByteSlice(T):
		s := w.temp("string(" + x.text + ")")
		v.text = w.temp(v.text)
		w.emit("bh_TextCopy(bh_data(%s), %s, len(%s))", v.text, s, v.text)
	case aggregate(T) && x.addr != "" && types.Identical(T.Underlying(), x.typ.Underlying()):
		v.text = w.temp(v.text)
		v.addr = "bh_p(&" + v.text + ")"
		w.emit("bh_Copy(%s, %s, %s)", v.addr, x.addr, w.size(T, v.text))
	case isTypeParam(T) || isTypeParam(x.typ) || isString(T) != isString(x.typ): // runes and text, or what only the runtime knows
		x = w.hold(x)
		v.text = "(" + w.src(e.Fun) + ")(" + x.text + ")"
		w.loseAll(e, x)
	}
	return v
}
