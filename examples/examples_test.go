// Package examples tests the worlds to learn from.
package examples

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/workload"
)

// configurations are all bloodhound files below this folder, mutants too.
func configurations(t *testing.T) []string {
	var paths []string
	for _, pattern := range []string{"*/*.yaml", "*/mutants/*.yaml", "stacks/*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		// What a Compose file has is read with the configuration that names it; guides.yaml, bandit.yaml, guards.yaml, reached.yaml and million.yaml are what a bench compares; live.yaml is another kind of file.
		paths = append(paths, slices.DeleteFunc(found, func(path string) bool {
			return slices.Contains([]string{"compose.yaml", "guides.yaml", "bandit.yaml", "guards.yaml", "reached.yaml", "million.yaml", "live.yaml"}, filepath.Base(path))
		})...)
	}
	if len(paths) < 3 {
		t.Fatalf("found only %v", paths)
	}
	return paths
}

// expected is the first line of a mutant: the verdict that it must have.
var expected = regexp.MustCompile(`^# Expected: (violated|unknown)\b.*\.\n`)

// Editors complete and check the configurations by the schema: it accepts all that Bloodhound does.
func TestSchemaAcceptsConfigurations(t *testing.T) {
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(config.SchemaURL, text); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(config.SchemaURL)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range configurations(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := yaml.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestConfigurationsLoad(t *testing.T) {
	for _, path := range configurations(t) {
		t.Run(path, func(t *testing.T) {
			r, err := config.Load(config.Options{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range r.Notes {
				built := strings.Contains(n.Text, "is not there yet; a build step must make it")
				forDocker := filepath.Base(n.File) == "compose.yaml" && strings.Contains(n.Text, "accepted, no effect here")
				if !built && !forDocker {
					t.Errorf("note: %s", n)
				}
			}
			for i := range r.Spec.Workloads {
				if err := workload.Validate(&r.Spec.Workloads[i]); err != nil {
					t.Error(err)
				}
			}
			if plan, err := fault.New(r.Spec); err != nil || len(plan.Rules) == 0 || len(plan.Unsupported) > 0 {
				t.Errorf("faults: %v, %+v", err, plan)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(path, "/mutants/") && !expected.Match(text) {
				t.Errorf("the first line of a mutant must be %s", expected)
			}
		})
	}
}
