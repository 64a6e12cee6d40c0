package rewrite

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// An expression is lowered in two steps. hoist evaluates what has effects, into variables, in the order of the Go specification
// (Order of evaluation): calls, receive operations, and the logical operators, whose second operand may not be evaluated. pure
// gives the rest, which can be evaluated at once, beside its shadow.

func (w *writer) hoist(e ast.Expr) {
	if e == nil {
		return
	}
	if _, done := w.hoisted[e]; done {
		return
	}
	if tv := w.info.Types[e]; tv.Value != nil || tv.IsType() {
		return
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		w.hoist(e.X)
	case *ast.SelectorExpr:
		w.hoist(e.X)
	case *ast.StarExpr:
		w.hoist(e.X)
	case *ast.TypeAssertExpr:
		w.hoist(e.X)
	case *ast.IndexExpr:
		w.hoist(e.X)
		w.hoist(e.Index)
	case *ast.SliceExpr:
		for _, x := range []ast.Expr{e.X, e.Low, e.High, e.Max} {
			w.hoist(x)
		}
	case *ast.UnaryExpr:
		w.hoist(e.X)
		if e.Op == token.ARROW {
			T := w.info.TypeOf(e)
			w.hoisted[e] = w.plain(w.temp("<-"+w.pure(e.X).text), T)
		}
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			w.hoisted[e] = w.logic(e)
			return
		}
		w.hoist(e.X)
		w.hoist(e.Y)
	case *ast.CompositeLit:
		for _, x := range e.Elts {
			if kv, ok := x.(*ast.KeyValueExpr); ok {
				if _, isStruct := under(deref(w.info.TypeOf(e))).(*types.Struct); !isStruct {
					w.hoist(kv.Key)
				}
				x = kv.Value
			}
			w.hoist(x)
		}
	case *ast.CallExpr:
		if w.quiet(e) {
			for _, a := range e.Args {
				w.hoist(a)
			}
			return
		}
		list := w.call(e, false)
		if len(list) == 1 {
			w.hoisted[e] = list[0]
		}
	}
}

// logic evaluates && and ||. Whether the second operand is evaluated is a branch.
func (w *writer) logic(e *ast.BinaryExpr) value {
	w.hoist(e.X)
	x := w.pure(e.X)
	T := w.info.TypeOf(e)
	t := w.fresh()
	if isUntyped(T) || types.Identical(T, types.Typ[types.Bool]) {
		w.emit("%s := bool(%s)", t, x.text)
		T = types.Typ[types.Bool]
	} else {
		w.emit("%s := %s", t, w.typed(e, x, T))
	}
	s := w.fresh()
	w.emit("var %s bh_e; _ = %s", s, s)
	not := ""
	if e.Op == token.LOR {
		not = "!"
	}
	w.emit("if %sbh_Cond(%s, bool(%s), %s) {", not, w.site(e.X, "branch"), t, orNil(x.s))
	w.hoist(e.Y)
	y := w.pure(e.Y)
	w.emit("%s = %s", t, w.typed(e, y, T))
	if y.s != "" {
		w.emit("%s = %s", s, y.s)
	}
	w.emit("}")
	v := w.plain(t, T)
	v.s = s
	return v
}

// typed is a truth value as one of type T: comparisons give untyped ones.
func (w *writer) typed(n ast.Node, v value, T types.Type) string {
	if v.typ != nil && types.Identical(v.typ, T) {
		return v.text
	}
	return "(" + w.typeText(n, T) + ")(" + v.text + ")"
}

func deref(T types.Type) types.Type {
	if p, ok := under(T).(*types.Pointer); ok {
		return p.Elem()
	}
	return T
}

