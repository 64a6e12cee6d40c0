package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/scaffolding"
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// roots are the two kinds of files, with the documents that hold all their keys.
var roots = []struct {
	name      string
	shape     *schema.Shape
	documents []string
}{
	{"bloodhound.yaml", &keys.Bloodhound, []string{"one.yaml", "two.yaml"}},
	{"compose.yaml", &keys.Compose, []string{"compose.yaml", "three.yaml"}},
}

// TestEveryKey takes each key away from a document that has it, or turns it around, and wants another result, an error
// (it is required), or a note that says why it has no effect. Every key of the tables must be there.
func TestEveryKey(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/all")); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"COMPOSE_PROFILES": "extra", "B": "2"}
	load := func(name string) (string, []source.Note, error) {
		r, err := Load(Options{Path: filepath.Join(dir, name), Env: env, Images: anyImage, Dockerfiles: anyBuild})
		if err != nil {
			return "", nil, err
		}
		notes := r.Notes
		r.Notes = nil
		return document(t, r), notes, nil
	}
	reached := map[string]bool{}
	for _, root := range roots {
		for _, name := range root.documents {
			path := filepath.Join(dir, name)
			original, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			main := name
			if name == "compose.yaml" {
				main = "one.yaml" // which names it
			}
			whole, notes, err := load(main)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var doc yaml.Node
			if err := yaml.Unmarshal(original, &doc); err != nil {
				t.Fatal(err)
			}
			visit(doc.Content[0], root.shape, "", "", func(parent *yaml.Node, i int, key, tableKey string, f *schema.Field) {
				reached[nodeKey(tableKey)] = true
				if slices.ContainsFunc(notes, func(n source.Note) bool {
					_, why, ok := strings.Cut(n.Text, "accepted, no effect here: ")
					return n.Key == key && ok && why != ""
				}) {
					return
				}
				if f.Idle != "" {
					t.Errorf("%s: %s is idle without a note", name, key)
				}
				content := slices.Clone(parent.Content)
				if v := content[i+1]; f.Shape.Kind == schema.Boolean && v.Kind == yaml.ScalarNode {
					turned := *v
					turned.Value = map[string]string{"true": "false", "false": "true"}[v.Value]
					parent.Content[i+1] = &turned
				} else {
					parent.Content = slices.Delete(slices.Clone(content), i, i+2)
				}
				changed, err := yaml.Marshal(&doc)
				if err != nil {
					t.Fatal(err)
				}
				parent.Content = content
				if err := os.WriteFile(path, changed, 0o666); err != nil {
					t.Fatal(err)
				}
				if without, _, err := load(main); err == nil && without == whole {
					t.Errorf("%s: %s has no effect and no note", name, key)
				}
			})
			if err := os.WriteFile(path, original, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, root := range roots {
		schema.WalkKeys(root.shape, "", func(path string, f *schema.Field) {
			if f.Refused == "" && !reached[nodeKey(path)] {
				t.Errorf("no document of %s has %s", root.name, path)
			}
		})
	}
}

// visit calls f for each key of a document: with its place in the document and in the tables.
func visit(n *yaml.Node, s *schema.Shape, key, tableKey string, f func(parent *yaml.Node, i int, key, tableKey string, of *schema.Field)) {
	kindOf := map[yaml.Kind]source.Kind{yaml.ScalarNode: source.Scalar, yaml.SequenceNode: source.List, yaml.MappingNode: source.Mapping}
	switch s.Kind {
	case schema.Either:
		for i := range s.Alts {
			if s.Alts[i].Accepts(kindOf[n.Kind]) {
				visit(n, &s.Alts[i], key, tableKey, f)
				return
			}
		}
	case schema.Section:
		for i := 0; i < len(n.Content); i += 2 {
			if fd := s.Field(n.Content[i].Value); fd != nil {
				f(n, i, schema.Join(key, fd.Name), schema.Join(tableKey, fd.Name), fd)
				visit(n.Content[i+1], &fd.Shape, schema.Join(key, fd.Name), schema.Join(tableKey, fd.Name), f)
			}
		}
	case schema.Dictionary:
		for i := 0; i < len(n.Content); i += 2 {
			visit(n.Content[i+1], s.Item, schema.Join(key, n.Content[i].Value), schema.Join(tableKey, "*"), f)
		}
	case schema.Sequence:
		for i, item := range n.Content {
			visit(item, s.Item, fmt.Sprintf("%s[%d]", key, i), tableKey+"[]", f)
		}
	}
}

// Every key has something to say for itself.
func TestTablesAreComplete(t *testing.T) {
	for _, root := range roots {
		schema.WalkKeys(root.shape, "", func(path string, f *schema.Field) {
			if f.Says == "" && f.Idle == "" && f.Refused == "" && f.SpellingOf == "" {
				t.Errorf("%s: %s says nothing", root.name, path)
			}
		})
	}
}

// Configurations name all kinds of faults that package fault can plan.
func TestKindsOfFaults(t *testing.T) {
	var have []string
	for _, k := range fault.Kinds() {
		have = append(have, string(k))
	}
	if !slices.Equal(have, keys.FaultKinds) {
		t.Errorf("package fault supports %v, config says %v", have, keys.FaultKinds)
	}
}

// nodeKey writes a key of a service as that of a node: what both have is tried once.
func nodeKey(path string) string {
	path = strings.Replace(path, "workloads[]", "workload", 1)
	path = strings.Replace(path, ".*", ".NAME", 1)
	return strings.Replace(path, "services.NAME", "nodes.NAME", 1)
}

// docs/schema has what `bloodhound schema` prints. Documents of tests are valid, and mistakes are not.
func TestSchema(t *testing.T) {
	golden(t, "../../docs/schema/"+path.Base(SchemaURL), string(JSONSchema()))

	s := compiled(t)
	for _, name := range []string{"testdata/all/one.yaml", "testdata/all/two.yaml", "testdata/compat/bloodhound.yaml", "scaffolding/example.yaml"} {
		if err := s.Validate(value(t, name)); err != nil {
			t.Errorf("%s is not valid: %v", name, err)
		}
	}
	if !strings.HasPrefix(string(scaffolding.Example().Files[scaffolding.ConfigName]), "# yaml-language-server: $schema="+SchemaURL+"\n") {
		t.Error("the first line of what init writes does not name the schema")
	}
	for _, name := range []string{"unknown", "types"} {
		if s.Validate(value(t, "testdata/errors/"+name+".yaml")) == nil {
			t.Errorf("%s.yaml is valid", name)
		}
	}
}

// The schema knows what belongs into each section: another key there is refused.
func TestSchemaRefusesUnknownKeys(t *testing.T) {
	s := compiled(t)
	tried := 0
	for _, name := range []string{"testdata/all/one.yaml", "testdata/all/two.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var doc yaml.Node
		if err := yaml.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		sections := map[*yaml.Node]string{}
		visit(doc.Content[0], &keys.Bloodhound, "", "", func(parent *yaml.Node, _ int, key, _ string, _ *schema.Field) { sections[parent] = key })
		for section, key := range sections {
			before := section.Content
			section.Content = append(slices.Clone(before), &yaml.Node{Kind: yaml.ScalarNode, Value: "no_such_key"},
				&yaml.Node{Kind: yaml.ScalarNode, Value: "1"})
			changed, err := yaml.Marshal(&doc)
			section.Content = before
			if err != nil {
				t.Fatal(err)
			}
			tried++
			if s.Validate(decoded(t, changed)) == nil {
				t.Errorf("%s: no_such_key is valid beside %s", name, key)
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d sections were tried", tried)
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(SchemaURL, text); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaURL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// value reads a file as an editor does that completes it.
func value(t *testing.T, name string) any {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, text)
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	j, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// Each kind of fault has the keys under `faults` that its row in the table of package fault names.
func TestKeysOfFaults(t *testing.T) {
	faults := map[string]bool{}
	for _, root := range roots {
		schema.WalkKeys(root.shape, "", func(path string, _ *schema.Field) { faults[path] = true })
	}
	for i := range fault.Table {
		row := &fault.Table[i]
		keys := []string{row.Keys.Rate, row.Keys.Duration}
		if row.Amount != nil {
			keys = append(keys, row.Amount.Key)
		}
		for _, key := range keys {
			if path := "faults." + row.Keys.Group + "." + key; key != "" && !faults[path] {
				t.Errorf("%s: there is no key %s", row.Kind, path)
			}
		}
	}
}
