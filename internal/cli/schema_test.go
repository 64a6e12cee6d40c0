package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cli/campaign"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/failures"
	"github.com/bloodhound-dst/bloodhound/internal/cli/fleet"
	"github.com/bloodhound-dst/bloodhound/internal/cli/history"
	"github.com/bloodhound-dst/bloodhound/internal/cli/image"
	"github.com/bloodhound-dst/bloodhound/internal/cli/model"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/cli/setup"
	"github.com/bloodhound-dst/bloodhound/internal/cli/stored"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

type object = map[string]any

// documents lists the types of files and of --json, by the name of their definition in docs/schema/documents.json.
var documents = map[string]any{
	"run": stored.RunDocument{}, "campaign": campaign.CampaignDocument{}, "verify": campaign.VerifyDocument{}, "report": failures.ReportDocument{},
	"shrink": failures.ShrinkDocument{}, "explain": failures.ExplainDocument{}, "worker": fleet.FleetDocument{}, "bisect": failures.BisectDocument{},
	"replay all": failures.ReplayAllDocument{}, "doctor": setup.DoctorDocument{}, "images": image.ImagesDocument{},
	"check": history.CheckDocument{}, "error": console.ErrorDocument{}, "look": stored.LookDocument{}, "config": setup.ConfigDocument{},
	"model check": model.CheckedDocument{}, "model trace": model.TracedDocument{}, "actors": campaign.ActorDocument{}, "failure": report.Failure{},
	"db moved": fleet.MovedDocument{}, "db gc": fleet.GCDocument{}, "db fsck": fleet.FsckDocument{}, "db stat": fleet.StatDocument{},
	"db compare": fleet.CompareDocument{}, "db upgrade": fleet.UpgradeDocument{}, "sweep": campaign.SweepDocument{}, "list": failures.ListDocument{},
}

// documentsSchema describes the documents by their Go types: a field without omitempty is always there.
func documentsSchema() object {
	defs := object{}
	var root []any
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		defs[name] = objectSchema(reflect.TypeOf(documents[name]), defs)
		root = append(root, object{"$ref": "#/$defs/" + name})
	}
	return object{"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title": "What bloodhound writes: a failure file, or a document of --json", "anyOf": root, "$defs": defs}
}

func typeSchema(t reflect.Type, defs object) object {
	switch t.Kind() {
	case reflect.Pointer:
		return typeSchema(t.Elem(), defs)
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Uint, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": []any{"array", "null"}, "items": typeSchema(t.Elem(), defs)}
	case reflect.Map:
		return object{"type": []any{"object", "null"}, "additionalProperties": typeSchema(t.Elem(), defs)}
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return object{"type": "string", "format": "date-time"}
		}
		if t == reflect.TypeFor[world.Spec]() { // it belongs to the version that wrote it, and only replay reads it
			return object{"type": "object"}
		}
		name := t.String()
		if strings.Contains(t.PkgPath(), "/internal/cli") { // the packages of the command line share one space of names
			name = strings.ToLower(t.Name()[:1]) + t.Name()[1:]
		}
		if defs[name] == nil {
			defs[name] = object{} // a type may hold itself
			defs[name] = objectSchema(t, defs)
		}
		return object{"$ref": "#/$defs/" + name}
	}
	panic("teach typeSchema the type " + t.String())
}

func objectSchema(t reflect.Type, defs object) object {
	properties, required := object{}, []any{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.PkgPath != "" || name == "-":
			continue
		case f.Anonymous:
			within := objectSchema(f.Type, defs)
			maps.Copy(properties, within["properties"].(object))
			required = append(required, within["required"].([]any)...)
			continue
		case name == "":
			panic(t.String() + "." + f.Name + " has no name in JSON")
		case options == "" && f.Type.Kind() != reflect.Pointer:
			required = append(required, name)
		}
		properties[name] = typeSchema(f.Type, defs)
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// invalid is the part of JSON Schema that docs/schema/documents.json uses. It returns the first problem.
func invalid(root, s object, v any) string {
	if ref, ok := s["$ref"].(string); ok {
		return invalid(root, root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object), v)
	}
	types, ok := s["type"].([]any)
	if !ok {
		types = []any{s["type"]}
	}
	is := "null"
	switch v := v.(type) {
	case string:
		is = "string"
	case bool:
		is = "boolean"
	case json.Number:
		is = "number"
		if _, err := v.Int64(); err == nil || !strings.ContainsAny(v.String(), ".eE") {
			is = "integer"
		}
		if least, bounded := s["minimum"]; bounded && fmt.Sprint(least) == "0" && strings.HasPrefix(v.String(), "-") {
			return fmt.Sprintf("%s is below 0", v)
		}
	case []any:
		is = "array"
	case object:
		is = "object"
	}
	if !slices.Contains(types, any(is)) && !(is == "integer" && slices.Contains(types, any("number"))) {
		return fmt.Sprintf("%.80v is %s, not %v", v, is, types)
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if p := invalid(root, s["items"].(object), item); p != "" {
				return fmt.Sprintf("[%d]: %s", i, p)
			}
		}
	case object:
		required, _ := s["required"].([]any)
		for _, name := range required {
			if _, there := v[name.(string)]; !there {
				return fmt.Sprintf("%s is missing", name)
			}
		}
		properties, _ := s["properties"].(object)
		for name, item := range v {
			of, known := properties[name].(object)
			if properties == nil && s["additionalProperties"] == nil {
				continue
			}
			if more, open := s["additionalProperties"].(object); !known && open {
				of, known = more, true
			}
			if !known {
				return name + " is unknown"
			}
			if p := invalid(root, of, item); p != "" {
				return name + ": " + p
			}
		}
	}
	return ""
}

