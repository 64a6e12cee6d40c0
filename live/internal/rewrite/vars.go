package rewrite

import (
	"go/ast"
	"go/token"
	"go/types"
)

// usage records how a function uses its variables, as far as that decides where their shadows are.
type usage struct {
	info     *types.Info
	owner    map[types.Object]ast.Node // the function declaration or literal that declares a variable
	captured map[types.Object]bool     // used in a literal inside its owner
	assigned map[types.Object]bool     // after its declaration
	pointed  map[types.Object]bool     // its address is taken
}

// usageOf looks at a function with all literals in it.
func usageOf(info *types.Info, root ast.Node) *usage {
	u := &usage{info: info, owner: map[types.Object]ast.Node{}, captured: map[types.Object]bool{},
		assigned: map[types.Object]bool{}, pointed: map[types.Object]bool{}}
	u.walk(root, root)
	return u
}

// beside reports whether the shadow of a variable is a variable beside it: it is a scalar whose memory nobody else can reach, or that is written only once.
func (u *usage) beside(obj types.Object) bool {
	_, ok := scalarOf(obj.Type())
	return ok && !u.pointed[obj] && !(u.captured[obj] && u.assigned[obj])
}

func (u *usage) walk(root, owner ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			if n != root {
				u.walk(n, n)
				return false
			}
		case *ast.FuncType:
			// Results are written by return statements, too.
			if n.Results != nil {
				for _, f := range n.Results.List {
					for _, name := range f.Names {
						u.assigned[u.info.Defs[name]] = true
					}
				}
			}
		case *ast.Ident:
			u.ident(n, owner)
		case *ast.CaseClause:
			if obj := u.info.Implicits[n]; obj != nil {
				u.owner[obj] = owner
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id, ok := ast.Unparen(l).(*ast.Ident); ok && u.info.Defs[id] == nil {
					u.assigned[u.info.Uses[id]] = true
				}
			}
		case *ast.IncDecStmt:
			if id, ok := ast.Unparen(n.X).(*ast.Ident); ok {
				u.assigned[u.info.Uses[id]] = true
			}
		case *ast.RangeStmt:
			for _, l := range []ast.Expr{n.Key, n.Value} {
				if id, ok := l.(*ast.Ident); ok && n.Tok == token.ASSIGN {
					u.assigned[u.info.Uses[id]] = true
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				u.point(n.X)
			}
		case *ast.SelectorExpr:
			// A method with a pointer receiver takes the address of its operand.
			if s := u.info.Selections[n]; s != nil && s.Kind() == types.MethodVal {
				if sig, ok := s.Obj().Type().(*types.Signature); ok && sig.Recv() != nil && isPointer(sig.Recv().Type()) && !isPointer(u.info.TypeOf(n.X)) {
					u.point(n.X)
				}
			}
		}
		return true
	})
}

func (u *usage) ident(id *ast.Ident, owner ast.Node) {
	if obj, ok := u.info.Defs[id].(*types.Var); ok && !obj.IsField() {
		u.owner[obj] = owner
		return
	}
	if obj, ok := u.info.Uses[id].(*types.Var); ok && u.owner[obj] != nil && u.owner[obj] != owner {
		u.captured[obj] = true
	}
}

func (u *usage) point(e ast.Expr) {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		u.pointed[u.info.Uses[id]] = true
	}
}

func isPointer(T types.Type) bool {
	_, ok := under(T).(*types.Pointer)
	return ok
}
