package rewrite

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// condition evaluates a condition and reports the branch on it: the expression of an if statement.
func (w *writer) condition(e ast.Expr) string {
	w.hoist(e)
	v := w.pure(e)
	return "bh_Cond(" + w.site(e, "branch") + ", bool(" + v.text + "), " + orNil(v.s) + ")"
}

func (w *writer) ifs(s *ast.IfStmt) {
	w.emit("{")
	if s.Init != nil {
		w.stmt(s.Init, "")
	}
	w.emit("if %s {", w.condition(s.Cond))
	w.block(s.Body.List)
	if s.Else != nil {
		w.emit("} else {")
		w.stmt(s.Else, "")
	}
	w.emit("}\n}")
}

// fors writes a for statement. Its post statement comes first in all turns but the first, so that a continue statement reaches
// it; the variables of a turn are copied before it (Go specification, For statements with for clause).
func (w *writer) fors(s *ast.ForStmt, label string) {
	w.emit("{")
	defer w.emit("}")
	init, names := w.loopInit(s)
	again := ""
	if s.Post != nil {
		again = w.temp("false")
	}
	carried := w.carried(names)
	if init == "" {
		w.emit("%sfor {", label)
	} else {
		w.emit("%sfor %s; ; {", label, init)
	}
	w.carry(names, carried)
	if s.Post != nil {
		w.emit("if %s {", again)
		w.stmt(s.Post, "")
		w.emit("}\n%s = true", again)
	}
	if s.Cond != nil {
		w.markLine(s.Cond)
		w.emit("if !%s { break }", w.condition(s.Cond))
	}
	w.block(s.Body.List)
	w.emit("}")
}

// loopInit writes what comes before a loop, and gives its init statement, with the variables that it declares.
func (w *writer) loopInit(s *ast.ForStmt) (init string, names []*ast.Ident) {
	if s.Init == nil {
		return "", nil
	}
	a, ok := s.Init.(*ast.AssignStmt)
	if !ok || a.Tok != token.DEFINE {
		w.stmt(s.Init, "")
		return "", nil
	}
	var left []string
	for _, l := range a.Lhs {
		id := l.(*ast.Ident)
		names = append(names, id)
		left = append(left, id.Name)
	}
	list := w.rights(a.Rhs, len(names), w.typesOf(names))
	for i, v := range list {
		list[i] = w.hold(v)
		obj := w.info.Defs[names[i]]
		if obj != nil && w.use.beside(obj) {
			n := w.fresh()
			w.emit("var %s bh_e = %s; _ = %s", n, orNil(list[i].s), n)
			w.names[obj] = n
		}
	}
	first := make([]string, len(names)) // where a variable of the turn before is, for those in memory
	for i, id := range names {
		obj := w.info.Defs[id]
		if obj != nil && holds(obj.Type()) && !w.use.beside(obj) {
			first[i] = "bh_p(nil)"
			switch h := list[i]; {
			case aggregate(h.typ) && h.addr != "":
				first[i] = h.addr
			case h.s != "":
				w.store(h.text, h.typ, h)
				first[i] = "bh_p(&" + h.text + ")"
			}
		}
	}
	w.fn.loop = first
	return strings.Join(left, ", ") + texts(" := ", list), names
}

// carried declares, for each variable of a loop that is in memory, where its shadow was in the turn before.
func (w *writer) carried(names []*ast.Ident) []string {
	list := make([]string, len(names))
	for i := range names {
		if w.fn.loop[i] != "" {
			list[i] = w.temp(w.fn.loop[i])
		}
	}
	return list
}

// carry copies shadows of loop variables from the turn before: each turn has variables of its own.
func (w *writer) carry(names []*ast.Ident, carried []string) {
	for i, id := range names {
		if id.Name != "_" {
			w.emit("_ = %s", id.Name)
		}
		if carried[i] != "" {
			obj := w.info.Defs[id]
			w.emit("bh_Copy(bh_p(&%s), %s, %s); %s = bh_p(&%s)", id.Name, carried[i], w.size(obj.Type(), id.Name), carried[i], id.Name)
		}
	}
}

