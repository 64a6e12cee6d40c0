package workload

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What is wrong with a template is known before any world runs.
func TestTemplatesAreCheckedOnTheMachine(t *testing.T) {
	const target = templatesDir + "/bank"
	for name, c := range map[string]struct {
		files  []string // executables; one that ends with - is none
		want   string
		strays []string
	}{
		"sound":          {files: []string{"parallel_driver_add", "first_make", "helper_lib", "notes.txt-"}},
		"two":            {files: []string{"a/serial_driver_x", "b/anytime_x"}},
		"empty":          {want: "holds no test template"},
		"not executable": {files: []string{"parallel_driver_add-"}, want: "parallel_driver_add is not executable; chmod +x it"},
		"one of two":     {files: []string{"a/serial_driver_x", "b/first_x"}, want: "b has no command of"},
		"no driver":      {files: []string{"first_make", "finally_look"}, want: "has no command of parallel_driver_"},
		"stray":          {files: []string{"parallel_driver_add", "paralel_driver_sub"}, strays: []string{"paralel_driver_sub"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, file := range c.files {
				path, plain := strings.CutSuffix(filepath.Join(dir, file), "-")
				mode := os.FileMode(0o755)
				if plain {
					mode = 0o644
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, mode); err != nil {
					t.Fatal(err)
				}
			}
			spec := &world.Spec{Nodes: []world.Node{{Name: "c", Root: "host", Volumes: []world.Volume{
				{Kind: world.Tmpfs, Target: "/opt"}, {Kind: world.Bind, Source: dir, Target: target}}}}}
			strays, err := CheckTemplate(spec, &world.Workload{Driver: "composer", Node: "c", Options: map[string]string{"template": target}})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			for i := range strays {
				strays[i] = filepath.Base(strays[i])
			}
			if !slices.Equal(strays, c.strays) {
				t.Errorf("strays %v, want %v", strays, c.strays)
			}
		})
	}
	lost := &world.Workload{Driver: "composer", Node: "c", Options: map[string]string{"template": "/no/such/folder"}}
	spec := &world.Spec{Nodes: []world.Node{{Name: "c"}}}
	if _, err := CheckTemplate(spec, lost); err == nil {
		t.Error("a missing folder is not reported")
	}
	spec.Nodes[0].Command = []string{"make-it"}
	if _, err := CheckTemplate(spec, lost); err != nil {
		t.Errorf("a folder that the node may make is refused: %v", err)
	}
}
