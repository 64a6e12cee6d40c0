package rewrite

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// unsupported says why a function keeps its first body only. The writer panics with it.
type unsupported struct {
	reason string
	pos    token.Pos
}

// value is an expression of the target, lowered: text can be evaluated any number of times, as long as no statement comes between.
type value struct {
	text   string     // the expression in Go
	s      string     // its shadow, an expression; "" if it has none
	addr   string     // where it is, a bh_p; "" if it has no address, or no shadows in its memory
	num    string     // of a scalar: its value as a uint64
	typ    types.Type // nil if there is none, as of a package
	known  bool       // the compiler knows it
	spread bool       // it is a slice of variadic arguments
}

// writer writes the second body of one function, with the literals in it.
type writer struct {
	f       *file
	info    *types.Info
	use     *usage
	out     *strings.Builder
	line    int
	names   map[types.Object]string // shadow variables of those whose shadow is beside them
	hoisted map[ast.Expr]value
	called  ast.Expr // a method that is called, and does not become a function value
	fn      *frame
}

// frame is the function, or the literal, whose statements are written.
type frame struct {
	outer    *frame
	sig      *types.Signature
	tag      string
	site     string                // of the function, for results that nobody takes
	results  []*types.Var          // if they have names
	deferred bool                  // results are given by a deferred call, after all others
	given    []string              // shadow variables of results that the deferred call gives
	loop     []string              // where the first shadows of the variables of a loop are, those in memory
	pointers map[*types.Var]string // to results that have names, if they are in memory
}

func (w *writer) fail(n ast.Node, format string, args ...any) {
	panic(unsupported{fmt.Sprintf(format, args...), n.Pos()})
}

func (w *writer) emit(format string, args ...any) {
	fmt.Fprintf(w.out, format, args...)
	w.out.WriteByte('\n')
}

// markLine attributes the following output to the line of a node in the source.
func (w *writer) markLine(n ast.Node) {
	p := w.f.pkg.fset.Position(n.Pos())
	if p.Line != w.line {
		fmt.Fprintf(w.out, "//line %s:%d\n", w.f.name, p.Line)
		w.line = p.Line
	}
}

// fresh is a name that is used once.
func (w *writer) fresh() string {
	w.f.pkg.temps++
	return fmt.Sprintf("%st%d", prefix, w.f.pkg.temps)
}

// temp evaluates an expression now.
func (w *writer) temp(text string) string {
	name := w.fresh()
	w.emit("%s := %s; _ = %s", name, text, name)
	return name
}

// shadow evaluates a shadow now: nil for "".
func (w *writer) shadow(s string) string {
	if s == "" {
		return "nil"
	}
	if isName(s) {
		return s
	}
	name := w.fresh()
	w.emit("var %s bh_e = %s; _ = %s", name, s, name)
	return name
}

func isName(s string) bool { return token.IsIdentifier(s) }

// src is the source of a node.
func (w *writer) src(n ast.Node) string { return w.f.text(n.Pos(), n.End()) }

// size is the size in bytes of a T; at is an expression of that type whose address can be taken, for sizes that depend on a type parameter.
func (w *writer) size(T types.Type, at string) string {
	if parametric(T) {
		return fmt.Sprintf("bh_sizeof(&%s)", at)
	}
	return fmt.Sprint(w.f.pkg.sizes.Sizeof(T))
}

// number is a scalar's value as a uint64.
func (w *writer) number(text string, T types.Type) string {
	s, ok := scalarOf(T)
	switch {
	case !ok:
		return ""
	case s.isBool():
		return "bh_b(bool(" + text + "))"
	}
	return "uint64(" + text + ")"
}

// plain is a value without a shadow.
func (w *writer) plain(text string, T types.Type) value {
	return value{text: text, typ: T, num: w.number(text, T)}
}

// constant is an expression whose value the compiler knows.
func (w *writer) constant(e ast.Expr, tv types.TypeAndValue) value {
	v := value{text: w.src(e), typ: tv.Type, known: true}
	if s, ok := scalarOf(tv.Type); ok {
		num, ok := bits(tv.Value, s)
		if !ok {
			w.fail(e, "a constant of more than 64 bits")
		}
		v.num = num
	}
	if _, ok := e.(*ast.BinaryExpr); ok {
		v.text = "(" + v.text + ")"
	}
	return v
}

