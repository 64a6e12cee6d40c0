package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/steplog"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What programs say reaches the log of a step as text, by whatever verb, in results, notes, errors and documents.
func TestProgramsDoNotCommandTheRunner(t *testing.T) {
	dir := t.TempDir()
	bloodhound := command(t, dir)
	project := filepath.Join(dir, "    ::error::x")
	if err := writeProject(project, "says:    ::error::x ##[error]y"); err != nil {
		t.Fatal(err)
	}
	said := func(on string, args ...string) (results, notes string) {
		t.Helper()
		cmd := exec.Command(bloodhound, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), program.WorkflowVariable+"="+on)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		cmd.Run()
		return out.String(), errs.String()
	}
	missing := "\n::error::x"
	for _, args := range [][]string{
		{"run", project, "--logs"},
		{"run", project, "--json"},
		{"run", "--config", missing},
		{"replay", missing, project},
		{"config", project},
		{"explore", project + missing},
		{missing},
	} {
		results, notes := said("true", args...)
		l := steplog.Log{}
		l.Read(results)
		l.Read(notes)
		if len(l.Commands) > 0 || l.Token != "" {
			t.Errorf("%q: the runner executes %q, and waits for %q", args, l.Commands, l.Token)
		}
		if !strings.Contains(results+notes, "error") {
			t.Errorf("%q says nothing of it: %s", args, results+notes)
		}
		guarded := regexp.MustCompile(`(?m)^::stop-commands::(\w{20,})\n.*##\[error\]y\n::(\w+)::$`)
		if args[len(args)-1] == "--logs" && !guarded.MatchString(results) {
			t.Errorf("the line of the program is not guarded:\n%s", results)
		}
	}
	// Elsewhere nothing changes.
	if results, _ := said("", "run", project, "--logs"); strings.Contains(results, "stop-commands") || !strings.Contains(results, "##[error]y") {
		t.Errorf("outside a step: %s", results)
	}
}

// The runtime would print the text of a panic as it is.
func TestPanicDoesNotCommandTheRunner(t *testing.T) {
	t.Setenv(program.WorkflowVariable, "true")
	old := project.EngineFor
	t.Cleanup(func() { project.EngineFor = old })
	project.EngineFor = func(*world.Spec) (engine.Engine, error) { panic("a broken invariant:\n::error::x\n") }
	dir := t.TempDir()
	if err := writeProject(dir, ""); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := Main([]string{"run", dir}, &out, &errs)
	l := steplog.Log{}
	l.Read(errs.String())
	if text := errs.String(); code != 3 || len(l.Commands) > 0 || !strings.Contains(text, "a broken invariant") || !strings.Contains(text, "goroutine") {
		t.Errorf("exit code %d, commands %q:\n%s", code, l.Commands, text)
	}
}

// codeSpan is code within a line of Markdown.
var codeSpan = regexp.MustCompile("`[^`]*`")

// The script of the action says what it has to say in commands of its own, whatever characters are in it, and what programs
// wrote is text in the log and code in the summary.
func TestActionIsNotCommanded(t *testing.T) {
	needs.Program(t, "bash")
	dir := t.TempDir()
	bloodhound := command(t, dir)
	if err := writeProject(filepath.Join(dir, "kv"), "says:    ::error::x ##[error]y"); err != nil {
		t.Fatal(err)
	}
	log, code, said := action(t, dir, bloodhound, "INPUT_FOLDER=kv", "INPUT_SEEDS=5", program.WorkflowVariable+"=true")
	l := steplog.Log{}
	if l.Read(log); len(l.Commands) > 0 || l.Token != "" || code != 1 || !strings.Contains(log, "::error::x") {
		t.Errorf("exit code %d, commands %q, waits for %q:\n%s", code, l.Commands, l.Token, log)
	}
	fenced, found := false, 0
	for line := range strings.SplitSeq(said, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if !strings.Contains(line, "error") {
			continue
		}
		found++
		if prose := codeSpan.ReplaceAllString(line, ""); !fenced && strings.Contains(prose, "error") {
			t.Errorf("the summary has outside of code: %s", line)
		}
	}
	if found == 0 {
		t.Errorf("the summary does not say what the program wrote:\n%s", said)
	}
	for _, folder := range []string{"no\n::set-env name=PATH::/x", "no%0A::error::x", "no\r::error::x"} {
		log, code, said := action(t, dir, bloodhound, "INPUT_FOLDER="+folder)
		l := steplog.Log{}
		l.Read(log)
		text := strings.NewReplacer("%0A", "\n", "%0D", "\r", "%25", "%").Replace(strings.Join(l.Commands, ""))
		if code != 2 || len(l.Commands) != 1 || !strings.HasPrefix(text, "::error::") || !strings.Contains(text, folder) || said != "" {
			t.Errorf("%q: exit code %d, commands %q", folder, code, l.Commands)
		}
	}
}