func (w *writer) ranges(s *ast.RangeStmt, label string) {
	w.hoist(s.X)
	x := w.pure(s.X)
	w.emit("{")
	defer w.emit("}")
	T := w.info.TypeOf(s.X)
	if various(T) || scalarParam(T) {
		w.loseAll(s.X, x)
		w.rangeAs(s, label, x.text)
		return
	}
	switch u := under(T).(type) {
	case *types.Basic:
		if u.Info()&types.IsString != 0 {
			w.rangeString(s, label, x)
		} else {
			w.rangeInt(s, label, x)
		}
	case *types.Slice:
		w.rangeList(s, label, w.temp(x.text), u.Elem())
	case *types.Array:
		if s.Value == nil || isBlank(s.Value) {
			w.rangeAs(s, label, x.text)
			return
		}
		w.rangeList(s, label, w.hold(x).text, u.Elem()) // a copy of the array (Go specification, For statements with range clause)
	case *types.Pointer:
		if s.Value == nil || isBlank(s.Value) {
			w.rangeAs(s, label, x.text)
			return
		}
		w.rangeList(s, label, w.temp(x.text), under(u.Elem()).(*types.Array).Elem())
	default: // maps, channels, functions
		w.rangeAs(s, label, x.text)
	}
}

// scalarParam reports whether T is a type parameter of integers, or of strings.
func scalarParam(T types.Type) bool {
	_, ok := under(T).(*types.Basic)
	return ok && isTypeParam(T)
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// rangeAs keeps a range statement as it is; what it gives has no shadow.
func (w *writer) rangeAs(s *ast.RangeStmt, label, x string) {
	head := ""
	var keys []ast.Expr
	for _, e := range []ast.Expr{s.Key, s.Value} {
		if e != nil {
			keys = append(keys, e)
		}
	}
	if len(keys) > 0 {
		if s.Tok == token.ASSIGN {
			for _, e := range keys {
				if _, ok := e.(*ast.Ident); !ok {
					w.fail(s, "a range statement that assigns to no variable")
				}
			}
		}
		var parts []string
		for _, e := range keys {
			parts = append(parts, w.src(e))
		}
		head = strings.Join(parts, ", ") + " " + s.Tok.String() + " "
	}
	w.emit("%sfor %srange %s {", label, head, x)
	record := ""
	yield, ok := yieldOf(w.info.TypeOf(s.X))
	if ok {
		record = w.temp("bh_EnterLoop(" + tagOf(yield) + ")")
	}
	for i, e := range keys {
		w.given(s, e.(*ast.Ident), record, i+1)
	}
	w.block(s.Body.List)
	w.emit("}")
}

// yieldOf is the signature of the function that a range statement over a function gives it.
func yieldOf(T types.Type) (*types.Signature, bool) {
	f, ok := under(T).(*types.Signature)
	if !ok || f.Params().Len() != 1 {
		return nil, false
	}
	yield, ok := under(f.Params().At(0).Type()).(*types.Signature)
	return yield, ok
}

// given gives a variable that a range statement has set the shadow in a slot of a record, if there is one.
func (w *writer) given(s *ast.RangeStmt, id *ast.Ident, record string, slot int) {
	if id.Name == "_" {
		return
	}
	if s.Tok == token.DEFINE {
		obj := w.info.Defs[id]
		if record == "" || !holds(obj.Type()) {
			w.declare(obj, id.Name, value{})
		} else {
			w.loadShadow(record, "Get", slot, obj, id.Name)
		}
		return
	}
	t := w.target(id)
	v := w.plain(id.Name, t.typ)
	if scalar, ok := scalarOf(t.typ); ok && record != "" {
		v.s = fmt.Sprintf("bh_Get(%s, %d, %s, %d)", record, slot, v.num, scalar.width)
	} else if record != "" && holds(t.typ) && t.lies {
		w.emit("bh_GetMemory(%s, %d, bh_p(&%s), %s)", record, slot, id.Name, w.size(t.typ, id.Name))
		return
	}
	w.follow(s, t, v)
}

// turn sets a variable of a range statement to a value, and gives it a shadow.
func (w *writer) turn(s *ast.RangeStmt, e ast.Expr, v value) {
	if e == nil || isBlank(e) {
		return
	}
	if s.Tok == token.DEFINE {
		id := e.(*ast.Ident)
		w.emit("%s := %s", id.Name, v.text)
		w.declare(w.info.Defs[id], id.Name, v)
		return
	}
	w.hoist(e)
	t := w.target(e)
	w.emit("%s = %s", t.text, v.text)
	w.follow(s, t, v)
}

// rangeList ranges over the elements of a slice, of an array, or of one that x points to.
func (w *writer) rangeList(s *ast.RangeStmt, label, x string, elem types.Type) {
	i := w.fresh()
	w.emit("%sfor %s := range %s {\n_ = %s", label, i, x, i)
	if s.Key != nil {
		w.turn(s, s.Key, w.plain(i, types.Typ[types.Int]))
	}
	if s.Value != nil {
		w.turn(s, s.Value, w.lying(x+"["+i+"]", elem))
	}
	w.body(s)
}

func (w *writer) rangeString(s *ast.RangeStmt, label string, x value) {
	t, i, r := w.temp("string("+x.text+")"), w.fresh(), w.fresh()
	w.emit("%sfor %s, %s := range %s {\n_, _ = %s, %s", label, i, r, t, i, r)
	w.turn(s, s.Key, w.plain(i, types.Typ[types.Int]))
	if s.Value != nil && !isBlank(s.Value) {
		v := w.plain(r, types.Typ[types.Rune])
		v.s = w.shadow("bh_Rune(" + w.site(s, "branch") + ", " + t + ", " + i + ", " + r + ")")
		w.turn(s, s.Value, v)
	}
	w.body(s)
}

// rangeInt ranges over an integer: each turn is a branch on it.
func (w *writer) rangeInt(s *ast.RangeStmt, label string, x value) {
	T := w.info.TypeOf(s.X)
	if s.Key != nil && !isBlank(s.Key) {
		T = w.info.TypeOf(s.Key) // that of an untyped constant
	}
	if x.s == "" {
		n := x.text
		i := w.fresh()
		if s.Key == nil || isBlank(s.Key) {
			w.emit("%sfor range %s {", label, n)
		} else {
			w.emit("%sfor %s := range (%s)(%s) {\n_ = %s", label, i, w.typeText(s, T), n, i)
			w.turn(s, s.Key, w.plain(i, T))
		}
		w.body(s)
		return
	}
	n := w.hold(x)
	i := w.temp(n.text + " - " + n.text) // zero of that type
	w.emit("%sfor ; ; %s++ {", label, i)
	v := w.plain(i, T)
	less := w.binary(s, token.LSS, v, n, types.Typ[types.Bool])
	w.emit("if !bh_Cond(%s, %s, %s) { break }", w.site(s, "branch"), less.text, orNil(less.s))
	w.turn(s, s.Key, v)
	w.body(s)
}

// body writes the body of a range statement in a block of its own, as its variables are outside it, and ends the statement.
func (w *writer) body(s *ast.RangeStmt) {
	w.emit("{")
	w.block(s.Body.List)
	w.emit("}\n}")
}

// switches writes an expression switch: comparisons choose the clause, and a switch over its number has the bodies, so that break
// and fallthrough keep their meaning.
func (w *writer) switches(s *ast.SwitchStmt, label string) {
	w.emit("{")
	defer w.emit("}")
	if s.Init != nil {
		w.stmt(s.Init, "")
	}
	var tag *value
	if s.Tag != nil {
		w.hoist(s.Tag)
		v := w.pure(s.Tag)
		if tv := w.info.Types[s.Tag]; tv.Value == nil {
			v = w.hold(v)
		}
		tag = &v
	}
	chosen := w.temp("-1")
	for i, c := range s.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			w.markLine(e)
			w.emit("if %s < 0 {", chosen)
			w.emit("if %s { %s = %d }", w.matches(tag, e), chosen, i)
			w.emit("}")
		}
	}
	w.emit("%sswitch %s {", label, chosen)
	for i, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		if c.List == nil {
			w.emit("default:")
		} else {
			w.emit("case %d:", i)
		}
		w.block(c.Body)
	}
	w.emit("}")
}