// at memory: a value that lies where text says, which has an address.
func (w *writer) lying(text string, T types.Type) value {
	v := w.plain(text, T)
	if !holds(T) {
		return v
	}
	v.addr = "bh_p(&" + text + ")"
	if s, ok := scalarOf(T); ok {
		v.s = load(v.addr, s)
	}
	return v
}

func load(addr string, s scalar) string {
	if s.isBool() {
		return "bh_LoadBool(" + addr + ")"
	}
	return fmt.Sprintf("bh_Load(%s, %d)", addr, s.size())
}

// store gives memory the shadow of a value that was put there. at is an expression of the memory.
func (w *writer) store(at string, T types.Type, v value) {
	if !holds(T) {
		return
	}
	addr := "bh_p(&" + at + ")"
	s, ok := scalarOf(T)
	switch {
	case ok && s.isBool():
		w.emit("bh_StoreBool(%s, %s)", addr, orNil(v.s))
	case ok:
		w.emit("bh_Store(%s, %d, %s)", addr, s.size(), orNil(v.s))
	case v.addr != "":
		w.emit("bh_Copy(%s, %s, %s)", addr, v.addr, w.size(T, at))
	default:
		w.emit("bh_Clear(%s, %s)", addr, w.size(T, at))
	}
}

func orNil(s string) string {
	if s == "" {
		return "nil"
	}
	return s
}

// hold evaluates a value now: what it depends on may change afterwards.
func (w *writer) hold(v value) value {
	if v.typ == nil || v.known || isUntyped(v.typ) {
		return v
	}
	T := v.typ
	s := v.s
	if s != "" { // copied even if it has a name: the shadow variable may get another value
		s = w.shadow("bh_e(" + s + ")")
	}
	t := w.temp(v.text)
	h := w.plain(t, T)
	h.s = s
	if aggregate(T) {
		if v.addr != "" {
			w.emit("bh_Copy(bh_p(&%s), %s, %s)", t, v.addr, w.size(T, t))
		} else {
			w.emit("bh_Clear(bh_p(&%s), %s)", t, w.size(T, t))
		}
		h.addr = "bh_p(&" + t + ")"
	}
	return h
}

func isUntyped(T types.Type) bool {
	b, ok := T.(*types.Basic)
	return ok && b.Info()&types.IsUntyped != 0
}

// typeText is how a type is written here.
func (w *writer) typeText(n ast.Node, T types.Type) string {
	ok := true
	text := types.TypeString(T, func(p *types.Package) string {
		if p == w.f.pkg.types {
			return ""
		}
		name, found := w.f.imports[p.Path()]
		if !found {
			ok = false
		}
		return name
	})
	if !ok || !w.nameable(T) {
		w.fail(n, "a type that this file cannot name")
	}
	return text
}

// nameable reports whether a type has a name here: not one that another package keeps to itself.
func (w *writer) nameable(T types.Type) bool {
	switch t := types.Unalias(T).(type) {
	case *types.Named:
		return t.Obj().Pkg() == nil || t.Obj().Pkg() == w.f.pkg.types || t.Obj().Exported()
	case *types.Pointer:
		return w.nameable(t.Elem())
	case *types.Slice:
		return w.nameable(t.Elem())
	case *types.Array:
		return w.nameable(t.Elem())
	case *types.Map:
		return w.nameable(t.Key()) && w.nameable(t.Elem())
	case *types.Basic:
		return t.Info()&types.IsUntyped == 0
	}
	return false
}

// declare gives a new variable its shadow.
func (w *writer) declare(obj types.Object, name string, v value) {
	if obj == nil || name == "_" {
		return
	}
	w.emit("_ = %s", name)
	if w.use.beside(obj) {
		n := w.fresh()
		w.names[obj] = n
		w.emit("var %s bh_e = %s; _ = %s", n, orNil(v.s), n)
		return
	}
	w.store(name, obj.Type(), v)
}

// second writes the second body of a function: its statements without braces. Parameters keep their names.
func (w *writer) second(ft *ast.FuncType, recv *ast.FieldList, sig *types.Signature, body *ast.BlockStmt) {
	w.fn = &frame{outer: w.fn, sig: sig, tag: tagOf(sig), site: w.site(ft, "lost")}
	defer func() { w.fn = w.fn.outer }()
	w.enter(ft, recv)
	w.named(ft)
	if w.hasDefer(body) && w.resultsHold() {
		w.deferResults()
	}
	w.block(body.List)
	if sig.Results().Len() > 0 {
		w.emit("panic(\"unreachable\")")
	}
}

