package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
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
	cmd.Env = append(os.Environ(), append(inputs, "CI=true", "BLOODHOUND="+bloodhound, "GITHUB_OUTPUT="+github, "GITHUB_STEP_SUMMARY="+github)...)
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
	for _, want := range []string{"exit-code=1\n", "output=buggy project/bloodhound-report\n", "### Bloodhound: VIOLATED",
		"**linearizable is violated**", "exit code 1."} {
		if !strings.Contains(said, want) {
			t.Errorf("GitHub does not get %q but\n%s", want, said)
		}
	}
	has("buggy project/bloodhound-report", "comment.md", "campaign.html", "junit.xml", "bloodhound.sarif", "log.txt",
		"????????????.html", "????????????-????????????.json")

	if _, code, said = action(t, dir, bloodhound, "INPUT_FOLDER=healthy", "INPUT_SEEDS=30", "INPUT_OUTPUT=out",
		"INPUT_CONFIG=bloodhound.yaml"); code != 0 || !strings.Contains(said, "exit-code=0\n") {
		t.Errorf("exit code %d, and %s", code, said)
	}
	has("healthy/out", "campaign.html", "junit.xml", "bloodhound.sarif")

	for _, c := range []struct{ input, want string }{
		{"INPUT_SEEDS=many", "give the number of seeds to try"},
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

// A pull request is compared with the main branch by what workers of both have found, in databases that last.
func TestActionWithDatabase(t *testing.T) {
	needs.Program(t, "bash")
	needs.Program(t, "git")
	dir := t.TempDir()
	bloodhound := command(t, dir)
	folder := filepath.Join(dir, "kv")
	git := func(arguments ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.org"}, arguments...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", arguments, err, out)
		}
	}
	commit := func(mode string) {
		t.Helper()
		if err := writeProject(folder, mode); err != nil {
			t.Fatal(err)
		}
		git("add", project.ConfigName)
		git("commit", "-q", "-m", "mode "+mode)
	}
	matches := func(text, pattern string) bool { return regexp.MustCompile(pattern).MatchString(text) }
	main, pr := []string{"GITHUB_EVENT_NAME=push", "GITHUB_REF=refs/heads/main"}, []string{"GITHUB_EVENT_NAME=pull_request", "GITHUB_REF=refs/pull/7/merge"}
	build := func(where []string, inputs ...string) (string, int, string) {
		t.Helper()
		return action(t, dir, bloodhound, slices.Concat([]string{"INPUT_TIMEOUT=4s"}, where, inputs, []string{"INPUT_FOLDER=kv", "INPUT_DATABASE=.db"})...)
	}
	// until builds again with more time, as a busy machine makes few runs in four seconds.
	until := func(where []string, done func(code int, said string) bool) (log string, code int, said string) {
		t.Helper()
		for _, timeout := range []string{"4s", "20s", "100s"} {
			if log, code, said = build(where, "INPUT_TIMEOUT="+timeout); done(code, said) {
				break
			}
		}
		return log, code, said
	}
	// as actions/cache does it
	keep := func(name string) {
		t.Helper()
		if err := os.Rename(filepath.Join(folder, ".db"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	restore := func(name, as string) {
		t.Helper()
		if err := os.CopyFS(filepath.Join(folder, as), os.DirFS(filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "-b", "main")
	commit("lost-write")
	found := func(code int, said string) bool {
		return code == 1 && matches(said, "nothing to compare with\n\n- new: [1-9]\n  - ` linearizable `: ` not linearizable: ")
	}
	if log, code, said := until(main, found); !found(code, said) {
		t.Fatalf("the first build of main: exit code %d, %s\n%s", code, said, log)
	}
	keep("main 1")

	// A pull request that changes nothing has the same failure, and one that mends it has fixed it.
	git("checkout", "-q", "-b", "same")
	git("commit", "-q", "--allow-empty", "-m", "nothing")
	restore("main 1", ".db.base")
	unchanged := func(code int, said string) bool {
		return code == 1 != strings.Contains(said, "- new: 0\n") &&
			matches(said, "compared with [^$]*- fixed: 0\n- unchanged: [1-9]\n[^$]*- risk that the next random run shows something "+
				"new: (at most 0|no bound \\(no run)")
	}
	if log, code, said := until(pr, unchanged); !unchanged(code, said) {
		t.Errorf("a pull request without a change: exit code %d, %s\n%s", code, said, log)
	}
	keep("same 1")
	commit("")
	restore("main 1", ".db.base")
	restore("same 1", ".db")
	fixed := func(code int, said string) bool {
		return code == 0 && matches(said, "- new: 0\n- fixed: [1-9]\n[^$]*exit-code=0\n")
	}
	if log, code, said := until(pr, fixed); !fixed(code, said) {
		t.Errorf("a pull request that mends it: exit code %d, %s\n%s", code, said, log)
	}
	if pages, _ := filepath.Glob(filepath.Join(folder, "bloodhound-report", "dashboard", "failure-*.html")); len(pages) == 0 {
		t.Errorf("the report has %q", pages)
	}
	keep("same 2")

	// One with another bug.
	git("checkout", "-q", "-b", "worse", "main")
	commit("lost-write,panic")
	restore("main 1", ".db.base")
	worse := func(code int, said string) bool { return code == 1 && matches(said, "- new: [1-9][^$]*exit-code=1\n") }
	if log, code, said := until(pr, worse); !worse(code, said) {
		t.Errorf("a pull request with another bug: exit code %d, %s\n%s", code, said, log)
	}

	if log, code, _ := build(pr, "INPUT_SEEDS=7"); code != 2 || !strings.Contains(log, "seeds: a worker of a database does not take it") {
		t.Errorf("seeds: exit code %d\n%s", code, log)
	}
	if log, code, _ := build(pr, "INPUT_CONFIG=nowhere.yaml"); code != 2 || !strings.Contains(log, "nowhere.yaml") {
		t.Errorf("no configuration: exit code %d\n%s", code, log)
	}
}

// The database is kept by the cache: that of the base is set aside, since both lie at the same path.
func TestActionKeepsTheDatabase(t *testing.T) {
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Runs struct {
			Steps []struct {
				If, Uses, Run string
				With          map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	var order []string
	keys := map[string]string{}
	for _, s := range a.Runs.Steps {
		name, _, _ := strings.Cut(s.Uses, "@")
		verb, isCache := strings.CutPrefix(name, "actions/cache/")
		switch {
		case isCache && strings.Contains(s.With["path"], "/bloodhound-program"):
		case isCache:
			order = append(order, verb)
			if s.With["path"] != "${{ inputs.folder }}/${{ inputs.database }}" || !strings.Contains(s.If, "inputs.database != ''") {
				t.Errorf("%+v", s)
			}
			keys[verb] = s.With["restore-keys"] + s.With["key"]
		case strings.Contains(s.Run, ".base"):
			order = append(order, "aside")
		case strings.Contains(s.Run, "/.ci/action"):
			order = append(order, "run")
		}
	}
	if want := []string{"restore", "aside", "restore", "run", "save"}; !slices.Equal(order, want) {
		t.Errorf("steps: %q", order)
	}
	// What is saved last is what is restored next.
	prefix, _, _ := strings.Cut(keys["restore"], "bloodhound-${{ inputs.folder }}-${{ inputs.config }}-${{ github.ref_name }}-none")
	if !strings.HasPrefix(keys["save"], prefix) || !strings.HasSuffix(prefix, "-${{ github.ref_name }}-") {
		t.Errorf("%q is saved, and %q restored", keys["save"], prefix)
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
	for _, name := range []string{"compose", "config", "seeds", "timeout", "coverage-threshold", "database"} {
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
