package rewrite

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

func (w *writer) block(list []ast.Stmt) {
	for _, s := range list {
		w.stmt(s, "")
	}
}

// stmt writes a statement; label is the one before it.
func (w *writer) stmt(s ast.Stmt, label string) {
	w.markLine(s)
	switch s := s.(type) {
	case *ast.EmptyStmt:
	case *ast.BlockStmt:
		w.emit("{")
		w.block(s.List)
		w.emit("}")
	case *ast.ExprStmt:
		w.exprStmt(s)
	case *ast.AssignStmt:
		w.assign(s)
	case *ast.IncDecStmt:
		w.incDec(s)
	case *ast.DeclStmt:
		w.decl(s)
	case *ast.ReturnStmt:
		w.returns(s)
	case *ast.IfStmt:
		w.ifs(s)
	case *ast.ForStmt:
		w.fors(s, label)
	case *ast.RangeStmt:
		w.ranges(s, label)
	case *ast.SwitchStmt:
		w.switches(s, label)
	case *ast.TypeSwitchStmt:
		w.typeSwitch(s, label)
	case *ast.SelectStmt:
		w.selects(s, label)
	case *ast.LabeledStmt:
		switch s.Stmt.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			w.stmt(s.Stmt, s.Label.Name+":\n")
		default:
			w.fail(s, "a label that only goto can use")
		}
	case *ast.BranchStmt:
		if s.Tok == token.GOTO {
			w.fail(s, "goto")
		}
		w.emit("%s", w.src(s))
	case *ast.DeferStmt:
		w.deferred("defer", s.Call)
	case *ast.GoStmt:
		w.emit("bh_Unseen(%s)", w.site(s, "lost"))
		w.deferred("go", s.Call)
	case *ast.SendStmt:
		w.hoist(s.Chan)
		w.hoist(s.Value)
		c, v := w.pure(s.Chan), w.pure(s.Value)
		w.loseAll(s, v)
		w.emit("%s <- %s", c.text, v.text)
	default:
		w.fail(s, "a statement of type %T", s)
	}
}

func (w *writer) exprStmt(s *ast.ExprStmt) {
	switch e := ast.Unparen(s.X).(type) {
	case *ast.CallExpr:
		w.call(e, true)
	default:
		w.hoist(e)
		w.emit("_ = %s", w.pure(e).text)
	}
}

// deferred writes a defer or go statement: its function and arguments are evaluated now, and their shadows do not follow.
func (w *writer) deferred(keyword string, c *ast.CallExpr) {
	if tv := w.info.Types[c.Fun]; tv.IsType() {
		w.fail(c, "a deferred conversion")
	}
	if !tvBuiltin(w.info, c.Fun) {
		w.hoist(c.Fun)
	}
	for _, a := range c.Args {
		if !w.info.Types[a].IsType() {
			w.hoist(a)
		}
	}
	var args []string
	f := w.callee(c)
	foreign := f != nil && !w.f.pkg.scope.follows(f) && !(f.Pkg() != nil && harmless[f.Pkg().Path()])
	for _, a := range c.Args {
		v := w.pure(a)
		if foreign {
			w.loseAll(a, v)
		} else {
			w.lose(a, v)
		}
		args = append(args, v.text)
	}
	fun := w.src(c.Fun)
	if !tvBuiltin(w.info, c.Fun) {
		fun = w.pure(c.Fun).text
	}
	w.emit("%s %s(%s%s)", keyword, fun, strings.Join(args, ", "), ellipsis(c))
}

func tvBuiltin(info *types.Info, e ast.Expr) bool { return info.Types[e].IsBuiltin() }

func ellipsis(c *ast.CallExpr) string {
	if c.Ellipsis.IsValid() {
		return "..."
	}
	return ""
}

func (w *writer) decl(s *ast.DeclStmt) {
	d := s.Decl.(*ast.GenDecl)
	if d.Tok != token.VAR {
		w.emit("%s", w.src(d))
		return
	}
	for _, spec := range d.Specs {
		spec := spec.(*ast.ValueSpec)
		w.markLine(spec)
		typ := ""
		if spec.Type != nil {
			typ = " " + w.src(spec.Type)
		}
		names := make([]string, len(spec.Names))
		for i, n := range spec.Names {
			names[i] = n.Name
		}
		list := make([]value, len(names))
		if len(spec.Values) > 0 {
			list = w.rights(spec.Values, len(names), w.typesOf(spec.Names))
		}
		w.emit("var %s%s%s", strings.Join(names, ", "), typ, texts(" = ", list))
		for i, n := range spec.Names {
			w.declare(w.info.Defs[n], n.Name, list[i])
		}
	}
}

// typesOf are the types of variables, nil for blank ones.
func (w *writer) typesOf(names []*ast.Ident) []types.Type {
	list := make([]types.Type, len(names))
	for i, n := range names {
		if obj := w.info.Defs[n]; obj != nil {
			list[i] = obj.Type()
		}
	}
	return list
}

// texts joins values, behind a sign, or is empty.
func texts(sign string, list []value) string {
	var parts []string
	for _, v := range list {
		if v.text != "" {
			parts = append(parts, v.text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return sign + strings.Join(parts, ", ")
}

func (w *writer) returns(s *ast.ReturnStmt) {
	sig := w.fn.sig
	n := sig.Results().Len()
	if n == 0 {
		w.emit("return")
		return
	}
	if len(s.Results) == 0 {
		if !w.fn.deferred {
			w.returnShadows(w.resultValues())
		}
		w.emit("return")
		return
	}
	want := make([]types.Type, n)
	for i := range want {
		want[i] = sig.Results().At(i).Type()
	}
	list := w.rights(s.Results, n, want)
	switch {
	case len(w.fn.results) > 0:
		w.returnNamed(list)
		return
	case w.fn.deferred:
		for i, v := range list {
			w.emit("%s = %s", w.fn.given[i], orNil(v.s))
		}
	default:
		w.returnShadows(list)
	}
	w.emit("return %s", texts("", list))
}

// returnNamed returns values by the variables that are the results: deferred calls see them there. Names that a result does not
// have here, since another variable hides it, are no matter: a return statement assigns in any case.
func (w *writer) returnNamed(list []value) {
	if !w.fn.deferred {
		w.returnShadows(list)
		w.emit("return %s", texts("", list))
		return
	}
	for i, obj := range w.fn.results {
		if obj.Name() == "_" {
			continue
		}
		if n, ok := w.names[obj]; ok {
			w.emit("%s = %s", n, orNil(list[i].s))
			continue
		}
		if p, ok := w.fn.pointers[obj]; ok {
			// The memory of the result gets its value only by the return. A shadow that is there before belongs to that value.
			w.store("(*"+p+")", obj.Type(), list[i])
		}
	}
	w.emit("return %s", texts("", list))
}
