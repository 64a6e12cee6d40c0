package cli

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/driver"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

var update = flag.Bool("update", false, "rewrite what scripts compare with")

// The command line of the scripts is the real one on the fake engine; worker processes are this program again.
func TestMain(m *testing.M) {
	project.EngineLacks = func(*world.Spec, string) string { return os.Getenv("FAKE_VM_LACKS") }
	project.WarnsRoot = func() bool { return os.Getenv("FAKE_ROOT") != "" }
	testscript.Main(m, scripted)
}

// exitMain is the program: the command line, or the driver inside a world.
func exitMain() {
	if driver.IsAsked(os.Args) {
		os.Exit(driver.Main(os.Args, nil, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
}

// scripted are the programs that scripts execute, by name.
var scripted = map[string]func(){
	"bloodhound": func() {
		project.EngineFor = func(*world.Spec) (engine.Engine, error) { return inspector{enginetest.New()}, nil }
		exitMain()
	},
	// bloodhound-without-engine is the program on a machine that has no engine.
	"bloodhound-without-engine": func() {
		project.EngineFor = func(*world.Spec) (engine.Engine, error) {
			return nil, errors.New("no engine for this machine; use another one")
		}
		exitMain()
	},
}

// inspector is the fake engine on a machine that has no program whose name begins with no-such, and no user nobody-here.
type inspector struct{ engine.Engine }

func (inspector) Validate(spec *world.Spec, _ engine.Options) error {
	var all engine.Mistakes
	for _, n := range spec.Nodes {
		if len(n.Command) > 0 && strings.HasPrefix(filepath.Base(n.Command[0]), "no-such") {
			all = append(all, engine.Mistake{Node: n.Name, Part: engine.PartCommand, Problem: "there is no program " + n.Command[0], Remedy: "build it first"})
		}
		if n.User == "nobody-here" {
			all = append(all, engine.Mistake{Node: n.Name, Part: engine.PartUser, Problem: "there is no user", Remedy: "write numbers"})
		}
	}
	if len(all) > 0 {
		return all
	}
	return nil
}

// Boot lets the variable FAKE misbehave in worlds without a configuration, those of doctor.
func (i inspector) Boot(spec *world.Spec, t tape.Tape, o engine.Options) (engine.World, error) {
	if mode := os.Getenv("FAKE"); mode != "" {
		spec.Nodes[0].Env = append(spec.Nodes[0].Env, "FAKE="+mode)
	}
	return i.Engine.Boot(spec, t, o)
}

// The scripts are documentation too: each says what a verb does.
//
//ci:user build committed doctor doctor-early-exit explore init interrupt lacking replay root run screen worker
//ci:nouserns doctor doctor-early-exit explore lacking root run
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("CI", "true") // scripts read the whole text; those of screens unset it
			for _, name := range []string{"buggy", "healthy", "chance", "slow", "forgetful"} {
				mode := map[string]string{"buggy": enginetest.LostWrite, "healthy": "", "chance": enginetest.Chance,
					"slow": enginetest.Slow, "forgetful": enginetest.Forgets}[name]
				if err := writeProject(filepath.Join(e.WorkDir, name), mode); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":  exits,
			"clean":  clean,
			"setenv": setFake,
			"fits":   fits,
			"begun":  begun,
		},
	})
}

// exits runs a command and compares its exit code: exits CODE COMMAND ARGUMENTS.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

// clean checks that no scratch file is left in the folders that it is given.
func clean(ts *testscript.TestScript, _ bool, args []string) {
	for _, dir := range args {
		if _, err := os.Stat(filepath.Join(ts.MkAbs(dir), project.StateName, "scratch")); err == nil {
			ts.Fatalf("scratch files are left in %s", dir)
		}
	}
}

// begun waits until a command has begun to work on the project in a folder and so handles signals: begun FOLDER.
func begun(ts *testscript.TestScript, _ bool, args []string) {
	scratch := filepath.Join(ts.MkAbs(args[0]), project.StateName, "scratch")
	// Another process makes the folder: there is no event to wait for.
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if runs, err := os.ReadDir(scratch); err == nil && len(runs) > 0 {
			return
		}
	}
	ts.Fatalf("no command has begun in %s after a minute", args[0])
}

// setFake makes the project in a folder misbehave: setenv FOLDER MODE.
func setFake(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(writeProject(ts.MkAbs(args[0]), args[1]))
}

// fakeProject is the configuration of the scripts' projects; MODE is how the fake engine misbehaves.
const fakeProject = `name: kv
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

func writeProject(dir, mode string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, project.ConfigName), []byte(strings.ReplaceAll(fakeProject, "MODE", mode)), 0o666)
}

// fits checks that standard output is one screen. Commands, which are to be copied, may be longer than its lines.
func fits(ts *testscript.TestScript, _ bool, _ []string) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	if len(lines) > report.ScreenLines {
		ts.Fatalf("%d lines are more than a screen has", len(lines))
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > report.ScreenColumns && !strings.HasPrefix(line, "  bloodhound ") {
			ts.Fatalf("longer than %d columns: %s", report.ScreenColumns, line)
		}
	}
}