// enter gives parameters their shadows. A function that has parameters says so even if it has no use for those: they are not lost.
func (w *writer) enter(ft *ast.FuncType, recv *ast.FieldList) {
	record := ""
	if recv != nil || len(ft.Params.List) > 0 {
		record = w.temp("bh_Enter(" + w.fn.tag + ")")
	} else {
		w.emit("bh_Enter(%s)", w.fn.tag) // who calls it by a value learns that its results have shadows
	}
	take := func(slot int, name *ast.Ident) {
		obj := w.info.Defs[name]
		if obj == nil || name.Name == "_" || !holds(obj.Type()) {
			return
		}
		w.loadShadow(record, "Get", slot, obj, name.Name)
	}
	if recv != nil {
		for _, f := range recv.List {
			for _, name := range f.Names {
				take(0, name)
			}
		}
	}
	slot := 0
	for _, f := range ft.Params.List {
		for _, name := range f.Names {
			slot++
			take(slot, name)
		}
		if len(f.Names) == 0 {
			slot++
		}
	}
}

// loadShadow sets the shadow of a variable from a slot of a record. The variable was just assigned.
func (w *writer) loadShadow(record, get string, slot int, obj types.Object, name string) {
	s, ok := scalarOf(obj.Type())
	if !ok {
		w.emit("bh_GetMemory(%s, %d, bh_p(&%s), %s)", record, slot, name, w.size(obj.Type(), name))
		return
	}
	v := w.plain(name, obj.Type())
	v.s = fmt.Sprintf("bh_Get(%s, %d, %s, %d)", record, slot, v.num, s.width)
	w.declare(obj, name, v)
}

// named declares the shadows of results that have names.
func (w *writer) named(ft *ast.FuncType) {
	if ft.Results == nil {
		return
	}
	for _, f := range ft.Results.List {
		for _, name := range f.Names {
			obj, _ := w.info.Defs[name].(*types.Var)
			if obj == nil {
				continue
			}
			w.fn.results = append(w.fn.results, obj)
			w.declare(obj, name.Name, value{})
		}
	}
}

func (w *writer) resultsHold() bool {
	for i := range w.fn.sig.Results().Len() {
		if holds(w.fn.sig.Results().At(i).Type()) {
			return true
		}
	}
	return false
}

// deferResults defers what gives the results, before any other call is deferred: so it runs last.
func (w *writer) deferResults() {
	w.fn.deferred = true
	w.fn.pointers = map[*types.Var]string{}
	for _, obj := range w.fn.results {
		if _, ok := w.names[obj]; !ok && obj.Name() != "_" && holds(obj.Type()) {
			w.fn.pointers[obj] = w.temp("&" + obj.Name())
		}
	}
	if len(w.fn.results) > 0 {
		w.emit("defer func() {")
		w.returnShadows(w.resultValues())
		w.emit("}()")
		return
	}
	for range w.fn.sig.Results().Len() {
		n := w.fresh()
		w.fn.given = append(w.fn.given, n)
		w.emit("var %s bh_e; _ = %s", n, n)
	}
	w.emit("defer func() {\nbh_Return(%s, %s)", w.fn.tag, w.fn.site)
	for i, n := range w.fn.given {
		w.emit("bh_Give(%d, %s)", i, n)
	}
	w.emit("}()")
}

// resultValues are the results that have names, as they are now.
func (w *writer) resultValues() (list []value) {
	for _, obj := range w.fn.results {
		if obj.Name() == "_" {
			list = append(list, value{typ: obj.Type()})
			continue
		}
		list = append(list, w.variable(obj, obj.Name()))
	}
	return list
}

// returnShadows gives the results' shadows to the caller: also none, lest it takes those of a function that was called before.
func (w *writer) returnShadows(list []value) {
	if !w.resultsHold() {
		return
	}
	w.emit("bh_Return(%s, %s)", w.fn.tag, w.fn.site)
	for i, v := range list {
		switch {
		case v.s != "":
			w.emit("bh_Give(%d, %s)", i, v.s)
		case v.addr != "" && aggregate(v.typ):
			w.emit("bh_GiveMemory(%d, %s, %s)", i, v.addr, w.size(v.typ, v.text))
		}
	}
}

// hasDefer reports whether calls may follow a return statement: deferred ones, or the rest of a function over which a range statement ranges.
func (w *writer) hasDefer(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.DeferStmt:
			found = true
		case *ast.RangeStmt:
			_, over := under(w.info.TypeOf(n.X)).(*types.Signature)
			found = found || over
		}
		return true
	})
	return found
}