func (w *writer) pure(e ast.Expr) value {
	if v, ok := w.hoisted[e]; ok {
		return v
	}
	tv := w.info.Types[e]
	switch {
	case tv.Value != nil:
		return w.constant(e, tv)
	case tv.IsType() || tv.IsNil() || tv.IsBuiltin():
		return value{text: w.src(e), typ: tv.Type, known: true}
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return w.pure(e.X)
	case *ast.Ident:
		return w.ident(e)
	case *ast.SelectorExpr:
		return w.selector(e)
	case *ast.IndexExpr:
		return w.index(e, false)
	case *ast.IndexListExpr:
		return value{text: w.src(e), typ: tv.Type}
	case *ast.SliceExpr:
		return w.slice(e)
	case *ast.StarExpr:
		return w.lying("(*"+w.pure(e.X).text+")", tv.Type)
	case *ast.UnaryExpr:
		return w.unary(e)
	case *ast.BinaryExpr:
		v := w.binary(e, e.Op, w.pure(e.X), w.pure(e.Y), tv.Type)
		if v.typ != nil && isUntyped(v.typ) && !isUntyped(tv.Type) && tv.Type != types.Typ[types.Bool] && !isInterface(tv.Type) {
			v.text, v.typ = w.typed(e, v, tv.Type), tv.Type
			v.num = w.number(v.text, v.typ)
		}
		return v
	case *ast.CallExpr:
		if w.info.Types[e.Fun].IsType() {
			return w.convert(e)
		}
		return w.quietBuiltin(e)
	case *ast.CompositeLit:
		return w.composite(e, false)
	case *ast.FuncLit:
		return value{text: w.literal(e), typ: tv.Type}
	case *ast.TypeAssertExpr:
		x := w.temp(w.pure(e.X).text)
		return w.unboxed(w.temp(x+".("+w.src(e.Type)+")"), tv.Type, x, "")
	}
	w.fail(e, "an expression of type %T", e)
	return value{}
}

func (w *writer) ident(id *ast.Ident) value {
	obj := w.info.ObjectOf(id)
	if _, ok := obj.(*types.Var); ok {
		return w.variable(obj, id.Name)
	}
	return value{text: id.Name, typ: w.info.TypeOf(id)}
}

// foreign reports whether a variable's shadow would be beside it, in a body that is not written: the function that declares it has its first body only.
func (w *writer) foreign(obj types.Object) bool {
	_, ok := w.names[obj]
	return !ok && w.use.owner[obj] != nil && w.use.beside(obj)
}

func (w *writer) variable(obj types.Object, name string) value {
	if s, ok := w.names[obj]; ok {
		v := w.plain(name, obj.Type())
		v.s = s
		return v
	}
	if w.foreign(obj) {
		return w.plain(name, obj.Type())
	}
	return w.lying(name, obj.Type())
}

func (w *writer) selector(e *ast.SelectorExpr) value {
	T := w.info.TypeOf(e)
	sel := w.info.Selections[e]
	if sel == nil { // a name of another package
		if _, ok := w.info.Uses[e.Sel].(*types.Var); ok {
			return w.lying(w.src(e), T)
		}
		return value{text: w.src(e), typ: T}
	}
	if sel.Kind() == types.MethodExpr {
		return value{text: w.src(e), typ: T}
	}
	if sel.Kind() == types.MethodVal {
		x := w.located(e.X)
		if w.called != e {
			w.bind(e, sel, x)
		}
		return value{text: x.text + "." + e.Sel.Name, typ: T}
	}
	x := w.pure(e.X)
	text := x.text + "." + e.Sel.Name
	if x.addr != "" || isPointer(x.typ) || sel.Indirect() {
		return w.lying(text, T)
	}
	return w.plain(text, T)
}

// bind counts the receiver of a method that becomes a function value: that has a copy of it, which shadows do not follow.
func (w *writer) bind(e *ast.SelectorExpr, sel *types.Selection, x value) {
	recv := sel.Obj().(*types.Func).Signature().Recv()
	switch {
	case isInterface(sel.Recv()):
		w.emit("bh_LoseHeld(%s, bh_any(%s), %q)", w.site(e, "lost"), x.text, e.Sel.Name)
	case recv == nil || isPointer(recv.Type()):
	case isInterface(recv.Type()) || len(sel.Index()) > 1 || isPointer(x.typ): // of an embedded field, or of what a pointer leads to
		w.loseAll(e, x)
	default:
		w.lose(e, x)
	}
}

