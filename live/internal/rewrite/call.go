package rewrite

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// quiet reports whether a call has no effect that order could show: a conversion, or a built-in function that computes.
func (w *writer) quiet(c *ast.CallExpr) bool {
	if w.info.Types[c.Fun].IsType() {
		return true
	}
	switch w.builtin(c) {
	case "len", "cap", "min", "max", "real", "imag", "complex", "Sizeof", "Offsetof", "Alignof", "Slice", "SliceData", "String", "StringData", "Add":
		return true
	}
	return false
}

// builtin is the name of the built-in function that is called, or "".
func (w *writer) builtin(c *ast.CallExpr) string {
	if !w.info.Types[c.Fun].IsBuiltin() {
		return ""
	}
	switch f := ast.Unparen(c.Fun).(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr: // of package unsafe
		return f.Sel.Name
	}
	return ""
}

// quietBuiltin is a call of a built-in function that computes.
func (w *writer) quietBuiltin(c *ast.CallExpr) value {
	T := w.info.TypeOf(c)
	var args []value
	for _, a := range c.Args {
		args = append(args, w.pure(a))
	}
	name := w.builtin(c)
	s, ok := scalarOf(T)
	if name == "min" || name == "max" {
		for _, a := range args {
			if !ok {
				w.loseAll(c, a)
			}
		}
	}
	if !ok || name != "min" && name != "max" {
		return w.plain(w.src(c.Fun)+"("+strings.TrimPrefix(texts(" ", args), " ")+")", T)
	}
	least := args[0]
	for _, x := range args[1:] {
		if least.s != "" {
			least.s = w.shadow(least.s)
		}
		if x.s != "" {
			x.s = w.shadow(x.s)
		}
		a, b := x, least
		if name == "max" {
			a, b = least, x
		}
		if x.s == "" && least.s == "" {
			least = w.plain(name+"("+least.text+", "+x.text+")", T)
			continue
		}
		less := w.shadow(binaryCall(comparisons[token.LSS].ops[index(s.signed)], a, b, s))
		m := w.plain(w.temp(name+"("+least.text+", "+x.text+")"), T)
		m.s = w.shadow(fmt.Sprintf("bh_Choose(%s, %s, %s, %s, %s, %d)", less, orNil(x.s), orNil(least.s), x.num, least.num, s.width))
		least = m
	}
	return least
}

// call writes a call and gives its results. A statement drops them.
func (w *writer) call(c *ast.CallExpr, statement bool) []value {
	if v, ok := w.hoisted[c]; ok {
		return []value{v}
	}
	if w.info.Types[c.Fun].IsType() {
		for _, a := range c.Args {
			w.hoist(a)
		}
		v := w.convert(c)
		if statement {
			w.emit("_ = %s", v.text)
		}
		return []value{v}
	}
	if name := w.builtin(c); name != "" {
		return w.builtinCall(c, name, statement)
	}
	w.hoist(c.Fun)
	if sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok {
		w.hoist(sel.X)
	}
	var args []value
	sig := under(w.info.TypeOf(c.Fun))
	s, ok := sig.(*types.Signature)
	if !ok {
		w.fail(c, "a call of %v", sig)
	}
	if len(c.Args) == 1 && isTuple(w.info.TypeOf(c.Args[0])) {
		args = w.call(ast.Unparen(c.Args[0]).(*ast.CallExpr), false)
	}
	if args == nil {
		for _, a := range c.Args {
			w.hoist(a)
		}
		for i, a := range c.Args {
			args = append(args, w.assignable(a, w.pure(a), paramType(s, i, c.Ellipsis.IsValid())))
		}
	}
	return w.callWith(c, s, args, statement)
}

func isTuple(T types.Type) bool {
	_, ok := T.(*types.Tuple)
	return ok
}

// paramType is the type of the parameter that argument i becomes.
func paramType(s *types.Signature, i int, spread bool) types.Type {
	n := s.Params().Len()
	if s.Variadic() && i >= n-1 {
		T := s.Params().At(n - 1).Type()
		if spread {
			return T
		}
		if slice, ok := T.Underlying().(*types.Slice); ok {
			return slice.Elem()
		}
		return nil
	}
	return s.Params().At(i).Type()
}

// callee is the function that is called, if the call names one. Others are called by a value, or by an interface.
func (w *writer) callee(c *ast.CallExpr) *types.Func {
	e := ast.Unparen(c.Fun)
	switch x := e.(type) {
	case *ast.IndexExpr:
		e = x.X
	case *ast.IndexListExpr:
		e = x.X
	}
	var obj types.Object
	switch x := e.(type) {
	case *ast.Ident:
		obj = w.info.Uses[x]
	case *ast.SelectorExpr:
		obj = w.info.Uses[x.Sel]
		if s := w.info.Selections[x]; s != nil && isInterface(s.Recv()) {
			return nil
		}
		if s := w.info.Selections[x]; s != nil && s.Kind() == types.MethodExpr {
			return nil
		}
	}
	f, _ := obj.(*types.Func)
	if f == nil {
		return nil
	}
	if recv := f.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		return nil
	}
	return f.Origin()
}

