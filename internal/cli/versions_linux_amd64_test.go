package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// versionFolders are the folders of files that earlier versions have written.
func versionFolders(t *testing.T) []string {
	t.Helper()
	exports, err := filepath.Glob(filepath.Join("testdata", "versions", "*", "export.jsonl"))
	if err != nil || len(exports) == 0 {
		t.Fatal("there are no files of earlier versions: ", err)
	}
	var list []string
	for _, file := range exports {
		list = append(list, filepath.Dir(file))
	}
	return list
}

// What each earlier version has written is read: failures, evidence, corpora, tapes, stores and exports.
func TestVersions(t *testing.T) {
	for _, folder := range versionFolders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			failures, err := filepath.Glob(filepath.Join(folder, "state", "failures", "*.json"))
			if err != nil || len(failures) != 1 {
				t.Fatal(failures, err)
			}
			testscript.Run(t, testscript.Params{
				Dir:  filepath.Join("testdata", "versions", "script"),
				Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
				Setup: func(e *testscript.Env) error {
					e.Setenv("CI", "true") // scripts read the whole text
					e.Setenv("ID", strings.TrimSuffix(filepath.Base(failures[0]), ".json"))
					return os.CopyFS(e.WorkDir, os.DirFS(folder))
				},
			})
		})
	}
}

// A configuration of an earlier version means the same world. A later version may add to it, and leaves nothing out.
func TestVersionsOfConfigurations(t *testing.T) {
	for _, folder := range versionFolders(t) {
		list, err := filepath.Glob(filepath.Join(folder, "configs", "*"))
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		for _, config := range list {
			t.Run(filepath.Base(folder)+"/"+filepath.Base(config), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), filepath.Base(config))
				if err := os.CopyFS(dir, os.DirFS(config)); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(filepath.Join(dir, "resolved.json"))
				if err != nil {
					t.Fatal(err)
				}
				want := decoded(t, bytes.ReplaceAll(text, []byte("DIR"), []byte(dir)))
				if err := os.Remove(filepath.Join(dir, "resolved.json")); err != nil {
					t.Fatal(err)
				}
				var out, errs bytes.Buffer
				if code := Main([]string{"config", dir, "--json"}, &out, &errs); code != 0 {
					t.Fatalf("exit code %d: %s", code, errs.String())
				}
				now := decoded(t, out.Bytes())
				if lost := lacks(now["world"], want["world"], "world"); lost != "" {
					t.Error(lost)
				}
			})
		}
	}
}

// lacks names the first part of a JSON value that another value lacks or has differently; the other may have more fields.
func lacks(now, then any, name string) string {
	switch then := then.(type) {
	case object:
		fields, _ := now.(object)
		for _, key := range sortedKeys(then) {
			if lost := lacks(fields[key], then[key], name+"."+key); lost != "" {
				return lost
			}
		}
		return ""
	case []any:
		list, _ := now.([]any)
		if len(list) != len(then) {
			return fmt.Sprintf("%s has %d elements, and had %d", name, len(list), len(then))
		}
		for i := range then {
			if lost := lacks(list[i], then[i], fmt.Sprintf("%s[%d]", name, i)); lost != "" {
				return lost
			}
		}
		return ""
	}
	a, _ := json.Marshal(now)
	b, _ := json.Marshal(then)
	if !bytes.Equal(a, b) {
		return fmt.Sprintf("%s is %s, and was %s", name, a, b)
	}
	return ""
}

func sortedKeys(o object) (list []string) {
	for key := range o {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}