// located is an expression whose address is taken: an index in it is fixed.
func (w *writer) located(e ast.Expr) value {
	if x, ok := ast.Unparen(e).(*ast.IndexExpr); ok {
		if _, done := w.hoisted[x]; !done {
			return w.index(x, true)
		}
	}
	return w.pure(e)
}

// index is an element. If its address is not taken and it is a scalar, a symbolic index gives a choice of all elements, where they are few.
func (w *writer) index(e *ast.IndexExpr, located bool) value {
	T := w.info.TypeOf(e)
	X := w.info.TypeOf(e.X)
	if _, ok := under(X).(*types.Signature); ok {
		return value{text: w.src(e), typ: T} // an instance of a generic function
	}
	if _, ok := under(X).(*types.Map); ok {
		return w.inMap(e, false)
	}
	x := w.pure(e.X)
	if various(X) {
		w.loseAll(e, x)
		i := w.position(e.Index, "len("+x.text+")")
		return w.plain(x.text+"["+i+"]", T)
	}
	if s, ok := scalarOf(T); ok && !located && !isString(X) {
		if v, ok := w.choice(e, x, s); ok {
			return v
		}
	}
	i := w.position(e.Index, "len("+x.text+")")
	text := x.text + "[" + i + "]"
	if isString(X) {
		v := w.plain(text, T)
		v.s = "bh_Byte(string(" + x.text + "), int(" + i + "))"
		return v
	}
	if _, ok := under(X).(*types.Array); ok && x.addr == "" {
		return w.plain(text, T)
	}
	return w.lying(text, T)
}

// choice is an element of a list of scalars whose index may be symbolic.
func (w *writer) choice(e *ast.IndexExpr, x value, s scalar) (value, bool) {
	i := w.pure(e.Index)
	_, isArray := under(x.typ).(*types.Array)
	if i.s == "" || isArray && x.addr == "" {
		return value{}, false
	}
	i = w.hold(i)
	is, _ := scalarOf(i.typ)
	length := "len(" + x.text + ")"
	text := x.text + "[" + i.text + "]"
	w.emit("bh_Within(%s, %s, %s, %t, %s)", w.site(e.Index, "index"), i.s, i.num, is.signed, length)
	v := w.plain(w.temp(text), w.info.TypeOf(e))
	v.s = w.shadow(fmt.Sprintf("bh_Element(%s, bh_p(&%s), %d, %t, %s, %s, %t, %s)", w.site(e.Index, "index"), text, s.size(),
		s.isBool(), i.s, i.num, is.signed, length))
	return v, true
}

// compound reports whether a comparison of values of T compares several things, or such as only the runtime knows.
func compound(T types.Type) bool {
	if isTypeParam(T) {
		return true
	}
	switch T.Underlying().(type) {
	case *types.Struct, *types.Array, *types.Interface:
		return true
	}
	return false
}

// position is an index, below a length: it is fixed. Its text is a name or a constant.
func (w *writer) position(e ast.Expr, length string) string {
	v := w.pure(e)
	if v.known {
		return v.text
	}
	if isTypeParam(v.typ) {
		w.loseAll(e, v)
	}
	if v.s == "" {
		if isName(v.text) {
			return v.text
		}
		return w.temp(v.text)
	}
	v = w.hold(v)
	s, _ := scalarOf(v.typ)
	w.emit("bh_Index(%s, %s, %s, %t, %s)", w.site(e, "index"), v.s, v.num, s.signed, length)
	return v.text
}

func (w *writer) slice(e *ast.SliceExpr) value {
	x := w.pure(e.X)
	length := "cap(" + x.text + ")+1"
	if isString(x.typ) || various(x.typ) {
		length = "len(" + x.text + ")+1"
	}
	var parts []string
	for i, b := range []ast.Expr{e.Low, e.High, e.Max} {
		switch {
		case b != nil:
			parts = append(parts, w.position(b, length))
		case i < 2:
			parts = append(parts, "")
		}
	}
	return value{text: x.text + "[" + strings.Join(parts, ":") + "]", typ: w.info.TypeOf(e)}
}

