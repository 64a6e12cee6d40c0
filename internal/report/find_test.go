package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Two runs of one failure have one id and two files. The id means the run that was stored last, and its run's id means a run.
func TestRunsOfAFailure(t *testing.T) {
	state := t.TempDir()
	v := check.Verdict{Property: "p", Status: check.Violated, Reason: "not linearizable: a get by client c1 found nothing, although the key was there"}
	at := func(seed uint64, when time.Time, property string) *Failure {
		v := v
		v.Property = property
		f := NewFailure("kv", "v1", "", &world.Spec{Name: "kv", Dir: "/kv"}, &check.Judged{Outcome: record.Outcome{Tape: tape.Tape{Seed: seed}}}, v)
		path, err := Save(state, f)
		if err == nil {
			err = os.Chtimes(path, when, when)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	now := time.Now()
	late, early, other := at(1, now, "p"), at(2, now.Add(-time.Hour), "p"), at(1, now, "q")
	if late.ID != early.ID || late.RunID == early.RunID || late.RunID != other.RunID || late.ID == other.ID {
		t.Fatalf("%+v, %+v, %+v", late.Failure, early.Failure, other.Failure)
	}
	for name, want := range map[string]*Failure{late.ID: late, early.ID[:8]: late, early.RunID: early, early.Name(): early,
		early.Name()[:20]: early, other.ID: other} {
		got, err := Load(state, name)
		if err != nil || got.Name() != want.Name() {
			t.Errorf("%s: got %+v, %v; want %s", name, got, err, want.Name())
		}
	}
	if _, err := Load(state, late.RunID); err == nil || !strings.Contains(err.Error(), "2 failures") {
		t.Errorf("a run that shows two failures: %v", err)
	}
	if _, err := Load(state, "ffffffffffff"); !errors.As(err, new(*UnknownFailure)) {
		t.Errorf("an unknown failure: %v", err)
	}
}

// A file of an earlier version is found by the id of that time, by which it is named, and by the present one; it stays where it is.
func TestFormerFile(t *testing.T) {
	state := t.TempDir()
	const former = "210d16d45c83"
	path := FailurePath(state, former)
	text := `{"failure_version": 1, "trace_version": 5, "bloodhound": "v0", "id": "` + former + `",
		"signature": "p: not linearizable: a get by client # found nothing, although the key was there", "config": "/kv/bloodhound.yaml",
		"verdict": {"property": "p", "kind": "safety", "status": "violated",
			"reason": "not linearizable: a get by client http/c4 found nothing, although the key was there"},
		"tape": {"seed": 7}, "hash": "aa", "events": 1, "virtual_ns": 1, "spec": {"name": "kv", "dir": "/kv"}}`
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	v := check.Verdict{Property: "p", Status: check.Violated, Reason: "not linearizable: a get by client http/c1 found nothing, although the key was there"}
	now := NewFailure("kv", "v1", "", &world.Spec{Name: "kv", Dir: "/elsewhere"}, &check.Judged{Outcome: record.Outcome{Tape: tape.Tape{Seed: 7}}}, v)
	for _, name := range []string{former, former[:6], now.ID, now.RunID, now.Name(), path} {
		f, err := Load(state, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if f.Failure.ID != now.ID || f.Signature != now.Signature || f.FormerID != former || f.Path(state) != path {
			t.Errorf("%s: got %+v, which was %s, in %s; want %+v", name, f.Failure, f.FormerID, f.Path(state), now.Failure)
		}
		if want := "a get by client http/c4 found nothing, although the key was there"; f.Headline != want {
			t.Errorf("the headline is %q", f.Headline)
		}
	}
	f, err := Load(state, former)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Save(state, f); err != nil {
		t.Fatal(err)
	}
	again, err := Load(state, former)
	if err != nil || again.Failure != f.Failure || again.FormerID != former {
		t.Errorf("written again it is %+v, %v", again, err)
	}
}
