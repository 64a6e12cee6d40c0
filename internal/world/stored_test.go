package world

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// writtenCheck and writtenRule have the fields of a Check and a FaultRule in the order in which their JSON has them. Digests of
// stored Specs depend on that order.
type writtenCheck struct {
	Type         CheckType `json:"type"`
	Operations   []string  `json:"operations,omitempty"`
	Model        string    `json:"model,omitempty"`
	Level        string    `json:"level,omitempty"`
	Endpoint     string    `json:"endpoint,omitempty"`
	Body         string    `json:"body,omitempty"`
	Query        string    `json:"query,omitempty"`
	ExpectStatus int       `json:"expect_status,omitempty"`
	ExpectBody   string    `json:"expect_body,omitempty"`
	Command      []string  `json:"command,omitempty"`
	Expect       string    `json:"expect,omitempty"`
	Script       []string  `json:"script,omitempty"`
	Condition    string    `json:"condition,omitempty"`
	While        string    `json:"while,omitempty"`
	Despite      []string  `json:"despite,omitempty"`
	Nodes        []string  `json:"nodes,omitempty"`
	Pattern      string    `json:"pattern,omitempty"`
	Unanswered   string    `json:"unanswered,omitempty"`
	Failures     int       `json:"failures,omitempty"`
	HangNs       int64     `json:"hang_ns,omitempty"`
	GraceNs      int64     `json:"grace_ns,omitempty"`
	DuringFaults bool      `json:"during_faults,omitempty"`
	Keys         int       `json:"keys,omitempty"`
	KeyPatterns  []string  `json:"key_patterns,omitempty"`
	Jobs         Jobs      `json:"jobs,omitzero"`
	Mapping      *Mapping  `json:"mapping,omitempty"`
	Alerts       *Alerts   `json:"alerts,omitempty"`
	IntervalNs   int64     `json:"interval_ns,omitempty"`
}

type writtenRule struct {
	Kind           FaultKind `json:"kind"`
	Text           string    `json:"text,omitempty"`
	RatePPM        uint64    `json:"rate_ppm"`
	MinNs          int64     `json:"min_ns,omitempty"`
	MaxNs          int64     `json:"max_ns,omitempty"`
	Least          int64     `json:"least,omitempty"`
	Most           int64     `json:"most,omitempty"`
	Targets        []string  `json:"targets,omitempty"`
	OneWay         bool      `json:"one_way,omitempty"`
	Shape          string    `json:"shape,omitempty"`
	LatencyNs      int64     `json:"latency_ns,omitempty"`
	JitterNs       int64     `json:"jitter_ns,omitempty"`
	BandwidthBytes int64     `json:"bandwidth_bytes,omitempty"`
	Max            int       `json:"max,omitempty"`
	FromStart      bool      `json:"from_start,omitempty"`
	ByUser         bool      `json:"by_user,omitempty"`
	Derived        bool      `json:"derived,omitempty"`
	When           string    `json:"when,omitempty"`
	At             []string  `json:"at,omitempty"`
	Path           string    `json:"path,omitempty"`
	Moment         Moment    `json:"moment,omitempty"`
	Then           []string  `json:"then,omitempty"`
	ThenPath       string    `json:"then_path,omitempty"`
	NthFrom        uint64    `json:"nth_from,omitempty"`
	NthTo          uint64    `json:"nth_to,omitempty"`
}

// keyFields are the fields that the keys of a configuration set where they have another name, or set several.
var keyFields = map[string][]string{
	"expect": {"ExpectStatus", "ExpectBody", "Expect"}, "hang": {"HangNs"}, "grace": {"GraceNs"}, "interval": {"IntervalNs"},
	"keys": {"KeyPatterns"}, "alerts": {"Alerts"}, "events": {"Mapping"}, "during_faults": {"DuringFaults"},
	"rules": {}, "scrape": {}, "ignore": {}, "labels": {},
	"spec": {}, "config": {}, "library": {}, "view": {}, "lines": {}, "left_out": {},
}

// fill gives a field some value that JSON does not leave out.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64:
		v.SetUint(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.ValueOf([]string{"a", "b"}))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		v.Set(reflect.ValueOf(Jobs{Start: "s", Done: "d"}))
	}
}

// inOrder fails unless what has the fields of a flat value is written as that is.
func inOrder[T any](t *testing.T, name string, flat any) {
	t.Helper()
	want, err := json.Marshal(flat)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(want, &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if got, err := json.Marshal(&v); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is written %s, and was %s: %v", name, got, want, err)
	}
}

// A check of each type has the same JSON, byte for byte, with any of the fields that belong to the type.
func TestChecksAreWrittenInOrder(t *testing.T) {
	for i := range CheckKinds {
		k := &CheckKinds[i]
		var fields []string
		for _, key := range k.Keys {
			names, ok := keyFields[key]
			switch {
			case key == "keys" && k.Type == RecoveryCheck: // a number there, and patterns elsewhere
				names = []string{"Keys"}
			case !ok:
				names = []string{strings.ToUpper(key[:1]) + key[1:]}
			}
			fields = append(fields, names...)
		}
		for set := range 1 << len(fields) {
			flat := writtenCheck{Type: k.Type}
			for i, name := range fields {
				if set>>i&1 == 1 {
					fill(reflect.ValueOf(&flat).Elem().FieldByName(name))
				}
			}
			inOrder[Check](t, string(k.Type), &flat)
		}
	}
	// Programs with worlds inside one process may give fields that belong to other types.
	whole := writtenCheck{Type: Linearizability}
	for _, name := range []string{"Operations", "Model", "Level", "Condition", "Failures", "HangNs", "GraceNs", "DuringFaults", "Keys"} {
		fill(reflect.ValueOf(&whole).Elem().FieldByName(name))
	}
	inOrder[Check](t, "a check inside one process", &whole)
	var rule writtenRule
	for i := range reflect.TypeFor[writtenRule]().NumField() {
		fill(reflect.ValueOf(&rule).Elem().Field(i))
	}
	inOrder[FaultRule](t, "a rule", &rule)
}

// Checks and rules of stored files are read, and written again as they are, byte for byte.
func TestStoredChecksAreWrittenAsTheyAre(t *testing.T) {
	checks, rules := 0, 0
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".json":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte(`"default_link"`)) {
			return err
		}
		rewrite(t, path, text, func(key string, list []map[string]json.RawMessage, raw []json.RawMessage) {
			for i, item := range list {
				switch {
				case key == "properties" && item["check"] != nil:
					checks++
					same[Check](t, path, item["check"])
				case key == "rules" && item["kind"] != nil && item["rate_ppm"] != nil:
					rules++
					same[FaultRule](t, path, raw[i])
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checks < 20 || rules < 20 {
		t.Errorf("only %d checks and %d rules were found", checks, rules)
	}
}

// rewrite calls visit for each list of objects in a document, with the key that it has.
func rewrite(t *testing.T, path string, text json.RawMessage, visit func(key string, list []map[string]json.RawMessage, raw []json.RawMessage)) {
	t.Helper()
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil {
		return
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		var list []map[string]json.RawMessage
		var raw []json.RawMessage
		if json.Unmarshal(object[key], &list) == nil && json.Unmarshal(object[key], &raw) == nil {
			visit(key, list, raw)
		}
		rewrite(t, path, object[key], visit)
	}
}

func same[T any](t *testing.T, path string, raw json.RawMessage) {
	t.Helper()
	var want bytes.Buffer
	if err := json.Compact(&want, raw); err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	if got, err := json.Marshal(&v); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s: %s is written %s: %v", path, &want, got, err)
	}
}