// callWith writes a call whose arguments are evaluated.
func (w *writer) callWith(c *ast.CallExpr, s *types.Signature, args []value, statement bool) []value {
	f := w.callee(c)
	if f != nil {
		if m, ok := models[f.FullName()]; ok {
			return w.modelled(c, s, m, args, statement)
		}
	}
	w.called = ast.Unparen(c.Fun)
	fun := w.pure(c.Fun).text
	if _, ok := ast.Unparen(c.Fun).(*ast.FuncLit); ok {
		fun = "(" + fun + ")"
	}
	switch {
	case f == nil:
		return w.callAny(c, s, fun, args, statement)
	case !w.f.pkg.scope.follows(f):
		return w.callForeign(c, s, f, fun, args, statement)
	}
	tag := tagOf(f.Signature())
	args = w.variadic(c, s, args)
	w.emit("bh_Call(%s, %s)", tag, w.site(c, "lost"))
	w.passAll(c, args)
	return w.results(calling(c, fun, args), s, tag, statement)
}

func calling(c *ast.CallExpr, fun string, args []value) string {
	return fun + "(" + strings.TrimPrefix(texts(" ", args), " ") + spread(c, args) + ")"
}

func (w *writer) passAll(c *ast.CallExpr, args []value) {
	w.receiver(c)
	for i, a := range args {
		w.pass(i+1, a)
	}
}

// callAny calls a function value, or a method of what an interface holds: if that has no second body, what the arguments lead to is lost.
func (w *writer) callAny(c *ast.CallExpr, s *types.Signature, fun string, args []value, statement bool) []value {
	tag := tagOf(s)
	args = w.variadic(c, s, args)
	for i, a := range args {
		if !a.known && !isUntyped(a.typ) && !isName(a.text) {
			args[i] = w.hold(a)
		}
	}
	n, of, method := "", fun, ""
	if _, literal := ast.Unparen(c.Fun).(*ast.FuncLit); literal {
		w.emit("bh_Call(%s, %s)", tag, w.site(c, "lost"))
	} else {
		if sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok && w.info.Selections[sel] != nil && w.info.Selections[sel].Kind() == types.MethodVal {
			of, method = w.pure(sel.X).text, sel.Sel.Name
		}
		n = w.temp("bh_CallValue(" + tag + ", " + w.site(c, "lost") + ", bh_any(" + of + "))")
	}
	w.passAll(c, args)
	if method != "" {
		w.emit("bh_PassHeld(bh_any(%s), %q)", of, method)
	}
	list := w.resultsOf(calling(c, fun, args), s, statement)
	if n != "" {
		var parts []string
		for _, a := range args {
			if !a.known && leads(a.typ) {
				parts = append(parts, "bh_any("+a.text+")")
			}
		}
		if len(parts) > 0 {
			w.emit("if bh_Done(%s) { bh_Reach(%s, %s) }", n, w.site(c, "lost"), strings.Join(parts, ", "))
		} else {
			w.emit("bh_Done(%s)", n)
		}
	}
	return w.shadows(list, s, tag, statement)
}

// harmless are packages whose functions give nothing that depends on what the arguments lead to.
var harmless = map[string]bool{"sync": true, "sync/atomic": true, "testing": true, "time": true, "runtime": true,
	"runtime/debug": true, "internal/abi": true, "github.com/bloodhound-dst/bloodhound/live": true}

// callForeign calls a function of a package that is not instrumented.
func (w *writer) callForeign(c *ast.CallExpr, s *types.Signature, f *types.Func, fun string, args []value, statement bool) []value {
	quiet := f.Pkg() != nil && harmless[f.Pkg().Path()]
	var deep []string
	if sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok && s.Recv() != nil {
		x := w.pure(sel.X)
		w.lose(c, x)
		if leads(x.typ) {
			deep = append(deep, "bh_any("+x.text+")")
		} else if x.addr != "" {
			deep = append(deep, "bh_any(&"+x.text+")")
		}
	}
	for i, a := range args {
		if !a.known && !isUntyped(a.typ) && !isName(a.text) {
			args[i] = w.hold(a)
		}
		if !a.known && leads(a.typ) {
			deep = append(deep, "bh_any("+args[i].text+")")
		}
		if !a.known {
			w.lose(c, args[i])
		}
	}
	if len(deep) > 0 && !quiet {
		w.emit("bh_Reach(%s, %s)", w.site(c, "lost"), strings.Join(deep, ", "))
	}
	return w.results(calling(c, fun, args), s, "", statement)
}

// loseAll counts a value that goes where no shadow follows, and what it leads to.
func (w *writer) loseAll(n ast.Node, v value) {
	if v.known || v.typ == nil || isUntyped(v.typ) {
		return
	}
	w.lose(n, v)
	if leads(v.typ) {
		w.emit("bh_Reach(%s, bh_any(%s))", w.site(n, "lost"), v.text)
	}
}