// matches is the condition of an expression in a clause of a switch.
func (w *writer) matches(tag *value, e ast.Expr) string {
	if tag == nil {
		return w.condition(e)
	}
	w.hoist(e)
	v := w.binary(e, token.EQL, *tag, w.pure(e), types.Typ[types.Bool])
	return "bh_Cond(" + w.site(e, "branch") + ", " + v.text + ", " + orNil(v.s) + ")"
}

func (w *writer) typeSwitch(s *ast.TypeSwitchStmt, label string) {
	w.emit("{")
	defer w.emit("}")
	if s.Init != nil {
		w.stmt(s.Init, "")
	}
	name := ""
	var x ast.Expr
	switch a := s.Assign.(type) {
	case *ast.AssignStmt:
		name = a.Lhs[0].(*ast.Ident).Name
		x = a.Rhs[0].(*ast.TypeAssertExpr).X
	case *ast.ExprStmt:
		x = a.X.(*ast.TypeAssertExpr).X
	}
	w.hoist(x)
	t := w.temp(w.pure(x).text)
	if name != "" && name != "_" {
		w.emit("%sswitch %s := %s.(type) {", label, name, t)
	} else {
		w.emit("%sswitch %s.(type) {", label, t)
	}
	for _, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		if c.List == nil {
			w.emit("default:")
		} else {
			var parts []string
			for _, e := range c.List {
				parts = append(parts, w.src(e))
			}
			w.emit("case %s:", strings.Join(parts, ", "))
		}
		w.emit("bh_Cond(%s, true, nil)", w.site(c, "case"))
		if obj := w.info.Implicits[c]; obj != nil && name != "" && name != "_" {
			w.emit("_ = %s", name)
			v := value{}
			if !isInterface(obj.Type()) && holds(obj.Type()) {
				v = w.unboxed(name, obj.Type(), t, "")
			}
			w.declare(obj, name, v)
		}
		w.block(c.Body)
	}
	w.emit("}")
}

