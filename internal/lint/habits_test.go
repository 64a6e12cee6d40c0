package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/lint/prose"
)

// habitBudget counts the hits of package prose that are left, by folder: pages by their folder, and the strings of packages
// whose text people read. A folder that is not here has none. A number may only shrink: rewrite, then lower it.
var habitBudget = map[string]int{}

// habitFree are the pages and packages that a newcomer meets first. They have no budget.
var habitFree = []string{"README.md", "docs/tutorial.md", "internal/cli", "internal/config/scaffolding"}

// Pages and messages are free of the habits of translated English, but for a budget.
func TestProseHasNoHabits(t *testing.T) {
	found := map[string][]string{}
	for name, text := range pages(t) {
		if name == "CHANGELOG.md" || strings.HasPrefix(name, "bench/") {
			continue
		}
		folder := path.Dir(name)
		if folder == "." || slices.Contains(habitFree, name) {
			folder = name
		}
		for _, hit := range prose.FindInPage(text) {
			found[folder] = append(found[folder], describeHit(name, hit.Line, hit))
		}
	}
	for _, s := range sourcesIn(t, "", "") {
		folder := spokenFolder(s)
		if folder == "" {
			continue
		}
		for _, literal := range stringsOf(s.file) {
			text, err := strconv.Unquote(literal.Value)
			if err != nil || !strings.Contains(text, " ") {
				continue
			}
			for _, hit := range prose.Find(text) {
				line := s.fset.Position(literal.Pos()).Line + hit.Line - 1
				found[folder] = append(found[folder], describeHit(s.path, line, hit))
			}
		}
	}
	for _, folder := range habitFree {
		if habitBudget[folder] != 0 {
			t.Errorf("%s is read first and has no budget", folder)
		}
	}
	keepBudget(t, "habits of translated English", "rewrite the sentence", found, habitBudget)
}

func describeHit(file string, line int, hit prose.Hit) string {
	return fmt.Sprintf("%s:%d: %q (%s): %s", file, line, hit.Text, hit.Habit.Name, hit.Habit.Cure)
}

// spokenFolder returns the entry of the budget for the strings of a source, or "" if people do not read them.
func spokenFolder(s *source) string {
	if s.test {
		return ""
	}
	for _, folder := range slices.Concat(speaking, []string{"internal/config", "internal/engine", "internal/check", "internal/workload",
		"internal/store", "internal/image", "check", "history", "sim"}) {
		switch {
		case s.pkg != folder && !strings.HasPrefix(s.pkg, folder+"/"):
		case strings.HasPrefix(s.pkg, "internal/config/scaffolding"):
			return "internal/config/scaffolding"
		default:
			return folder
		}
	}
	return ""
}

// stringsOf returns the string literals of a file, but for paths of imports and tags.
func stringsOf(f *ast.File) []*ast.BasicLit {
	var list []*ast.BasicLit
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				list = append(list, n)
			}
		}
		return true
	})
	return list
}
