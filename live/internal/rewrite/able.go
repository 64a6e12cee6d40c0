package rewrite

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// What reasons for having no second body begin with, if the function cannot count its calls either, or need not.
const (
	early     = "runs before any path: "
	directive = "a directive of the compiler: "
)

// unable says why a function cannot have a second body, or "".
func unable(info *types.Info, d *ast.FuncDecl) string {
	switch {
	case d.Body == nil:
		return "no body in Go"
	case d.Recv == nil && (d.Name.Name == "init" || d.Name.Name == "main" || d.Name.Name == "_"):
		return early + d.Name.Name
	case strings.HasPrefix(d.Name.Name, prefix):
		return "its name begins with " + prefix
	}
	if d.Doc != nil {
		for _, c := range d.Doc.List {
			if strings.HasPrefix(c.Text, "//go:nosplit") || strings.HasPrefix(c.Text, "//go:linkname") ||
				strings.HasPrefix(c.Text, "//go:nowritebarrier") || strings.HasPrefix(c.Text, "//go:systemstack") {
				return directive + strings.Fields(c.Text)[0]
			}
		}
	}
	return cmp.Or(recovers(info, d.Body), jumps(d.Body))
}

// recovers says why a body cannot be moved into a function that its caller calls: recover works only in the function
// that was deferred (Go specification, Handling panics).
func recovers(info *types.Info, body *ast.BlockStmt) (reason string) {
	within(body, func(n ast.Node) {
		if c, ok := n.(*ast.CallExpr); ok {
			if id, ok := c.Fun.(*ast.Ident); ok && id.Name == "recover" && info.Types[c.Fun].IsBuiltin() {
				reason = "it calls recover"
			}
		}
	})
	return reason
}

// jumps says why a body cannot be written twice.
func jumps(body *ast.BlockStmt) (reason string) {
	within(body, func(n ast.Node) {
		if b, ok := n.(*ast.BranchStmt); ok && b.Tok == token.GOTO {
			reason = "goto"
		}
	})
	return reason
}

// within calls f for all nodes of a body, but for those of literals in it.
func within(body *ast.BlockStmt, f func(ast.Node)) {
	ast.Inspect(body, func(n ast.Node) bool {
		f(n)
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
}
