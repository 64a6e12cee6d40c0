package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// stepLog reads the output of a step as GitHub's runner does (ActionCommand.TryParseV2 and TryParse, ActionCommandManager.TryProcessCommand,
// StreamReader.ReadLine). It is stricter: characters that a comparison may ignore are left out.
type stepLog struct {
	token    string // turns commands on again
	commands []string
}

// workflowCommands are the names that the runner knows.
var workflowCommands = []string{"error", "warning", "notice", "debug", "group", "endgroup", "add-mask", "add-matcher",
	"remove-matcher", "set-env", "set-output",
	"save-state", "add-path", "echo", "internal-set-repo-path", "stop-commands"}

func (l *stepLog) command(line string) (name, data string, ok bool) {
	known := func(info string) bool {
		name, _, _ = strings.Cut(info, " ")
		return slices.Contains(workflowCommands, strings.ToLower(name)) || l.token != "" && strings.EqualFold(name, l.token)
	}
	trimmed := strings.TrimLeftFunc(line, unicode.IsSpace)
	if rest, is := strings.CutPrefix(trimmed, "::"); is {
		if info, data, is := strings.Cut(rest, "::"); is && known(info) {
			return name, data, true
		}
	}
	if _, rest, is := strings.Cut(line, "##["); is {
		if info, data, is := strings.Cut(rest, "]"); is && known(info) {
			return name, data, true
		}
	}
	return "", "", false
}

func (l *stepLog) read(text string) {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || r == 0 {
			return -1
		}
		return r
	}, text)
	for _, line := range regexp.MustCompile("\r\n|\r|\n").Split(text, -1) {
		name, data, ok := l.command(line)
		switch {
		case !ok:
		case l.token != "":
			if strings.EqualFold(name, l.token) {
				l.token = ""
			}
		case name == "stop-commands":
			l.token = data
		default:
			l.commands = append(l.commands, line)
		}
	}
}

// attacks are lines that the runner executes, or nearly.
var attacks = []string{
	"::error::x", "    ::error file=a.go,line=1::x", "\t::set-env name=PATH::x", "\u00a0\u2003::add-mask::x", "\u200b::error::x",
	":\u00ad:error::x", "\x00::error::x",
	"##[error]x", "text ##[set-env name=PATH]x", "#\u00ad#[error]x", "::stop-commands::x", "::stop-commands::", "a\r::error::x",
	"::1 is an address", ": :error::x",
	"##[", "::", strings.Repeat(" ", 3*maxHeldLine) + "::error::x", strings.Repeat("x", 3*maxHeldLine) + "##[error]x",
}

// Whatever is written to the two streams, in whatever pieces, the runner executes nothing of it, reads both in whatever order,
// and executes commands again after it.
func TestWorkflowLogs(t *testing.T) {
	for _, line := range attacks {
		l := stepLog{}
		if l.read("quiet\n" + line + "\n"); len(l.commands) == 0 && l.token == "" && strings.Contains(line, "error::x") && !strings.Contains(line, ": :") {
			t.Errorf("the test is blind: the runner executes %.40q", line)
		}
	}
	for seed := range uint64(3000) {
		chance := rand.New(rand.NewPCG(seed, 1))
		var out, errs, both bytes.Buffer
		var results, notes *workflowLog
		if chance.IntN(2) == 0 {
			results, notes = newWorkflowLogs(&out, &errs)
		} else {
			results, notes = newWorkflowLogs(&both, &both)
		}
		written := ""
		for range 1 + chance.IntN(6) {
			to := results
			if chance.IntN(2) == 0 {
				to = notes
			}
			n := len(attacks)
			if seed > 100 {
				n -= 2 // the long ones take time
			}
			text := attacks[chance.IntN(n)] + []string{"", "\n", "\r\n", "\n\nplain\n"}[chance.IntN(4)]
			if to == results {
				written += text
			}
			for len(text) > 0 {
				k := min(len(text), 1+chance.IntN(40))
				if len(text) > maxHeldLine {
					k = min(len(text), 1+chance.IntN(maxHeldLine))
				}
				if _, err := io.WriteString(to, text[:k]); err != nil {
					t.Fatal(err)
				}
				text = text[k:]
			}
		}
		results.flush()
		notes.flush()
		streams := []string{out.String(), errs.String()}
		if chance.IntN(2) == 0 {
			slices.Reverse(streams)
		}
		l := stepLog{}
		for _, text := range append(streams, both.String(), "::error::ours") {
			l.read(text)
		}
		if len(l.commands) != 1 || l.token != "" {
			t.Fatalf("seed %d: the runner executes %.300q, and waits for %q, after\n%.2000q\n%.2000q\n%.2000q", seed, l.commands,
				l.token, out.String(), errs.String(), both.String())
		}
		// The streams hold the same text but for the pairs. A pair gives the line in it an end.
		pairs := strings.NewReplacer(results.stop(), "", results.resume(), "", "\n", "", "\r", "")
		if both.Len() == 0 && pairs.Replace(out.String()) != strings.NewReplacer("\n", "", "\r", "").Replace(written) {
			t.Fatalf("seed %d: %q is written as %q", seed, written, out.String())
		}
	}
}

