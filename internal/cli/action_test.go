package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/needs"
)

// command makes this program callable as bloodhound, on the fake engine.
func command(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "bloodhound") // testscript runs the command whose name the program is started by
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// action runs the script of action.yml and returns its output, its exit code and what it says to GitHub.
func action(t *testing.T, dir, bloodhound string, inputs ...string) (log string, code int, said string) {
	t.Helper()
	script, err := filepath.Abs("../../.ci/action")
	if err != nil {
		t.Fatal(err)
	}
	github := filepath.Join(t.TempDir(), "github")
	cmd := exec.Command(script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), append(inputs, "BLOODHOUND="+bloodhound, "GITHUB_OUTPUT="+github, "GITHUB_STEP_SUMMARY="+github)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(github)
	return out.String(), code, string(text)
}

func TestAction(t *testing.T) {
	needs.Program(t, "bash")
	dir := t.TempDir()
	bloodhound := command(t, dir)
	for name, mode := range map[string]string{"buggy project": "lost-write", "healthy": ""} {
		if err := writeProject(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	has := func(folder string, patterns ...string) {
		t.Helper()
		for _, p := range patterns {
			if found, _ := filepath.Glob(filepath.Join(dir, folder, p)); len(found) == 0 {
				t.Errorf("there is no %s in %s", p, folder)
			}
		}
	}
	log, code, said := action(t, dir, bloodhound, "INPUT_FOLDER=buggy project", "INPUT_SEEDS=50", "INPUT_SEED=4", "INPUT_TIMEOUT=5m")
	if code != 1 || !strings.Contains(log, "violated: linearizable") || !strings.Contains(log, "campaign of seed 4") {
		t.Errorf("exit code %d of\n%s", code, log)
	}
	for _, want := range []string{"exit-code=1\n", "output=buggy project/bloodhound-report\n", "### Bloodhound: exit code 1", "    VIOLATED"} {
		if !strings.Contains(said, want) {
			t.Errorf("GitHub does not get %q but\n%s", want, said)
		}
	}
	has("buggy project/bloodhound-report", "campaign.html", "junit.xml", "bloodhound.sarif", "log.txt", "????????????.html", "????????????.json")

	if _, code, said = action(t, dir, bloodhound, "INPUT_FOLDER=healthy", "INPUT_SEEDS=30", "INPUT_OUTPUT=out", "INPUT_CONFIG=bloodhound.yaml"); code != 0 || !strings.Contains(said, "exit-code=0\n") {
		t.Errorf("exit code %d, and %s", code, said)
	}
	has("healthy/out", "campaign.html", "junit.xml", "bloodhound.sarif")

	for _, c := range []struct{ input, want string }{
		{"INPUT_SEEDS=many", "give the number of tapes to run"},
		{"INPUT_COMPOSE=nowhere.yaml", "give the path of an existing file"},
		{"INPUT_CONFIG=nowhere.yaml", "nowhere.yaml"},
		{"INPUT_FOLDER=nowhere", "there is no folder nowhere"},
		{"INPUT_OUTPUT=bloodhound.yaml", "the folder bloodhound.yaml cannot be made; name another one"},
	} {
		inputs := []string{"INPUT_FOLDER=healthy", c.input}
		if log, code, _ := action(t, dir, bloodhound, inputs...); code != 2 || !strings.Contains(log, c.want) {
			t.Errorf("%s: exit code %d of\n%s", c.input, code, log)
		}
	}
	// A threshold is compared, or the build fails.
	log, code, _ = action(t, dir, bloodhound, "INPUT_FOLDER=healthy", "INPUT_COVERAGE_THRESHOLD=101")
	if code == 0 {
		t.Errorf("a threshold that cannot be reached passes:\n%s", log)
	}
}

// action.yml hands each input to the script, which reads it.
func TestActionInputs(t *testing.T) {
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Inputs map[string]struct{ Description string }
		Runs   struct {
			Using string
			Steps []struct {
				ID, Run, Shell string
				Env            map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../../.ci/action")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(a.Runs.Steps, func(s struct {
		ID, Run, Shell string
		Env            map[string]string
	}) bool {
		return s.ID == "test"
	})
	if i < 0 || a.Runs.Using != "composite" || a.Runs.Steps[i].Shell != "bash" || !strings.Contains(a.Runs.Steps[i].Run, "/.ci/action") {
		t.Fatalf("action.yml does not run the script: %+v", a.Runs)
	}
	for _, name := range []string{"compose", "config", "seeds", "timeout", "coverage-threshold"} {
		if _, ok := a.Inputs[name]; !ok {
			t.Errorf("there is no input %s", name)
		}
	}
	for name, input := range a.Inputs {
		variable := "INPUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if a.Runs.Steps[i].Env[variable] != "${{ inputs."+name+" }}" || !bytes.Contains(script, []byte(variable)) || input.Description == "" {
			t.Errorf("the input %s does not reach the script as %s", name, variable)
		}
	}
}
