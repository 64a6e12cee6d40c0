package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// speaking are the packages whose texts people read.
var speaking = []string{"internal/cli", "internal/report", "sdk", "internal/explore", "internal/sweep", "internal/fleet",
	"internal/dashboard", "internal/model", "internal/tla", "tla", "live"}

// unspoken are packages in these whose messages are about bugs of their own, or about formats of machines.
var unspoken = []string{"live/internal/bv", "live/internal/daemon"}

var (
	formatVerb  = regexp.MustCompile(`%(?:%|[-+# 0]*(?:\*|[0-9]+)?(?:\.(?:\*|[0-9]+))?[a-zA-Z])`)
	countedNoun = regexp.MustCompile(`^%d ((?:distinct |further |other |equal |different |new |more )?[a-z]+s)\b`)
)

// noNouns end with an s and count nothing.
var noNouns = []string{"is", "was", "has", "ms", "ns", "us", "begins", "ends", "differs", "originates", "shares", "this", "its", "as", "does"}

// severalOf are formats whose number is never one.
var severalOf = map[string]string{
	"process %d runs as user %s, but bloodhound runs as user %d: run bloodhound as that user, or as root":                    "runs is a verb",
	"process %d runs a program for %v (%v): start one built for 64-bit x86-64":                                               "runs is a verb",
	"process %d shares more than %d MiB of memory with others, which would be copied while it is paused: start it with less": "shares is a verb",
}

// Texts that people read count in the right number: 1 run, and not 1 runs. plural.Count does that.
func TestCountsHaveTheRightNumber(t *testing.T) {
	for _, dir := range speaking {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(name string, e fs.DirEntry, err error) error {
			rel := strings.TrimPrefix(filepath.ToSlash(name), "../../")
			switch {
			case err != nil:
				return err
			case e.IsDir() && (e.Name() == "testdata" || slices.Contains(unspoken, rel)):
				return filepath.SkipDir
			case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			for _, problem := range wrongNumbers(t, name) {
				t.Errorf("%s: %s; write %%s with plural.Count", rel, problem)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// wrongNumbers finds formats of a file in which a number that may be one stands before a plural. A constant is not one.
func wrongNumbers(t *testing.T, name string) (problems []string) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	arguments := map[token.Pos][]ast.Expr{} // behind a format, by its place
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			for i, a := range call.Args {
				if lit, ok := a.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					arguments[lit.Pos()] = call.Args[i+1:]
				}
			}
		}
		return true
	})
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if _, known := severalOf[text]; err != nil || known {
			return true
		}
		at := 0
		for _, m := range formatVerb.FindAllStringIndex(text, -1) {
			verb := text[m[0]:m[1]]
			if verb == "%%" {
				continue
			}
			at += strings.Count(verb, "*")
			noun := countedNoun.FindStringSubmatch(text[m[0]:])
			values := arguments[lit.Pos()]
			if noun != nil && !slices.Contains(noNouns, noun[1]) && (at >= len(values) || !constant(values[at])) {
				problems = append(problems, strconv.Quote("%d "+noun[1])+" in "+strconv.Quote(text))
			}
			at++
		}
		return true
	})
	return problems
}

// constant reports whether an expression is of constants alone, as far as its names say: those of limits begin with max, most or least.
func constant(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return limitName.MatchString(x.Name)
	case *ast.SelectorExpr:
		return limitName.MatchString(x.Sel.Name)
	case *ast.BinaryExpr:
		return constant(x.X)
	case *ast.CallExpr: // a conversion
		return len(x.Args) == 1 && constant(x.Args[0])
	}
	return false
}

var limitName = regexp.MustCompile(`^(?:max|Max|most|Most|min|Min|least)[A-Z]|Max$|Bytes$|Most$`)
