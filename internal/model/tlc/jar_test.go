package tlc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// jarVariable names the jar of TLC that tests run, if it is set.
const jarVariable = "BLOODHOUND_TLC_JAR"

// What TLC said of testdata/Jugs.tla and its like is in testdata.
func TestRead(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"holds", "[] 97 generated, 16 distinct, 0 left, depth 8"},
		{"invariant", "[{invariant NotSolved 7}] 67 generated, 13 distinct, 1 left, depth 7"},
		{"always", "[{invariant Always 2}] 2 generated, 2 distinct, 0 left, depth 2"},
		{"initial", "[{invariant Some 1}] 0 generated, 0 distinct, 0 left, depth 0"},
		{"property", "[{property of initial states Some 1}] 0 generated, 0 distinct, 0 left, depth 0"},
		{"action", "[{action property Grows 3}] 10 generated, 4 distinct, 2 left, depth 3"},
		{"temporal", "[{temporal property Four 2}] 97 generated, 16 distinct, 0 left, depth 8"},
		{"deadlock", "[{deadlock  2}] 2 generated, 2 distinct, 0 left, depth 2"},
		{"assumption", "[{assumption  0}] 0 generated, 0 distinct, 0 left, depth 0"},
		{"post", "[{postcondition Never 0}] 97 generated, 16 distinct, 0 left, depth 8"},
		{"go", "[{invariant NotSolved 0}] 97 generated, 16 distinct, 0 left, depth 8"},
		{"error", "[] 2 generated, 3 distinct, 1 left, depth 2"},
		{"config", "[] 0 generated, 0 distinct, 0 left, depth 0"},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", c.file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		o := Read(string(text))
		got := fmt.Sprintf("%v %d generated, %d distinct, %d left, depth %d", o.Violations, o.Generated, o.Distinct, o.Left, o.Depth)
		if got != c.want || !strings.HasPrefix(o.Version, "TLC2 Version ") {
			t.Errorf("%s: %s (%q), want %s", c.file, got, o.Version, c.want)
		}
	}
}