func decoded(t *testing.T, text []byte) object {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v object
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return v
}

const schemaPath = "../../docs/schema/documents.json"

// docs/schema/documents.json says the same as the types.
func TestSchemaOfDocuments(t *testing.T) {
	b, err := json.MarshalIndent(documentsSchema(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, '\n')
	if *update {
		if err := os.WriteFile(schemaPath, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, want) {
		t.Errorf("docs/schema/documents.json is not what the documents are; run go test ./internal/cli -run SchemaOfDocuments -update and look at the change")
	}
}

// What the program really writes is valid, and what it never writes is not.
func TestDocumentsAreValid(t *testing.T) {
	text, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	schema := decoded(t, text)
	def := func(name string) object { return schema["$defs"].(object)[name].(object) }
	dir := t.TempDir()
	buggy := filepath.Join(dir, "buggy")
	if err := writeProject(buggy, "lost-write,panic,refuse"); err != nil {
		t.Fatal(err)
	}
	if err := writeProject(filepath.Join(dir, "found"), "lost-write"); err != nil {
		t.Fatal(err)
	}
	bloodhound := command(t, dir)
	call := func(arguments ...string) []byte {
		cmd := exec.Command(bloodhound, append(arguments, "--json")...)
		cmd.Dir = dir
		out, _ := cmd.Output()
		return out
	}
	check := func(name string, text []byte) object {
		t.Helper()
		v := decoded(t, text)
		if p := invalid(schema, def(name), v); p != "" {
			t.Errorf("%s: %s in\n%.2000s", name, p, text)
		}
		return v
	}
	check("run", call("run", "buggy"))
	check("verify", call("verify", "buggy"))
	check("doctor", call("doctor"))
	check("error", call("explore", "nowhere"))
	check("error", call("run", "--seed", "x"))
	check("campaign", call("explore", "buggy", "--seeds", "3", "--keep-going"))
	campaign := check("campaign", call("explore", "found", "--seeds", "50"))
	failures, _ := filepath.Glob(filepath.Join(dir, "found", project.StateName, "failures", "*.json"))
	if len(failures) != 1 {
		t.Fatalf("%d failures were stored", len(failures))
	}
	id := strings.TrimSuffix(filepath.Base(failures[0]), ".json")
	check("run", call("replay", id, "found"))
	check("report", call("report", id, "found"))
	check("check", call("check", id, "found"))
	stored, err := os.ReadFile(failures[0])
	if err != nil {
		t.Fatal(err)
	}
	check("failure", stored)
	export := filepath.Join(dir, "export.jsonl")
	if err := os.WriteFile(export, []byte(`{"format":"bloodhound database 1"}`+"\n"+`{"key":"k/1","value":"v"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	check("db moved", call("db", "import", export, "--store", "db"))
	check("db moved", call("db", "merge", "db", "other"))
	check("db gc", call("db", "gc", "--store", "db"))
	check("db fsck", call("db", "fsck", "--store", "db"))
	check("db stat", call("db", "stat", "--store", "db"))

	for name, spoil := range map[string]func(){
		"verb is missing":      func() { delete(campaign, "verb") },
		"more is unknown":      func() { campaign["more"] = 1 },
		"seed: -1 is below":    func() { campaign["campaign"].(object)["seed"] = json.Number("-1") },
		"runs: many is string": func() { campaign["campaign"].(object)["runs"] = "many" },
	} {
		kept, _ := json.Marshal(campaign)
		spoil()
		if p := invalid(schema, def("campaign"), campaign); !strings.Contains(p, name) {
			t.Errorf("a document in which %s gives %q", name, p)
		}
		campaign = decoded(t, kept)
	}
}
