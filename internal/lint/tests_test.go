package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// testFiles calls look for each test file of the repository.
func testFiles(t *testing.T, look func(path string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go") || strings.Contains(filepath.ToSlash(name), "/internal/lint/"):
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err == nil {
			look(filepath.ToSlash(name), fset, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// called is the name of the function or method that a call names, with the part before its dot.
func called(n ast.Node) (of, name string, call *ast.CallExpr) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return "", "", nil
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", "", nil
	}
	if id, ok := s.X.(*ast.Ident); ok {
		of = id.Name
	}
	return of, s.Sel.Name, call
}

// A test that lacks a program fails in CI, so it asks for it by internal/testkit/needs and does not skip by itself.
func TestMissingProgramsFailInCI(t *testing.T) {
	testFiles(t, func(path string, fset *token.FileSet, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			of, name, call := called(n)
			switch {
			case of == "exec" && name == "LookPath":
				t.Errorf("%s: ask for a program by needs.Program or needs.Has of internal/testkit/needs", fset.Position(n.Pos()))
			case name == "Skip" || name == "Skipf":
				for _, arg := range call.Args {
					if id, ok := arg.(*ast.Ident); ok && id.Name == "err" {
						t.Errorf("%s: what fails is missing: call needs.Missing of internal/testkit/needs, which fails in CI", fset.Position(n.Pos()))
					}
				}
			}
			return true
		})
	})
}

// A test waits for an event. A sleep has a comment, on its line or on the line above, that says why there is none.
func TestSleepsHaveReasons(t *testing.T) {
	testFiles(t, func(path string, fset *token.FileSet, f *ast.File) {
		commented := map[int]bool{}
		for _, g := range f.Comments {
			for _, c := range g.List {
				commented[fset.Position(c.Pos()).Line] = true
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if of, name, _ := called(n); of == "time" && name == "Sleep" {
				if line := fset.Position(n.Pos()).Line; !commented[line] && !commented[line-1] {
					t.Errorf("%s: wait for an event, or say in a comment why there is none", fset.Position(n.Pos()))
				}
			}
			return true
		})
	})
}