// A line that is no command is written as it is.
func TestWorkflowLogsKeepText(t *testing.T) {
	var out, errs bytes.Buffer
	results, notes := newWorkflowLogs(&out, &errs)
	text := "run of seed 1: a::b, # [x], key ::error::, 3##4\n  ok\n"
	for _, w := range []*workflowLog{results, notes} {
		if _, err := io.WriteString(w, text+"last"); err != nil {
			t.Fatal(err)
		}
		w.flush()
	}
	if out.String() != text+"last" || errs.String() != text+"last" {
		t.Errorf("%q, %q", &out, &errs)
	}
	other, _ := newWorkflowLogs(&out, &errs)
	if other.token == results.token || len(results.token) < 20 {
		t.Errorf("tokens %q and %q can be guessed", results.token, other.token)
	}
}

// A document is the same for who reads JSON.
func TestWorkflowJSON(t *testing.T) {
	var out bytes.Buffer
	want := map[string]string{"##[error]k": "a ##[error]x\n::error::y"}
	if err := json.NewEncoder(workflowJSON{&out}).Encode(want); err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	text := out.String()
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) || strings.Contains(text, "#") {
		t.Errorf("%s: %v", text, err)
	}
}

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
		cmd.Dir, cmd.Env = dir, append(os.Environ(), workflowVariable+"="+on)
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
		l := stepLog{}
		l.read(results)
		l.read(notes)
		if len(l.commands) > 0 || l.token != "" {
			t.Errorf("%q: the runner executes %q, and waits for %q", args, l.commands, l.token)
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
	t.Setenv(workflowVariable, "true")
	old := engineFor
	t.Cleanup(func() { engineFor = old })
	engineFor = func(*world.Spec) (engine.Engine, error) { panic("a broken invariant:\n::error::x\n") }
	dir := t.TempDir()
	if err := writeProject(dir, ""); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := Main([]string{"run", dir}, &out, &errs)
	l := stepLog{}
	l.read(errs.String())
	if text := errs.String(); code != 3 || len(l.commands) > 0 || !strings.Contains(text, "a broken invariant") || !strings.Contains(text, "goroutine") {
		t.Errorf("exit code %d, commands %q:\n%s", code, l.commands, text)
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
	log, code, said := action(t, dir, bloodhound, "INPUT_FOLDER=kv", "INPUT_SEEDS=5", workflowVariable+"=true")
	l := stepLog{}
	if l.read(log); len(l.commands) > 0 || l.token != "" || code != 1 || !strings.Contains(log, "::error::x") {
		t.Errorf("exit code %d, commands %q, waits for %q:\n%s", code, l.commands, l.token, log)
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
		l := stepLog{}
		l.read(log)
		text := strings.NewReplacer("%0A", "\n", "%0D", "\r", "%25", "%").Replace(strings.Join(l.commands, ""))
		if code != 2 || len(l.commands) != 1 || !strings.HasPrefix(text, "::error::") || !strings.Contains(text, folder) || said != "" {
			t.Errorf("%q: exit code %d, commands %q", folder, code, l.commands)
		}
	}
}
