package tla

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
)

// TestCommunityModules evaluates the tests of a checkout of tlaplus/CommunityModules, which BLOODHOUND_COMMUNITY_MODULES names, with the modules of
// this package.
func TestCommunityModules(t *testing.T) {
	root := os.Getenv("BLOODHOUND_COMMUNITY_MODULES")
	if root == "" {
		t.Skip("BLOODHOUND_COMMUNITY_MODULES names no checkout of tlaplus/CommunityModules")
	}
	files, err := filepath.Glob(filepath.Join(root, "tests", "*Tests.tla"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no tests in ", root)
	}
	// What the tests find in their environment.
	for _, v := range []string{"SOME_TEST_ENV_VAR", "SOME-TEST-ENV-VAR"} {
		t.Setenv(v, "TLCFTW")
	}
	t.Setenv("SOME_TEST_ENV_VAR_N23", "23")
	// differ is how many assumptions are false here, for a reason that docs/reference/model.md gives: names of nodes, and the order of attributes.
	differ := map[string]int{"GraphVizTests.tla": 1, "SVGTests.tla": 2}
	for _, file := range files {
		if filepath.Base(file) == "AllTests.tla" { // extends the others
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			config, err := ParseConfig("", "")
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(file) == "JsonTests.tla" {
				config, _ = ParseConfig("", "CONSTANT ModelValueConstant = ModelValue")
			}
			spec, err := Load(file, config)
			if err != nil {
				t.Fatal(err)
			}
			work := t.TempDir() // files are named from the checkout's folder, and some are written
			if err := os.CopyFS(filepath.Join(work, "tests"), os.DirFS(filepath.Join(root, "tests"))); err != nil {
				t.Fatal(err)
			}
			t.Chdir(work)
			ev, hold, refused, differing := eval.NewEvaluator(spec), 0, 0, 0
			for i := range eval.PartsOf(spec).Assumptions {
				a := &eval.PartsOf(spec).Assumptions[i]
				switch ok, err := ev.Holds(a, nil, nil); {
				case err != nil && (strings.Contains(err.Error(), library.NoPrograms) || strings.Contains(err.Error(), library.NoBinary)):
					refused++
				case err != nil:
					t.Error(err)
				case !ok:
					t.Log("false: ", a.Name)
					differing++
				default:
					hold++
				}
			}
			if want := differ[filepath.Base(file)]; differing != want {
				t.Errorf("%d assumptions are false, and not %d", differing, want)
			}
			t.Logf("%d of %d assumptions hold, %d are refused", hold, len(eval.PartsOf(spec).Assumptions), refused)
		})
	}
}
