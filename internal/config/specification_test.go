package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	composespec "github.com/compose-spec/compose-go/v2/schema"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
)

// unopened are keys whose own keys the tables do not name: they are all of one kind, or refused, or all without effect.
func unopened(f *schema.Field) bool {
	return f.Idle != "" || f.Refused != "" || f.Shape.Kind == schema.Anything
}

// Every key of the Compose specification is in the tables: honoured, without effect and with a reason, or refused with a
// remedy. The specification is compose-go's, so a later version of the specification with new keys makes this fail.
func TestSpecification(t *testing.T) {
	var spec map[string]any
	if err := json.Unmarshal([]byte(composespec.Schema), &spec); err != nil {
		t.Fatal(err)
	}
	seen := 0
	var compare func(path string, value any, s *schema.Shape, depth int)
	compare = func(path string, value any, s *schema.Shape, depth int) {
		o, ok := value.(map[string]any)
		if !ok || depth > 20 {
			return
		}
		if ref, ok := o["$ref"].(string); ok {
			parts := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
			compare(path, spec[parts[0]].(map[string]any)[parts[1]], s, depth+1)
		}
		for _, several := range []string{"oneOf", "anyOf", "allOf"} {
			for _, one := range alternatives(o[several]) {
				compare(path, one, s, depth+1)
			}
		}
		if s.Kind == schema.Either {
			for i := range s.Alts {
				if s.Alts[i].Kind == schema.Section && o["properties"] != nil ||
					s.Alts[i].Kind == schema.Sequence && o["items"] != nil || s.Alts[i].Kind == schema.Dictionary && o["patternProperties"] != nil {
					compare(path, o, &s.Alts[i], depth+1)
				}
			}
			return
		}
		if items := o["items"]; items != nil && s.Kind == schema.Sequence {
			compare(path+"[]", items, s.Item, depth+1)
		}
		if patterns, ok := o["patternProperties"].(map[string]any); ok && s.Kind == schema.Dictionary {
			for _, name := range slices.Sorted(maps.Keys(patterns)) {
				if name != "^x-" {
					compare(path+".NAME", patterns[name], s.Item, depth+1)
				}
			}
		}
		properties, ok := o["properties"].(map[string]any)
		if !ok || s.Kind != schema.Section {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			f := s.Field(name)
			if f == nil {
				t.Errorf("%s is not in the tables", schema.Join(path, name))
				continue
			}
			seen++
			if !unopened(f) {
				compare(schema.Join(path, name), properties[name], &f.Shape, depth+1)
			}
		}
	}
	compare("", spec, &keys.Compose, 0)
	if seen < 150 {
		t.Errorf("only %d keys were compared", seen)
	}
}

func alternatives(v any) []any {
	l, _ := v.([]any)
	return l
}
