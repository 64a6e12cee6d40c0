package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/runner/engines"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func TestExitCodePrecedence(t *testing.T) {
	unknown := []string{"why"}
	for _, c := range []struct {
		s    explore.Status
		want int
	}{
		{explore.Status{}, check.ExitHolds},
		{explore.Status{Unknown: unknown}, check.ExitUnknown},
		{explore.Status{Unknown: unknown, Unrepeatable: true}, check.ExitNotReproducible},
		{explore.Status{Unknown: unknown, Unrepeatable: true, Violated: true}, check.ExitViolated},
		{explore.Status{Unknown: unknown, Unrepeatable: true, Violated: true, Failed: true}, check.ExitEngine},
	} {
		if got := c.s.ExitCode(); got != c.want {
			t.Errorf("%+v: exit code %d, want %d", c.s, got, c.want)
		}
	}
	if codeOf(errors.New("x")) != check.ExitUsage || codeOf(fmt.Errorf("y: %w", failed(errors.New("x")))) != check.ExitEngine {
		t.Error("an error has the wrong code")
	}
}

func TestJudgeReplay(t *testing.T) {
	v := check.Verdict{Property: "p", Status: check.Violated, Reason: "get returned 3"}
	other := check.Verdict{Property: "q", Status: check.Violated}
	f := &report.Failure{Hash: "aa", Failure: failure.Failure{Signature: v.Signature()}, Verdict: v}
	repeats := record.Repeat{Reproducible: true}
	changed := []string{"/bin/a has changed"}
	for _, c := range []struct {
		name    string
		s       explore.Summary
		changes []string
		want    string
		code    int
	}{
		{"the same", explore.Summary{Hash: "aa", Repeat: repeats, Verdicts: []check.Verdict{v}}, nil, "replayed", check.ExitViolated},
		{"another check", explore.Summary{Hash: "aa", Repeat: repeats}, nil, "the check or its property has changed", check.ExitUnknown},
		{"another run, the same violation", explore.Summary{Hash: "bb", Repeat: repeats, Verdicts: []check.Verdict{v}}, changed,
			"VIOLATED again", check.ExitViolated},
		{"another violation", explore.Summary{Hash: "bb", Repeat: repeats, Verdicts: []check.Verdict{other}}, changed, "in another way", check.ExitViolated},
		{"gone after a change", explore.Summary{Hash: "bb", Repeat: repeats}, changed, "stale", check.ExitUnknown},
		{"gone without a change", explore.Summary{Hash: "bb", Repeat: repeats}, nil, "NOT REPRODUCIBLE", check.ExitNotReproducible},
		{"cannot repeat", explore.Summary{Hash: "bb"}, changed, "NOT REPRODUCIBLE", check.ExitNotReproducible},
	} {
		text, code := judgeReplay(f, &explore.Reply{Summary: &c.s}, c.changes)
		if code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %q, want %d %q", c.name, code, text, c.code, c.want)
		}
	}
}

func TestMovedProject(t *testing.T) {
	spec := &world.Spec{Dir: "/old dir", Nodes: []world.Node{{WorkingDir: "/old dir", Root: "host",
		Command: []string{"/old dir/bin/server", "/old dirt", "see /old dir"}}}}
	got, err := spec.Moved("/new")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/new/bin/server", "/old dirt", "see /old dir"}
	if got.Dir != "/new" || got.Nodes[0].WorkingDir != "/new" || !reflect.DeepEqual(got.Nodes[0].Command, want) {
		t.Errorf("%+v", got)
	}
}

func TestArgumentsSurviveAShell(t *testing.T) {
	f := &flags{config: "it's.yaml"}
	if got, want := argumentsOf(f, []string{"my dir"}), ` 'my dir' --config 'it'\''s.yaml'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

//ci:user
func TestStaleScratchIsRemoved(t *testing.T) {
	engineFor = func(*world.Spec) (engine.Engine, error) { return nil, nil }
	defer func() { engineFor = engines.For }()
	state := filepath.Join(t.TempDir(), stateName)
	stale := filepath.Join(state, "scratch", "run-new-1")
	if err := os.MkdirAll(stale, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lockName(stale), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	first, err := openSession(&world.Spec{}, state)
	if err != nil {
		t.Fatal(err)
	}
	second, err := openSession(&world.Spec{}, state)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("the scratch folder of a dead program is still there")
	}
	if _, err := os.Stat(first.setup.Scratch); err != nil {
		t.Error("the scratch folder of a live program was removed")
	}
	first.close()
	second.close()
	if _, err := os.Stat(state); err == nil {
		t.Error("an empty state folder is left behind")
	}
}

// Progress is lines where there is no terminal, and none when the user turns them off.
func TestPlainProgress(t *testing.T) {
	var b strings.Builder
	p := newProgress(&b, false, false)
	p.show(func(time.Duration) string { return "too soon" })
	p.shown = p.shown.Add(-plainInterval)
	p.show(func(time.Duration) string { return "10 runs" })
	p.note("a note")
	p.end()
	if b.String() != "10 runs\na note\n" {
		t.Errorf("wrote %q", b.String())
	}
	p.quiet = true
	p.shown = p.shown.Add(-plainInterval)
	p.show(func(time.Duration) string { return "quiet" })
	if strings.Contains(b.String(), "quiet") {
		t.Error("quiet progress is shown")
	}
}

// An interrupt while an image is built is no mistake of the configuration.
func TestInterruptedBuild(t *testing.T) {
	t.Setenv("BLOODHOUND_IMAGES", t.TempDir())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "compose.yaml"),
		[]byte("services: {a: {build: {context: ., dockerfile_inline: \"FROM scratch\\nCOPY . /\\n\"}, command: x}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := &app{out: io.Discard, json: io.Discard, err: io.Discard}
	if _, err := a.load(ctx, &flags{compose: []string{filepath.Join(dir, "compose.yaml")}},
		nil); codeOf(err) != check.ExitUnknown || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("exit code %d: %v", codeOf(err), err)
	}
}
