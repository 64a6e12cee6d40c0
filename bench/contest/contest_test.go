package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// The scripts run the program on the fake engine; its worker processes are this program again.
func TestMain(m *testing.M) {
	program := func() {
		project.EngineFor = func(*world.Spec) (engine.Engine, error) { return enginetest.New(), nil }
		os.Exit(start(os.Args[1:], os.Stdout, os.Stderr))
	}
	testscript.Main(m, map[string]func(){"contest": program})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			if err := writeProject(filepath.Join(e.WorkDir, "buggy"), enginetest.LostWrite); err != nil {
				return err
			}
			return writeProject(filepath.Join(e.WorkDir, "healthy"), "")
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// exits CODE COMMAND ARGUMENTS compares the exit code of a command.
			"exits": func(ts *testscript.TestScript, _ bool, args []string) {
				err := ts.Exec(args[1], args[2:]...)
				code := 0
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					code = exit.ExitCode()
				} else {
					ts.Check(err)
				}
				if strconv.Itoa(code) != args[0] {
					ts.Fatalf("exit code %d, want %s", code, args[0])
				}
			},
			// setenv FOLDER MODE makes a project on which the fake engine misbehaves.
			"setenv": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(writeProject(ts.MkAbs(args[0]), args[1]))
			},
		},
	})
}

// writeProject makes a project of the fake engine, which misbehaves as mode says.
func writeProject(dir, mode string) error {
	const text = `name: kv
nodes:
  n1: {command: /bin/sh, environment: {FAKE: "MODE"}}
  n2: {command: /bin/sh}
workload:
  driver: http
  config: {target: "http://n1:80", clients: 2, max_operations: 40, duration: 5s}
properties:
  - name: linearizable
    kind: safety
    description: a read returns what was written last
    check: {type: linearizability, operations: [put, get]}
faults:
  rules:
    - {kind: partition, probability: 0.005, targets: [n1-n2], duration_ms: [5, 50]}
`
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "bloodhound.yaml"), []byte(strings.ReplaceAll(text, "MODE", mode)), 0o666)
}

// The benchmark has the bug, a control and an explanation of each world that its list names, and each world only once.
func TestBenchmark(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "bench", "bugs", "list"))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, folder := range strings.Fields(string(text)) {
		if named[folder] {
			t.Errorf("bench/bugs/list names %s twice", folder)
		}
		named[folder] = true
		for _, name := range []string{"bloodhound.yaml", "fixed.yaml", "README.md"} {
			if _, err := os.Stat(filepath.Join(root, folder, name)); err != nil {
				t.Error(err)
			}
		}
	}
	if len(named) < 12 {
		t.Errorf("bench/bugs/list names %d bugs, want at least 12", len(named))
	}
}