// spread returns the suffix of the last argument: "..." in a call that passes a slice for the variadic parameter.
func spread(c *ast.CallExpr, args []value) string {
	if c.Ellipsis.IsValid() || len(args) > 0 && args[len(args)-1].spread {
		return "..."
	}
	return ""
}

// variadic puts variadic arguments with shadows in a slice, whose elements have them.
func (w *writer) variadic(c *ast.CallExpr, s *types.Signature, args []value) []value {
	n := s.Params().Len()
	if !s.Variadic() || c.Ellipsis.IsValid() || len(args) < n {
		return args
	}
	slice, ok := s.Params().At(n - 1).Type().(*types.Slice)
	if !ok || !holds(slice.Elem()) || isTypeParam(slice.Elem()) || !w.nameable(slice.Elem()) {
		return args
	}
	rest := args[n-1:]
	for i := range rest {
		rest[i] = w.hold(rest[i])
	}
	t := w.temp("[]" + w.typeText(c, slice.Elem()) + "{" + strings.TrimPrefix(texts(" ", rest), " ") + "}")
	for i, v := range rest {
		w.store(t+"["+itoa(i)+"]", slice.Elem(), v)
	}
	return append(args[:n-1:n-1], value{text: t, typ: slice, spread: true})
}

// receiver passes the shadows of a receiver that is a value.
func (w *writer) receiver(c *ast.CallExpr) {
	sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr)
	if !ok {
		return
	}
	s := w.info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal || isInterface(s.Recv()) {
		return
	}
	recv := s.Obj().(*types.Func).Signature().Recv()
	if recv == nil || isPointer(recv.Type()) || isInterface(recv.Type()) {
		return
	}
	x := w.pure(sel.X)
	if len(s.Index()) > 1 { // a method of an embedded field
		x = w.embedded(x, s)
	}
	if isPointer(x.typ) {
		x = w.lying("(*"+x.text+")", deref(x.typ))
	}
	w.pass(0, x)
}

// embedded is the field whose method a selection finds.
func (w *writer) embedded(x value, s *types.Selection) value {
	T := s.Recv()
	text := x.text
	through := x.addr != "" || isPointer(T)
	for _, i := range s.Index()[:len(s.Index())-1] {
		f := deref(T).Underlying().(*types.Struct).Field(i)
		text, T = text+"."+f.Name(), f.Type()
		through = through || isPointer(T)
	}
	if !through {
		return w.plain(text, T)
	}
	return w.lying(text, T)
}

func (w *writer) pass(slot int, v value) {
	switch {
	case v.s != "":
		w.emit("bh_Pass(%d, %s)", slot, v.s)
	case v.addr != "" && aggregate(v.typ):
		w.emit("bh_PassMemory(%d, %s, %s)", slot, v.addr, w.size(v.typ, v.text))
	}
}

// results writes a call and takes its results; tag is "" if it has no shadows.
func (w *writer) results(call string, s *types.Signature, tag string, statement bool) []value {
	return w.shadows(w.resultsOf(call, s, statement), s, tag, statement)
}

// resultsOf writes a call and gives its results, none if they are dropped.
func (w *writer) resultsOf(call string, s *types.Signature, statement bool) (list []value) {
	n := s.Results().Len()
	if n == 0 || statement {
		w.emit("%s", call)
		return nil
	}
	names := make([]string, n)
	for i := range names {
		names[i] = w.fresh()
	}
	w.emit("%s := %s", strings.Join(names, ", "), call)
	for i, name := range names {
		w.emit("_ = %s", name)
		list = append(list, w.plain(name, s.Results().At(i).Type()))
	}
	return list
}

// shadows gives results theirs.
func (w *writer) shadows(list []value, s *types.Signature, tag string, statement bool) []value {
	record := ""
	for i := range list {
		if !holds(list[i].typ) {
			continue
		}
		if record == "" && tag != "" {
			record = w.temp("bh_Back(" + tag + ")")
		}
		w.result(&list[i], record, i)
	}
	if record == "" && tag != "" {
		w.emit("bh_Ignore()")
	}
	return list
}

// result gives a result its shadow.
func (w *writer) result(v *value, record string, i int) {
	s, ok := scalarOf(v.typ)
	switch {
	case ok && record != "":
		v.s = w.shadow(fmt.Sprintf("bh_Get(%s, %d, %s, %d)", record, i, v.num, s.width))
	case ok:
	case record != "":
		w.emit("bh_GetMemory(%s, %d, bh_p(&%s), %s)", record, i, v.text, w.size(v.typ, v.text))
		v.addr = "bh_p(&" + v.text + ")"
	default:
		w.emit("bh_Clear(bh_p(&%s), %s)", v.text, w.size(v.typ, v.text))
		v.addr = "bh_p(&" + v.text + ")"
	}
}
