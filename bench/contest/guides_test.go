package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/bench/contest/comparison"
	"github.com/bloodhound-dst/bloodhound/bench/contest/targets"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/group"
)

// benched runs contest guides, and gives its exit code and what it prints.
func benched(t *testing.T, args ...string) (code int, out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = start(append([]string{"guides"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// timeless is a document without what differs between two equal comparisons.
func timeless(t *testing.T, text string) string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				if strings.Contains(k, "cpu") || k == "seconds" {
					delete(v, k)
					continue
				}
				v[k] = walk(v[k])
			}
			return v
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		}
		return v
	}
	b, err := json.MarshalIndent(walk(doc), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestGuides(t *testing.T) {
	const file = "testdata/guides.yaml"
	dir := t.TempDir()
	journal, folder := filepath.Join(dir, "j.jsonl"), filepath.Join(dir, "report")
	code, out, said := benched(t, file, "--journal", journal, "--report", folder)
	if code != check.ExitHolds {
		t.Fatalf("exit code %d: %s\n%s", code, said, out)
	}
	for _, want := range []string{
		"2 trials of each strategy and target, campaign seeds 1 to 2, at most 60 runs each",
		"| modelfuzz:state | too few trials: 2 against 2; 10 of each are needed | unsynced |",
		"| unsynced | random | 2 of 2 [16-100 %] |",
		"conforms to TwoPhaseCommit.tla (2)",
		"| correct | modelfuzz:state | 60 runs | states |",
		"| coarse | modelfuzz:state | 60 runs | whole states |",
		"| coarse view | correct | coarse | modelfuzz:state | whole states |",
		"| modelfuzz:state | swap-choices |",
		"| coverage-guided+bandit | future |",
		"| coverage-guided+bandit | edge |",
		"| unsynced | 3 |", // lines that match
		"- unsynced: `Deliver(",
		"Crash(",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing of %q in\n%s", want, out)
		}
	}
	for _, name := range []string{"guides.md", "guides.json", "states-1.svg", "states-2.svg"} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || len(text) < 500 {
			t.Errorf("%s: %v, %d bytes", name, err, len(text))
		}
	}
	_, whole, _ := benched(t, file, "--journal", journal, "--resume", "--json")

	// A comparison that was killed in the middle of a line continues, and comes to the same.
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journal, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	code, again, said := benched(t, file, "--journal", journal, "--resume", "--json")
	if code != check.ExitHolds || timeless(t, again) != timeless(t, whole) {
		t.Errorf("exit code %d: %s\nafter a kill\n%s\nwithout one\n%s", code, said, timeless(t, again), timeless(t, whole))
	}
}

