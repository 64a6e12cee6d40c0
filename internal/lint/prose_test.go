package lint

import (
	"regexp"
	"testing"
)

// translated matches comments that put a relative clause or "that of" where English has a noun. Begin with what the
// thing identifies, holds, returns or does: "Env identifies the machine of a run", not "Env is what runs ran on".
var translated = regexp.MustCompile(`^// (\w+(, \w+)* (is|are) what |\w+ (is|are) that of )`)

// translatedBudget counts the lines that translated still matches, by top folder. A number may only shrink: rewrite a
// comment, then lower its folder's number.
var translatedBudget = map[string]int{
	"bench": 32, "deploy": 2, "examples": 44, "history": 1, "release": 2,
}

// Doc comments begin with what a thing does, and each one that is rewritten stays so.
func TestCommentsDoNotReadLikeTranslations(t *testing.T) {
	found := map[string][]string{}
	for _, s := range sourcesIn(t, "", "") {
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				if translated.MatchString(c.Text) {
					found[s.folder()] = append(found[s.folder()], s.fset.Position(c.Pos()).String()+": "+c.Text)
				}
			}
		}
	}
	keepBudget(t, "comments that read like a translation", "begin them with what the thing does", found, translatedBudget)
}

func TestTranslated(t *testing.T) {
	for text, want := range map[string]bool{
		"// Env is what runs ran on.":                         true,
		"// Before, After are what it takes.":                 true,
		"// version is that of the tables.":                   true,
		"// Env identifies the machine of a run.":             false,
		"// version is the version of the tables.":            false,
		"// Check reports that something is what it expects.": false,
	} {
		if translated.MatchString(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}
