package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
)

type object = map[string]any

// SchemaURL is the place of the JSON Schema of bloodhound.yaml, and its version: the number changes when a file that the schema accepted is refused, or means
// something else. The first line of a file names it to editors.
const SchemaURL = "https://raw.githubusercontent.com/bloodhound-dst/bloodhound/main/docs/schema/config-v1.json"

// JSONSchema is the JSON Schema of bloodhound.yaml (json-schema.org, draft 2020-12).
func JSONSchema() []byte {
	s := schemaOf(&keys.Bloodhound)
	s["$id"] = SchemaURL
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "bloodhound.yaml"
	s["$defs"] = object{
		"variable": object{"type": "string", "pattern": `\$|\{\{`, "description": "a value that contains a variable, or a template of a node with `count`"},
		"node":     schemaOf(&keys.Service),
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // it holds texts, numbers, and lists and mappings of them
	}
	return append(b, '\n')
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
