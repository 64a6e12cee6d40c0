package tla

import (
	"os"
	"path/filepath"
	"testing"
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
	for _, file := range files {
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
			t.Chdir(t.TempDir()) // they write files
			if err := os.Symlink(filepath.Dir(file), "tests"); err != nil {
				t.Fatal(err)
			}
			ev, hold := spec.Evaluator(), 0
			for i := range spec.Assumptions {
				a := &spec.Assumptions[i]
				switch ok, err := ev.Holds(a, nil, nil); {
				case err != nil:
					t.Error(err)
				case !ok:
					t.Error("false: ", a.Name)
				default:
					hold++
				}
			}
			t.Logf("%d of %d assumptions hold", hold, len(spec.Assumptions))
		})
	}
}