// fakeJava puts a java on PATH that says what a file of testdata has, and ends with a code.
func fakeJava(t *testing.T, file string, code int) {
	t.Helper()
	text, err := filepath.Abs(filepath.Join("testdata", file+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\ncat '%s'\nexit %d\n", text, code)
	if err := os.WriteFile(filepath.Join(dir, "java"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

func aRun(t *testing.T) *Run {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "tla2tools.jar")
	if err := os.WriteFile(jar, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return &Run{Jars: []string{jar}, Spec: "Jugs.tla", Config: "Jugs.cfg"}
}

func TestAnswersAndFailures(t *testing.T) {
	for _, c := range []struct {
		file string
		code int
		want string
	}{
		{"holds", 0, ""},
		{"invariant", 12, ""},
		{"error", 76, "TLC gave no result:"},
		{"config", 151, "specified in the configuration file"},
		{"parse", 150, "Unknown operator"},
		{"option", 1, "unrecognized option: -nosuch"},
		{"nothing", 0, "does not contain TLC"},
	} {
		t.Run(c.file, func(t *testing.T) {
			fakeJava(t, c.file, c.code)
			_, err := aRun(t).Check(context.Background())
			if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestWithoutJavaOrJar(t *testing.T) {
	r := aRun(t)
	t.Setenv("PATH", t.TempDir())
	if _, err := r.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "install a Java runtime") {
		t.Error(err)
	}
	fakeJava(t, "holds", 0)
	r.Jars = []string{filepath.Join(t.TempDir(), "none.jar")}
	if _, err := r.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "releases of github.com/tlaplus/tlaplus") {
		t.Error(err)
	}
}

func TestCompare(t *testing.T) {
	trace := make([]tla.Step, 7)
	broken := func(kind tla.Kind, name string, steps []tla.Step) *tla.Report {
		return &tla.Report{Generated: 67, Distinct: 13, Depth: 7, Violations: []*tla.Violation{{Kind: kind, Name: name, Trace: steps}}}
	}
	for _, c := range []struct {
		file             string
		r                *tla.Report
		different, aside string
	}{
		{"holds", &tla.Report{Generated: 97, Distinct: 16, Depth: 8}, "", ""},
		{"holds", &tla.Report{Generated: 95, Distinct: 16, Depth: 8}, "", "TLC generated 97 states, but this check 95"},
		{"holds", &tla.Report{Generated: 97, Distinct: 15, Depth: 8}, "TLC found 16 distinct states, but this check 15", ""},
		{"holds", &tla.Report{Generated: 97, Distinct: 16, Depth: 9}, "the longest of the shortest behaviours has 8 states in TLC, but 9 here", ""},
		{"holds", broken(tla.InvariantViolated, "NotSolved", trace), "this check found a violation, invariant NotSolved, and TLC none", ""},
		{"invariant", &tla.Report{Generated: 97, Distinct: 16, Depth: 8}, "TLC found a violation, invariant NotSolved, and this check none", ""},
		{"temporal", &tla.Report{Generated: 97, Distinct: 16, Depth: 8, Unchecked: []tla.Unchecked{{Name: "Four"}}}, "",
			"TLC found a violation, temporal property Four, but this check has not checked all properties"},
		{"invariant", broken(tla.InvariantViolated, "NotSolved", trace), "", ""},
		{"invariant", broken(tla.InvariantViolated, "NotSolved", trace[:6]), "the shortest counterexample has 7 states in TLC, but 6 here", ""},
		{"invariant", broken(tla.InvariantViolated, "Sound", trace), "this check found the violation invariant Sound, but TLC invariant NotSolved", ""},
		{"invariant", broken(tla.Deadlocked, "", trace), "this check found the violation deadlock, but TLC invariant NotSolved", ""},
		{"temporal", broken(tla.TemporalViolated, "Four", trace), "", ""},
		{"property", broken(tla.InitialViolated, "Begins", trace[:1]), "", ""},
		{"assumption", broken(tla.AssumptionViolated, "Small", nil), "", ""},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", c.file+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		differences, aside := Read(string(text)).Compare(c.r)
		if got, also := strings.Join(differences, "; "), strings.Join(aside, "; "); got != c.different || also != c.aside {
			t.Errorf("%s: %q, aside %q, want %q, aside %q", c.file, got, also, c.different, c.aside)
		}
	}
}

// TestJar runs a real TLC.
func TestJar(t *testing.T) {
	jar := os.Getenv(jarVariable)
	if needs.Program(t, "java"); jar == "" {
		needs.Missing(t, "tla2tools.jar", jarVariable+" does not name it")
	}
	for _, c := range []struct{ config, want string }{
		{"SPECIFICATION Spec\nINVARIANT Sound\n", "[] 97 16 8"},
		{"SPECIFICATION Spec\nINVARIANT NotSolved\n", "[{invariant NotSolved 7}] 67 13 7"},
		{"SPECIFICATION Spec\nPROPERTY Four\n", "[{temporal property Four 2}] 97 16 8"},
	} {
		config := filepath.Join(t.TempDir(), "Jugs.cfg")
		if err := os.WriteFile(config, []byte(c.config), 0o644); err != nil {
			t.Fatal(err)
		}
		r := Run{Jars: filepath.SplitList(jar), Spec: filepath.Join("testdata", "Jugs.tla"), Config: config}
		o, err := r.Check(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(o.Violations, o.Generated, o.Distinct, o.Depth); got != c.want || o.CPU == 0 {
			t.Errorf("%s: %s, want %s", c.config, got, c.want)
		}
		read, err := tla.ReadConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := tla.Load(r.Spec, read)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := tla.Check(spec, tla.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if differences, aside := o.Compare(ours); len(differences)+len(aside) > 0 {
			t.Errorf("%s: %v, %v", c.config, differences, aside)
		}
	}
}
