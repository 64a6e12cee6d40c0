package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
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

const (
	keysBegin = "<!-- keys: written by `go test ./internal/config -update` -->\n"
	keysEnd   = "<!-- keys: end -->\n"
)

// docs/reference/config.md lists every key of bloodhound.yaml, docs/reference/compose.md those of Compose files, and so on.
func TestDocs(t *testing.T) {
	for _, page := range []struct {
		name string
		root *schema.Shape
		want string
	}{{"../../docs/reference/config.md", &keys.Bloodhound, keyTables()}, {"../../docs/reference/compose.md", &keys.Compose, composeTables()}, {"../../docs/reference/live.md", &keys.Live, aloneTable(&keys.Live)},
		{"../../docs/reference/federation.md", &keys.Federation, aloneTable(&keys.Federation)}} {
		text, err := os.ReadFile(page.name)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, ok1 := strings.Cut(string(text), keysBegin)
		old, after, ok2 := strings.Cut(rest, keysEnd)
		if !ok1 || !ok2 {
			t.Fatalf("%s has no place for the keys", page.name)
		}
		if *update {
			if err := os.WriteFile(page.name, []byte(before+keysBegin+page.want+keysEnd+after), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if old != page.want {
			t.Errorf("the keys in %s are not those of the tables; rewrite them with -update", page.name)
		}
		schema.WalkKeys(page.root, "", func(path string, f *schema.Field) {
			if shown := shownKey(path); !strings.Contains(string(text), "`"+shown+"`") {
				t.Errorf("%s does not mention %s", page.name, shown)
			}
		})
	}
}

// composeTables lists the keys of Compose files: one table for each key at the top.
func composeTables() string {
	var b strings.Builder
	for i := range keys.Compose.Fields {
		top := &keys.Compose.Fields[i]
		fmt.Fprintf(&b, "\n### %s\n\n| key | here | meaning |\n|---|---|---|\n", top.Name)
		row := func(path string, f *schema.Field) {
			here, meaning := "yes", f.Says
			switch {
			case f.Refused != "":
				here, meaning = "refused", f.Refused
			case f.Idle != "":
				here, meaning = "no effect", strings.TrimSpace(f.Says+" "+f.Idle)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", shownKey(path), here, strings.ReplaceAll(meaning, "|", "\\|"))
		}
		row(top.Name, top)
		schema.WalkKeys(&top.Shape, top.Name, row)
	}
	b.WriteString("\n")
	return b.String()
}

// aloneTable lists the keys of a configuration that stands alone.
func aloneTable(root *schema.Shape) string {
	var b strings.Builder
	b.WriteString("\n| key | value | default | meaning |\n|---|---|---|---|\n")
	schema.WalkKeys(root, "", func(path string, f *schema.Field) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", shownKey(path), f.Shape.String(), f.Default, f.Says)
	})
	b.WriteString("\n")
	return b.String()
}

// nodeKey writes a key of a service as that of a node: what both have is tried once.
func nodeKey(path string) string {
	return strings.Replace(shownKey(path), "services.NAME", "nodes.NAME", 1)
}

// shownKey writes a key as the pages do: links and network share theirs.
func shownKey(path string) string {
	path = strings.Replace(path, "workloads[]", "workload", 1)
	return strings.Replace(path, ".*", ".NAME", 1)
}

func keyTables() string {
	var b strings.Builder
	refused := map[string][]string{}
	var order []string
	table := func(title, prefix string, rows func(add func(path string, f *schema.Field))) {
		head := fmt.Sprintf("\n### %s\n\n| key | value | default | meaning |\n|---|---|---|---|\n", title)
		rows(func(path string, f *schema.Field) {
			if f.Refused != "" {
				if refused[f.Refused] == nil {
					order = append(order, f.Refused)
				}
				refused[f.Refused] = append(refused[f.Refused], "`"+shownKey(path)+"`")
				return
			}
			b.WriteString(head)
			head = ""
			meaning := f.Says
			if f.SpellingOf != "" {
				meaning = "Another spelling of `" + f.SpellingOf + "`."
			}
			if f.Idle != "" {
				meaning = strings.TrimSpace(meaning + " Accepted, no effect here: " + f.Idle + ".")
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", shownKey(path), f.Shape.String(), f.Default, strings.ReplaceAll(meaning, "|", "\\|"))
		})
	}
	table("The file", "", func(add func(string, *schema.Field)) {
		for i := range keys.Bloodhound.Fields {
			f := &keys.Bloodhound.Fields[i]
			add(f.Name, f)
		}
	})
	for i := range keys.Bloodhound.Fields {
		f := &keys.Bloodhound.Fields[i]
		if f.Name == "workloads" {
			continue // as workload
		}
		table(f.Name, f.Name, func(add func(string, *schema.Field)) { schema.WalkKeys(&f.Shape, f.Name, add) })
	}
	b.WriteString("\n### Keys of Compose that are refused\n\n| key | what to do |\n|---|---|\n")
	for _, remedy := range order {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(refused[remedy], ", "), remedy)
	}
	b.WriteString("\n")
	return b.String()
}

// docs/schema/config.json says the same as the tables.
func TestSchema(t *testing.T) {
	b, err := json.MarshalIndent(jsonSchema(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../docs/schema/config.json", string(b)+"\n")

	text, err := os.ReadFile("../../docs/schema/config.json")
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	documents := []string{"testdata/all/one.yaml", "testdata/all/two.yaml", "testdata/compat/bloodhound.yaml", "scaffold.yaml"}
	for _, name := range documents {
		if problem := validate(s, s, value(t, name)); problem != "" {
			t.Errorf("%s is not valid: %s", name, problem)
		}
	}
	for _, name := range []string{"unknown", "types"} {
		if validate(s, s, value(t, "testdata/errors/"+name+".yaml")) == "" {
			t.Errorf("%s.yaml is valid", name)
		}
	}
}

func value(t *testing.T, name string) any {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	delete(v, "simulation") // its date is no JSON; the keys are compared by the golden file
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var j any
	if err := json.Unmarshal(b, &j); err != nil {
		t.Fatal(err)
	}
	return j
}

type object = map[string]any

func jsonSchema() object {
	s := schemaOf(&keys.Bloodhound)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "bloodhound.yaml"
	s["$defs"] = object{
		"variable": object{"type": "string", "pattern": `\$`, "description": "a value with a variable in it"},
		"node":     schemaOf(&keys.Service),
	}
	return s
}

func orVariable(s object) object {
	return object{"anyOf": []any{s, object{"$ref": "#/$defs/variable"}}}
}

func schemaOf(s *schema.Shape) object {
	if s.Empty {
		full := *s
		full.Empty = false
		return object{"anyOf": []any{schemaOf(&full), object{"type": "null"}}}
	}
	bounded := func(kind string) object {
		o := object{"type": kind, "minimum": s.Min}
		if s.Max != 0 {
			o["maximum"] = s.Max
		}
		return orVariable(o)
	}
	scalars := []any{"string", "number", "boolean"}
	switch s.Kind {
	case schema.Text, schema.Pattern, schema.Date, schema.Size:
		return object{"type": scalars}
	case schema.Word:
		return orVariable(object{"enum": slices.Concat(s.Words, slices.Sorted(maps.Keys(s.Spellings)))})
	case schema.Boolean:
		return orVariable(object{"type": "boolean"})
	case schema.Whole, schema.Unsigned:
		return bounded("integer")
	case schema.Number, schema.Millis:
		return bounded("number")
	case schema.Seconds:
		return orVariable(object{"type": "number", "minimum": 0})
	case schema.Rate:
		return orVariable(object{"type": "number", "minimum": 0, "maximum": 1})
	case schema.Duration:
		return orVariable(object{"type": "string", "pattern": durationPattern})
	case schema.Signed:
		return orVariable(object{"type": "string", "pattern": "^[-+]?" + durationPattern[1:]})
	case schema.Span:
		one := orVariable(object{"type": "number", "minimum": 0})
		return object{"anyOf": []any{one, object{"type": "array", "items": one, "minItems": 1, "maxItems": 2}}}
	case schema.Variables:
		return object{"anyOf": []any{
			object{"type": "object", "additionalProperties": object{"type": append(scalars, "null")}},
			object{"type": "array", "items": object{"type": "string"}}}}
	case schema.Section:
		if s == &keys.Service {
			break
		}
	case schema.Dictionary:
		item := schemaOf(s.Item)
		if len(s.Item.Fields) > 0 && &s.Item.Fields[0] == &keys.Service.Fields[0] {
			item = object{"$ref": "#/$defs/node"}
		}
		o := object{"type": "object", "additionalProperties": item}
		if s.Names != nil {
			o["propertyNames"] = object{"pattern": s.Names.String()}
		}
		return o
	case schema.Sequence:
		return object{"type": "array", "items": schemaOf(s.Item)}
	case schema.Either:
		var alts []any
		for i := range s.Alts {
			alts = append(alts, schemaOf(&s.Alts[i]))
		}
		return object{"anyOf": alts}
	case schema.Anything:
		return object{}
	}
	properties := object{}
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Refused != "" {
			continue
		}
		p := schemaOf(&f.Shape)
		p["description"] = strings.TrimSpace(f.Says + f.Idle)
		if f.SpellingOf != "" {
			p["description"] = "another spelling of " + f.SpellingOf
		}
		properties[f.Name] = p
	}
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	if s.Open {
		o["patternProperties"] = object{"^x-": object{}}
	}
	return o
}

const durationPattern = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))*$`

// validate is the part of JSON Schema that docs/schema/config.json uses. It returns the first problem.
func validate(root, s object, v any) string {
	if ref, ok := s["$ref"].(string); ok {
		return validate(root, root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object), v)
	}
	if alts, ok := s["anyOf"].([]any); ok {
		var problems []string
		for _, a := range alts {
			p := validate(root, a.(object), v)
			if p == "" {
				return ""
			}
			problems = append(problems, p)
		}
		return strings.Join(problems, ", and ")
	}
	if words, ok := s["enum"].([]any); ok && !slices.Contains(words, v) {
		return fmt.Sprintf("%v is not one of %v", v, words)
	}
	if problem := validateType(s, v); problem != "" {
		return problem
	}
	switch v := v.(type) {
	case string:
		if p, ok := s["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(v) {
			return fmt.Sprintf("%q does not match %s", v, p)
		}
	case float64:
		if least, ok := s["minimum"].(float64); ok && v < least {
			return fmt.Sprintf("%v is below %v", v, least)
		}
		if most, ok := s["maximum"].(float64); ok && v > most {
			return fmt.Sprintf("%v is above %v", v, most)
		}
	case []any:
		items, _ := s["items"].(object)
		for _, item := range v {
			if p := validate(root, items, item); p != "" {
				return p
			}
		}
	case object:
		return validateObject(root, s, v)
	}
	return ""
}

func validateType(s object, v any) string {
	var types []any
	switch t := s["type"].(type) {
	case nil:
		return ""
	case string:
		types = []any{t}
	case []any:
		types = t
	}
	is := map[bool]string{true: "integer", false: "number"}
	var have []any
	switch v := v.(type) {
	case nil:
		have = []any{"null"}
	case bool:
		have = []any{"boolean"}
	case string:
		have = []any{"string"}
	case float64:
		have = []any{"number", is[v == float64(int64(v))]}
	case []any:
		have = []any{"array"}
	case object:
		have = []any{"object"}
	}
	for _, h := range have {
		if slices.Contains(types, h) {
			return ""
		}
	}
	return fmt.Sprintf("%v is not of type %v", v, types)
}

func validateObject(root, s, v object) string {
	properties, _ := s["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if p, ok := properties[name].(object); ok {
			if problem := validate(root, p, v[name]); problem != "" {
				return name + ": " + problem
			}
			continue
		}
		if s["patternProperties"] != nil && strings.HasPrefix(name, "x-") {
			continue
		}
		switch rest := s["additionalProperties"].(type) {
		case bool:
			if !rest {
				return "unknown key " + name
			}
		case object:
			if problem := validate(root, rest, v[name]); problem != "" {
				return name + ": " + problem
			}
		}
	}
	return ""
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
