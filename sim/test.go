package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// Test searches a world with the default Campaign. The test fails if a property is violated, if the runs do not show whether all properties
// hold, or if a run is not reproducible.
func Test(t testing.TB, describe func(*inproc.World)) {
	t.Helper()
	Campaign{}.Test(t, describe)
}

// Test searches a world; see the function Test.
func (c Campaign) Test(t testing.TB, describe func(*inproc.World)) {
	t.Helper()
	c, err := c.given(testing.Short())
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.open(t.Name(), describe)
	if err != nil {
		t.Fatal(err)
	}
	defer s.stages.close()
	underWay(t)
	s.alone = pattern(t.Name())
	s.again = func(f *report.Failure) string {
		return fmt.Sprintf("%s -sim.replay=%s", s.command(), f.ID)
	}
	if id, _ := setting(flagReplay, envReplay); id != "" {
		s.replay(t, id)
		return
	}
	if text, by := setting(flagSeed, envSeed); text != "" {
		seed, err := whole(text, by)
		if err != nil {
			t.Fatal(err)
		}
		s.one(t, tape.Tape{Seed: seed})
		return
	}
	if !s.stored(t) {
		(&result{Result: explore.Result{Name: s.name, ExitCode: check.ExitViolated, Status: explore.Status{Violated: true}}}).write(t)
		return
	}
	r, err := s.campaign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.write(t)
	switch {
	case r.ExitCode == 0:
		t.Log(r.text.String())
	default:
		t.Error(r.text.String() + r.seeds(s.command()))
	}
}

// command runs a test alone, built as this program is.
func (s *simulation) command() string {
	command := "go test"
	if s.overlay != "" {
		command += " -overlay=" + s.overlay
	}
	return command + " -run " + s.alone
}

// pattern is the one of -run that selects a test alone, as a word of the shell.
func pattern(name string) string { return "'^" + strings.ReplaceAll(name, "/", "$/^") + "$'" }

// seeds lists the commands that make failures again whose tape is a seed alone.
func (r *result) seeds(command string) string {
	if r.Totals == nil {
		return ""
	}
	text := ""
	for _, f := range r.Totals.Failures {
		if len(f.Tape.Edits) == 0 {
			text += fmt.Sprintf("\nseed %d: %s -sim.seed=%d", f.Tape.Seed, command, f.Tape.Seed)
		}
	}
	return text
}

