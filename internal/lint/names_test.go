package lint

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// vague are names that say nothing about a function without its definition.
var vague = []string{"take", "begin", "at", "of", "met", "rest", "give", "from", "by"}

// vagueBudget counts the functions that still have such a name, by top folder. A number may only shrink: give a function
// the name of what it does and to what (takeLease, readByte), or of the thing that it returns (offset), then lower its
// folder's number. Names that an interface of another module or of a public package asks for remain.
var vagueBudget = map[string]int{"examples": 8, "internal": 9, "live": 1, "sdk": 1}

// A call says what it does: a function is named by a verb and its object, or by a noun of the field.
func TestFunctionsHaveNames(t *testing.T) {
	found := map[string][]string{}
	for _, s := range sourcesIn(t, "", "") {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && isVague(f.Name.Name, s.path) {
				found[s.folder()] = append(found[s.folder()], s.placeOf(f)+": "+f.Name.Name)
			}
		}
	}
	keepBudget(t, "functions with a vague name", "name what they do and to what, such as takeLease or readByte", found, vagueBudget)
}

// isVague reports whether a name of a function in a file is vague. Exported names of public packages stay.
func isVague(name, path string) bool {
	private := !ast.IsExported(name) || strings.HasPrefix(path, "internal/") || strings.Contains(path, "/internal/")
	return private && slices.Contains(vague, strings.ToLower(name[:1])+name[1:])
}

func TestVague(t *testing.T) {
	for _, c := range []struct {
		name, path string
		want       bool
	}{
		{"take", "sim/stage.go", true}, {"Take", "internal/cpus/cpus.go", true}, {"Give", "live/internal/shadow/calls.go", true},
		{"Begin", "sim/fake/database.go", false}, {"takeLease", "sim/stage.go", false}, {"has", "tla/value/value.go", false},
	} {
		if isVague(c.name, c.path) != c.want {
			t.Errorf("%s in %s: want %v", c.name, c.path, c.want)
		}
	}
}