// selects keeps a select statement; what is received has no shadow.
func (w *writer) selects(s *ast.SelectStmt, label string) {
	w.emit("{")
	defer w.emit("}")
	var heads []string
	for _, c := range s.Body.List {
		heads = append(heads, w.communication(c.(*ast.CommClause)))
	}
	w.emit("%sselect {", label)
	for i, c := range s.Body.List {
		c := c.(*ast.CommClause)
		w.emit("%s:", heads[i])
		if a, ok := c.Comm.(*ast.AssignStmt); ok {
			for _, l := range a.Lhs {
				id, ok := l.(*ast.Ident)
				if !ok {
					continue
				}
				if a.Tok == token.DEFINE {
					w.declare(w.info.Defs[id], id.Name, value{})
				} else {
					w.follow(s, w.target(id), value{})
				}
			}
		}
		w.block(c.Body)
	}
	w.emit("}")
}

// communication evaluates the operands of a clause of a select statement, and gives its head.
func (w *writer) communication(c *ast.CommClause) string {
	receive := func(e ast.Expr) string {
		u := ast.Unparen(e).(*ast.UnaryExpr)
		w.hoist(u.X)
		return "<-" + w.temp(w.pure(u.X).text)
	}
	switch comm := c.Comm.(type) {
	case nil:
		return "default"
	case *ast.SendStmt:
		w.hoist(comm.Chan)
		w.hoist(comm.Value)
		v := w.pure(comm.Value)
		w.loseAll(comm, v)
		if w.info.Types[comm.Value].Value == nil && !w.info.Types[comm.Value].IsNil() {
			v = w.hold(v)
		}
		return "case " + w.temp(w.pure(comm.Chan).text) + " <- " + v.text
	case *ast.ExprStmt:
		return "case " + receive(comm.X)
	case *ast.AssignStmt:
		var left []string
		for _, l := range comm.Lhs {
			left = append(left, w.src(l))
		}
		return "case " + strings.Join(left, ", ") + " " + comm.Tok.String() + " " + receive(comm.Rhs[0])
	}
	w.fail(c, "a communication of type %T", c.Comm)
	return ""
}