// one makes a single run and logs its result.
func (s *simulation) one(t testing.TB, tp tape.Tape) {
	t.Helper()
	out, steps, err := s.play(s.engine, s.spec, tp, engine.Options{Log: func(l record.LogLine) {
		t.Logf("%s  %-10s %s", report.Seconds(l.TimeNs), l.Node, l.Text)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if steps != "" {
		t.Logf("steps\n  %s", steps)
	}
	t.Logf("%s: trace hash %s, %d events, %s of virtual time, %s", tp.Name(), out.Hash, out.Events, report.Seconds(out.VirtualNs), out.Reason)
	s.judge(t, out)
	s.seek(t.Context(), 0)
	if text, doubt := s.strays(); text != "" {
		t.Errorf("not reproducible: %s", text)
	} else if doubt != "" {
		t.Logf("note: %s", doubt)
	}
}

// judge fails the test for each violated property and each reason why the verdict is unknown, and logs the rest.
func (s *simulation) judge(t testing.TB, out *check.Judged) {
	t.Helper()
	if out.Mistake != "" {
		t.Errorf("the specification has no such step: %s", out.Mistake)
	}
	for _, v := range out.Verdicts {
		text := fmt.Sprintf("%s: %s %s", v.Property, v.Status, v.Reason)
		if len(v.Evidence) > 0 {
			text += "\n  " + strings.Join(v.Evidence, "\n  ")
		}
		if v.Status == check.Violated {
			t.Error(text)
		} else {
			t.Log(text)
		}
	}
	status := explore.StatusOf(s.spec, explore.Summarise(out))
	for _, u := range status.Unknown {
		t.Errorf("unknown: %s", u)
	}
	for _, n := range status.Notices {
		t.Logf("note: %s", n)
	}
}

// replay makes the run of a stored failure again.
func (s *simulation) replay(t testing.TB, id string) {
	t.Helper()
	f, err := s.load(id)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	path := id
	if !report.IsFailurePath(id) {
		path = f.Path(s.Dir)
	}
	standing, err := s.standing(f)
	switch {
	case err != nil && f.Spec.Name != s.name:
		t.Fatal(s.foreign(f, err))
	case err != nil:
		t.Fatal(err)
	}
	if _, err := s.printStory(&b, f, path); err != nil {
		t.Fatal(err)
	}
	s.seek(t.Context(), 0)
	if text, _ := s.strays(); text != "" {
		t.Logf("note: %s", text)
	}
	if standing == "" {
		t.Logf("failure %s no longer shows", f.ID)
		return
	}
	t.Errorf("%s\n\n%s", standing, b.String())
}

// load reads a stored failure.
func (s *simulation) load(id string) (*report.Failure, error) {
	f, err := report.Load(s.Dir, id)
	var unknown *report.UnknownFailure
	if errors.As(err, &unknown) && len(unknown.Others) == 0 {
		return nil, fmt.Errorf("no failure %q: %s has none; give the path of a failure file, or run the test "+
			"without -%s: it stores its findings",
			id, unknown.Dir, flagReplay)
	}
	if err == nil && f.Spec.Name == s.name {
		f.Belongs(s.testName())
	}
	return f, err
}

// foreign is the error for a failure that another test has found.
func (s *simulation) foreign(f *report.Failure, err error) error {
	return fmt.Errorf("failure %s is of the test %s, and this one is %s: run go test -run %s with the same flag (%w)", f.ID,
		f.Spec.Name, s.name, pattern(f.Spec.Name), err)
}

// standing reports that a stored failure still occurs; empty if it does not.
func (s *simulation) standing(f *report.Failure) (string, error) {
	small := f.Small()
	out, _, err := s.play(s.quiet, small.Spec, small.Tape, engine.Options{})
	if err != nil {
		return "", err
	}
	for _, v := range explore.Violated(out.Verdicts) {
		if v.Signature() != f.Signature {
			continue
		}
		if out.Hash != small.Hash {
			return fmt.Sprintf("failure %s still shows, in a run that has changed", f.ID), nil
		}
		return fmt.Sprintf("failure %s still shows", f.ID), nil
	}
	return "", nil
}

// stored makes again the failures that earlier campaigns have stored, and reports whether none of them occurs.
func (s *simulation) stored(t testing.TB) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir, "failures", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	ok := true
	for _, file := range files {
		f, err := s.load(file)
		if err != nil {
			t.Error(err)
			ok = false
			continue
		}
		standing, err := s.standing(f)
		if err != nil {
			t.Errorf("cannot replay %s: %v; remove the file if the world has changed since", file, err)
			ok = false
			continue
		}
		if standing == "" {
			t.Logf("%s no longer fails; remove the file when the bug is fixed", file)
			continue
		}
		ok = false
		var b strings.Builder
		if _, err := s.printStory(&b, f, file); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s\n\n%s", standing, b.String())
	}
	return ok
}

// underWay writes a file for a test into the folder for results, and removes it when the test ends: a file that is left says that the program
// ended during the test.
func underWay(t testing.TB) {
	t.Helper()
	dir := os.Getenv(envResults)
	if dir == "" {
		return
	}
	r := &result{Result: explore.Result{Name: t.Name(), ExitCode: check.ExitUnknown}}
	file := r.leave(t, dir, explore.UnderWay)
	t.Cleanup(func() { os.Remove(file) })
}

// write writes the result into the folder for results, for programs that run tests.
func (r *result) write(t testing.TB) {
	t.Helper()
	if dir := os.Getenv(envResults); dir != "" {
		r.leave(t, dir, ".json")
	}
}

func (r *result) leave(t testing.TB, dir, ending string) (file string) {
	t.Helper()
	var err error
	if r.Dir, err = os.Getwd(); err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(&r.Result, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	// Tests of several packages may have one name.
	file = filepath.Join(dir, failure.TestID(r.Dir+" "+r.Name)+ending)
	if err := report.WriteFile(file, append(text, '\n')); err != nil {
		t.Fatal(err)
	}
	return file
}