// When contest guides is killed, the trials under way end, and the next start removes what it has left.
func TestGuidesIsKilled(t *testing.T) {
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	said := filepath.Join(dir, "said")
	file := filepath.Join(dir, "guides.yaml")
	text := fmt.Sprintf("trials: 1\nruns: 2\nstrategies: [random]\ntargets: [{name: a, package: %q, args: [%q]}]\n",
		filepath.Join(here, "testdata/endless"), said)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// A named pipe can be waited for, and locked like a file.
	if err := syscall.Mkfifo(said, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(said, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	bench := exec.Command("contest", "guides", file, "--journal", filepath.Join(dir, "j.jsonl"))
	bench.Stderr = os.Stderr
	if err := bench.Start(); err != nil {
		t.Fatal(err)
	}
	held.SetReadDeadline(time.Now().Add(2 * time.Minute))
	if _, err := held.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the trial does not begin: %v", err)
	}
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		t.Fatal("the trial is not at work")
	}
	work := filepath.Join(dir, "j.jsonl"+guidesScratch)
	if _, err := claim(work); err == nil || !strings.Contains(err.Error(), "another program is at work") {
		t.Errorf("two have the folder: %v", err)
	}
	bench.Process.Kill()
	bench.Wait()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil { // when the trial has ended
		t.Fatal(err)
	}
	own, err := claim(work)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(work); len(left) != 1 {
		t.Errorf("%v is there", left)
	}
	own.close()
	if left, _ := filepath.Glob(work + "*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// The timeout of a trial ends a program that does not end by itself, and all of its process group.
func TestGuidesCutsProgramsOff(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	held, err := os.OpenFile(filepath.Join(dir, "held"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	file := filepath.Join(dir, "guides.yaml")
	text := "trials: 1\nruns: 2\ntimeout: 100ms\nstrategies: [random]\ntargets:\n"
	for _, how := range []string{"silent", "prints"} {
		text += fmt.Sprintf("  - {name: %s, package: %q, args: [%q, %s]}\n", how, filepath.Join(here, "testdata/hang"), held.Name(), how)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := benched(t, file, "--journal", filepath.Join(dir, "j.jsonl"))
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil { // as no process is left
		t.Fatal(err)
	}
	if code != check.ExitUnknown {
		t.Errorf("exit code %d: %s\n%s", code, said, out)
	}
	for _, want := range []string{"**2 trials were cut off", "- silent, random, seed 1: cut off after ",
		"- prints, random, seed 1: cut off after ", ": the program had not begun its campaign"} {
		if !strings.Contains(out, want) {
			t.Errorf("nothing of %q in\n%s", want, out)
		}
	}
}

// A trial whose model was given a step without a meaning in it says nothing, and one that cannot judge its runs is no evidence.
// That a run leaves a model that only guides is reported nowhere.
func TestGuidesTellsWhatModelsCannotFollow(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range []struct {
		how  string
		code int
		says []string
	}{
		{"misspells", check.ExitUnknown, []string{"**2 trials say nothing, and are not counted:**",
			`seed 1: it says nothing: Step("Upp") at `, "testdata/mistaken/main.go:30: there is no operator Upp"}},
		{"ignores", check.ExitUnknown, []string{"**2 trials found nothing, and could not judge all of their runs",
			"and that is not known: conforms: unknown in 20 of 20 runs: ",
			"no event of the run was mapped to a step of the model", "| ignores | random | 0 of 1 [0-98 %], 1 unknown |"}},
		{"leaves", check.ExitHolds, []string{"| leaves | random | 0 of 1 [0-98 %] |"}},
	} {
		file := filepath.Join(dir, "guides.yaml")
		text := fmt.Sprintf("trials: 1\nruns: 20\nstrategies: ['coverage-guided:state']\ntargets: [{name: %s, package: %q, args: [%[1]s], correct: %[3]t}]\n",
			c.how, filepath.Join(here, "testdata/mistaken"), c.how == "misspells")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, said := benched(t, file, "--journal", filepath.Join(dir, c.how))
		if code != c.code {
			t.Errorf("%s: exit code %d: %s", c.how, code, said)
		}
		for _, want := range c.says {
			if !strings.Contains(out, want) {
				t.Errorf("%s: nothing of %q in\n%s", c.how, want, out)
			}
		}
	}
}

// What is said by a command for a target is bounded.
func TestCommandsOfTargetsAreBounded(t *testing.T) {
	g := &targets.Target{Name: "a"}
	if _, _, err := tool(t.Context(), g, ".", "yes"); err == nil || !strings.Contains(err.Error(), "it prints more than") {
		t.Errorf("%v", err)
	}
	_, _, err := tool(t.Context(), g, ".", "sh", "-c", "yes | head -c 3000000 >&2; echo the end >&2; exit 3")
	if err == nil || len(err.Error()) > 3*group.MaxOutput || !strings.HasSuffix(err.Error(), "the end") {
		t.Errorf("%v", err)
	}
}

func TestMistakesOfGuides(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		targets, strategies, says string
		code                      int
	}{
		"no program":      {"{name: a, package: ./nothing}", "random", "name a folder beside the file", check.ExitUsage},
		"no main package": {"{name: a, package: " + filepath.Join(here, "rank") + "}", "random", "is no program", check.ExitUsage},
		"no preparation": {"{name: a, package: " + filepath.Join(here, "../../cmd/bloodhound") + ", prepare: ['false']}",
			"random", "target a: false: exit status 1", check.ExitUsage},
		"flags of go": {"{name: a, package: " + filepath.Join(here, "../../cmd/bloodhound") +
			", prepare: [echo, '-overlay=nothing']}", "random", "open nothing", check.ExitUsage},
		"a guide": {"{name: a, package: ./nothing}", "'modelfuzz:luck'", "guides.yaml:3:14: \"modelfuzz:luck\": unknown guide", check.ExitUsage},
		"no counters": {"{name: a, package: " + filepath.Join(here, "../strategies/two-phase-commit/hunt") + "}",
			"'coverage-guided:line'", "target a with coverage-guided:line: the guide line: this program has no readable coverage counters", check.ExitUsage},
		"nothing covered": {"{name: a, package: " + filepath.Join(here, "testdata/hang") + ", cover: [nosuch/...]}", "random",
			"target a: cover: nosuch/... is no package that the program is built of", check.ExitUsage},
		"a wrong flag": {"{name: a, package: " + filepath.Join(here, "../strategies/two-phase-commit/hunt") +
			", args: ['-nothing']}", "random", "(exit status 2): flag provided but not defined: -nothing", check.ExitUnknown},
		"no trial": {"{name: a, package: " + filepath.Join(here, "../../cmd/bloodhound") + ", args: ['--help']}", "random",
			"the program has made no trial (it ended with exit status 0, and has not called sim.Campaign.Run under trial.Context)", check.ExitUnknown},
		"a full disk": {"{name: a, package: " + filepath.Join(here, "../../cmd/bloodhound") +
			", prepare: [sh, -c, 'echo mkdir: no space left on device >&2; exit 1']}", "random", "target a: sh -c", check.ExitEngine},
	} {
		file := filepath.Join(t.TempDir(), "guides.yaml")
		if err := os.WriteFile(file, []byte("trials: 1\nruns: 2\nstrategies: ["+c.strategies+"]\ntargets: ["+c.targets+"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, said := benched(t, file, "--journal", filepath.Join(t.TempDir(), "j.jsonl"))
		if code != c.code || !strings.Contains(out+said, c.says) {
			t.Errorf("%s: exit code %d, want %d: %s%s\nwant %s", name, code, c.code, out, said, c.says)
		}
	}
	for script, want := range map[string]string{ // what a program says as it ends
		"echo made >&2; echo 'flag provided but not defined: -x' >&2; echo 'Usage of hunt:' >&2; echo '  -bug' " +
			">&2; exit 2": "flag provided but not defined: -x",
		"echo 'Error: unknown flag: --x' >&2; echo >&2; echo 'Usage:' >&2; echo '  hunt' >&2; exit 1": "Error: unknown flag: --x",
		"echo 'there is no such bug' >&2; echo 'see -help' >&2; exit 2":                               "there is no such bug",
		"echo begin >&2; echo 'panic: a map is nil' >&2; echo 'goroutine 1 [running]:' >&2; exit 2":   "panic: a map is nil",
		"echo begin >&2; echo at the end >&2; exit 1":                                                 "begin at the end",
		"exit 2": "",
	} {
		var all group.Output
		c := exec.Command("sh", "-c", script)
		c.Stderr = &all
		if c.Run() == nil {
			t.Fatalf("%s succeeds", script)
		}
		if got := reason(&all, c.ProcessState); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
	// A report that cannot be written is reported once.
	folder := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := &guidesContest{folder: folder}
	err = b.write(&guidesDocument{}, &guideTables{Settings: &comparison.Settings{}}, "")
	if err == nil || strings.Count(err.Error(), "move the file away") != 1 {
		t.Errorf("%v", err)
	}
	if code, _, said := benched(t); code != check.ExitUsage || !strings.Contains(said, "bench/CONTEST.md has an example") {
		t.Errorf("%d: %s", code, said)
	}
}