// literal writes a function literal.
func (w *writer) literal(e *ast.FuncLit) string {
	out, line := w.out, w.line
	w.out, w.line = &strings.Builder{}, 0
	w.markLine(e)
	w.second(e.Type, nil, w.info.TypeOf(e).(*types.Signature), e.Body)
	body := w.out.String()
	w.out, w.line = out, line
	w.line = 0
	return fmt.Sprintf("%s {\n%s}", w.f.text(e.Pos(), e.Type.End()), body)
}

// composite writes a composite literal, or a pointer to one.
func (w *writer) composite(e *ast.CompositeLit, pointer bool) value {
	T := w.info.TypeOf(e)
	var parts []part
	text := w.src(e.Type) + w.elements(e, "", &parts)
	if pointer {
		text = "(&" + text + ")"
	}
	v := value{text: text, typ: T}
	if pointer {
		v.typ = types.NewPointer(T)
	}
	if len(parts) == 0 && !pointer {
		return v
	}
	if len(parts) == 0 && !holds(T) {
		return v
	}
	t := w.temp(text)
	v.text = t
	if holds(T) {
		at := t
		if pointer {
			at = "*" + t
		} else {
			v.addr = "bh_p(&" + t + ")"
		}
		w.emit("bh_Clear(bh_p(&%s), %s)", at, w.size(T, "("+at+")"))
	}
	for _, p := range parts {
		w.store(t+p.path, p.typ, p.v)
	}
	return v
}

// part is an element of a composite literal that has a shadow, and its place in it.
type part struct {
	path string
	typ  types.Type
	v    value
}

// elements writes the elements of a composite literal, in braces, and collects those with shadows.
func (w *writer) elements(e *ast.CompositeLit, path string, parts *[]part) string {
	T := under(deref(w.info.TypeOf(e)))
	var texts []string
	next := int64(0)
	for i, x := range e.Elts {
		head, at := "", ""
		var elem types.Type
		kv, keyed := x.(*ast.KeyValueExpr)
		if keyed {
			x = kv.Value
		}
		switch u := T.(type) {
		case *types.Struct:
			f := u.Field(min(i, u.NumFields()-1))
			if keyed {
				f = w.info.Uses[kv.Key.(*ast.Ident)].(*types.Var)
				head = f.Name() + ": "
			}
			elem, at = f.Type(), path+"."+f.Name()
			if f.Name() == "_" {
				at = ""
			}
		case *types.Map:
			if lit, ok := kv.Key.(*ast.CompositeLit); ok && lit.Type == nil {
				head = w.unplaced(lit) + ": "
			} else {
				head = w.key(kv.Key, u, "", true) + ": "
			}
			elem = u.Elem()
		case *types.Slice, *types.Array:
			elem = T.(interface{ Elem() types.Type }).Elem()
			if keyed {
				head = w.src(kv.Key) + ": "
				next = int64Of(w.info.Types[kv.Key])
			}
			at = fmt.Sprintf("%s[%d]", path, next)
			next++
		default:
			w.fail(e, "a composite literal of %v", T)
		}
		texts = append(texts, head+w.element(x, at, elem, parts))
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// element writes one element; at is its place, or "" if what lies there has no address.
func (w *writer) element(x ast.Expr, at string, T types.Type, parts *[]part) string {
	if lit, ok := x.(*ast.CompositeLit); ok && at != "" && (lit.Type == nil || !isInterface(T)) {
		typ := ""
		if lit.Type != nil {
			typ = w.src(lit.Type)
		}
		if _, ok := under(w.info.TypeOf(lit)).(*types.Map); !ok {
			return typ + w.elements(lit, at, parts)
		}
	}
	if lit, ok := x.(*ast.CompositeLit); ok && lit.Type == nil {
		return w.unplaced(lit)
	}
	v := w.assignable(x, w.pure(x), T)
	switch {
	case v.s == "" && (v.addr == "" || !aggregate(v.typ)):
	case at == "":
		w.lose(x, v)
	default:
		v = w.hold(v)
		*parts = append(*parts, part{at, T, v})
	}
	return v.text
}

// unplaced writes a literal that lies where shadows do not follow.
func (w *writer) unplaced(lit *ast.CompositeLit) string {
	var lost []part
	text := w.elements(lit, "", &lost)
	for _, p := range lost {
		w.lose(lit, p.v)
	}
	return text
}
