package report

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A change of the trace version comes with the rule that changed, so that an old failure file can say it.
func TestTraceRules(t *testing.T) {
	for v := 2; v <= TraceVersion; v++ {
		if traceRules[v] == "" {
			t.Errorf("trace version %d has no rule in traceRules", v)
		}
	}
	if len(traceRules) != TraceVersion-1 {
		t.Errorf("traceRules has %d rules, and the versions from 2 to %d need one each", len(traceRules), TraceVersion)
	}
	if text := traceChange(TraceVersion, TraceVersion); text != "" {
		t.Error(text)
	}
	old := traceChange(TraceVersion-2, TraceVersion)
	for v := 1; v <= TraceVersion; v++ {
		if named := strings.Contains(old, traceRules[v]); v > 1 && named != (v > TraceVersion-2) {
			t.Errorf("%q and the rule of version %d", old, v)
		}
	}
	if later := traceChange(TraceVersion+1, TraceVersion); !strings.Contains(later, "a later bloodhound wrote the file") {
		t.Error(later)
	}
}

// fileWith is a failure file with some fields changed or added.
func fileWith(t *testing.T, fields map[string]any) []byte {
	t.Helper()
	b, err := NewFailure("abc", "v1", "", &world.Spec{}, &check.Judged{}, check.Verdict{}).Content()
	file := map[string]any{}
	if err == nil {
		err = json.Unmarshal(b, &file)
	}
	for name, value := range fields {
		file[name] = value
	}
	if err == nil {
		b, err = json.Marshal(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A later form of a failure file is refused by its version, whatever its fields look like. A field that is unknown is a change.
func TestLaterFailureFile(t *testing.T) {
	later := fileWith(t, map[string]any{"failure_version": FailureVersion + 1, "bloodhound": "v9", "tape": 3, "spec": []int{1}})
	if _, err := Parse("f.json", later); err == nil || !strings.Contains(err.Error(), "failure_version is 2, and this program reads 1") ||
		!strings.Contains(err.Error(), "version v9") {
		t.Errorf("a later failure file: %v", err)
	}
	f, err := Parse("f.json", fileWith(t, map[string]any{"bloodhound": "v9", "spec": map[string]any{"gravity_ms": 5}}))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(f.Changes(&check.Judged{}), "\n")
	if !strings.Contains(text, `the file has the field "gravity_ms", which this bloodhound does not know`) || !strings.Contains(text, "v9") {
		t.Errorf("an unknown field: %q", text)
	}
	if f, err = Parse("f.json", fileWith(t, nil)); err != nil || len(f.Changes(&check.Judged{})) > 0 {
		t.Error(f, err)
	}
}

// Evidence of another version is not read, and the error tells so whatever its fields look like.
func TestOtherEvidence(t *testing.T) {
	state := t.TempDir()
	if err := os.MkdirAll(filepath.Join(state, "evidence"), 0o777); err != nil {
		t.Fatal(err)
	}
	f := &Failure{Failure: failure.Failure{ID: "abc"}, Hash: "h"}
	for text, want := range map[string]string{
		`{"evidence_version": 3, "outcome": [1]}`:                                     "has version 3, and this bloodhound reads version 2",
		`{"evidence_version": 1, "id": "abc", "hash": "h", "outcome": {}}`:            "has version 1, and this bloodhound reads version 2",
		`{"evidence_version": 2, "id": "abc", "hash": "another", "outcome": {}}`:      "belongs to another run",
		`{"evidence_version": 2, "id": "abc", "hash": "h", "outcome": {"hash": "h"}}`: "",
	} {
		if err := os.WriteFile(evidencePath(state, "abc"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := LoadEvidence(state, f)
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrNoEvidence) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
