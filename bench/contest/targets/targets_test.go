package targets

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func loadText(t *testing.T, text string) (*File, error) {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "guides.yaml")
	if err := os.WriteFile(filepath.Join(dir, "map.go"), []byte("package m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := Load(name, "random", func(s string) error {
		if s == "luck" {
			return errors.New("there is no luck")
		}
		return nil
	})
	if g != nil {
		for i := range g.Targets {
			if g.Targets[i].Dir != dir {
				t.Errorf("%s is in %s", g.Targets[i].Name, g.Targets[i].Dir)
			}
			g.Targets[i].Dir = ""
			var mapper []Mapped
			for _, m := range g.Targets[i].Mapper {
				file, _ := filepath.Rel(dir, m.File)
				mapper = append(mapper, Mapped{File: file, Lines: m.Lines})
			}
			g.Targets[i].Mapper = mapper
		}
	}
	return g, err
}

func TestGuidesFile(t *testing.T) {
	g, err := loadText(t, `
trials: 3
strategies: [modelfuzz, random, "coverage-guided:state"]
targets:
  - &world {name: "bug-{}", package: ./hunt, each: [a, b], args: [-bug, "{}"], prepare: [make, "{}", "{dir}"], mapper: [map.go]}
  - {name: right, package: example.org/p, correct: true, cover: [example.org/...], mapper: [{file: map.go, lines: 'a\.b'}]}
  - {<<: *world, name: "starved-{}", of: "bug-{}", variant: "pairs, $5", strategies: [modelfuzz]}
`)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"random", "modelfuzz", "coverage-guided:state"}
	bug := func(name, of, variant, b string, s []string) Target {
		return Target{Name: name, Package: "./hunt", Args: []string{"-bug", b}, Prepare: []string{"make", b, "{dir}"},
			Mapper: []Mapped{{File: "map.go"}}, Of: of, Variant: variant, Strategies: s}
	}
	want := []Target{bug("bug-a", "", "", "a", nil), bug("bug-b", "", "", "b", nil),
		{Name: "right", Package: "example.org/p", Correct: true, Cover: []string{"example.org/..."}, Mapper: []Mapped{{"map.go", regexp.MustCompile(`a\.b`)}}},
		bug("starved-a", "bug-a", "pairs, $5", "a", all[:2]), bug("starved-b", "bug-b", "pairs, $5", "b", all[:2])}
	if g.Trials != 3 || g.Runs != DefaultRuns || g.Seed != 1 || g.TimeoutNs != 0 || !reflect.DeepEqual(g.Strategies, all) ||
		!reflect.DeepEqual(g.Targets, want) {
		t.Errorf("%+v", g)
	}
}

func TestMistakesInGuides(t *testing.T) {
	const rest = "strategies: [modelfuzz]\ntargets: [{name: a, package: ./a}]\n"
	for text, says := range map[string]string{
		"trails: 3\n" + rest: `guides.yaml:1:1: unknown key "trails"`,
		"trials: 0\n" + rest: `"0" is not a whole number from 1 to 10000`,
		"strategies: [random, luck]\ntargets: [{name: a, package: ./a}]": "guides.yaml:1:22: there is no luck\n    strategies: " +
			"[random, luck]\n                         ^",
		"targets: [{name: a, package: ./a}]":               "there are no strategies to compare",
		"strategies: [modelfuzz]\n":                        "there are no targets",
		"strategies: [modelfuzz]\ntargets: []\n":           "there are no targets",
		"strategies: [modelfuzz]\ntargets: [{name: a}]":    "a target has no package",
		"strategies: [modelfuzz]\ntargets: [{package: a}]": "a target has no name",
		"- a\n": "cannot be a list",
		"":      "the file is empty",
		"strategies: [modelfuzz]\ntargets: [{name: a, package: ./a}, {name: a, package: ./b}]": `there are two targets "a"`,
		"strategies: [modelfuzz]\ntargets: [{name: '{}', package: ./a, " +
			"each: []}]": `each is empty, so there is no target`,
		"strategies: [modelfuzz]\ntargets: [{name: a, package: ./a, each: [x, y]}]": `there are two targets "a"`,
		"strategies: [modelfuzz]\ntargets: [{name: a, package: " +
			"./a, of: b}]": "this target has `of`, and no variant",
		"strategies: [modelfuzz]\ntargets: [{name: a, package: ./a, " +
			"variant: b}]": "this target has `variant`, and no of",
		"strategies: [modelfuzz]\ntargets: [{name: a, package: ./a, of: b, variant: c}]":                                         `unknown target "b"`,
		"strategies: [modelfuzz]\ntargets: [{name: a, package: ./a, correct: true}, {name: b, package: ./a, of: a, variant: x}]": "cannot be compared",
		"strategies: [modelfuzz]\ntargets: [{name: a, package: ./a, mapper: [other.go]}]":                                        "other.go",
	} {
		if _, err := loadText(t, text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s\ngives %v\nwant %s", text, err, says)
		}
	}
}
