package tla

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
)

// lock is a specification, and the trace specifications below check logs of it.
const lock = `---- MODULE Lock ----
EXTENDS Naturals, Sequences
VARIABLES owner, waiting
vars == <<owner, waiting>>
P == {"a", "b", "c"}
Init == owner = "none" /\ waiting = {}
Request(p) == p \notin waiting /\ owner # p /\ waiting' = waiting \cup {p} /\ UNCHANGED owner
Acquire(p) == owner = "none" /\ p \in waiting /\ owner' = p /\ waiting' = waiting \ {p}
Release(p) == /\ owner = p
              /\ owner' = "none"
              /\ UNCHANGED waiting
Next == \E p \in P : Request(p) \/ Acquire(p) \/ Release(p)
====
`

// byVariable goes through its log by a variable.
const byVariable = `---- MODULE Trace ----
EXTENDS Lock, Json, IOUtils, TLC
Log == ndJsonDeserialize(IF "LOG" \in DOMAIN IOEnv THEN IOEnv.LOG ELSE "log.ndjson")
VARIABLE l
line == Log[l]
TraceInit == Init /\ l = 1
Is(event) == l <= Len(Log) /\ line.event = event /\ l' = l + 1
TraceNext ==
  \/ Is("request") /\ Request(line.p)
  \/ Is("acquire") /\ Acquire(line.p)
  \/ Is("release") /\ Release(line.p)
Spec == TraceInit /\ [][TraceNext]_<<vars, l>>
Matched == [](l <= Len(Log) => [](TLCGet("queue") = 1 \/ l > Len(Log)))
Finished == <>(l > Len(Log))
Fair == []<>(owner = "none")
Known == owner \in P \cup {"none"}
Short == Len(Log) > 3 => owner # "b"
NotDone == l <= Len(Log)
Crowd == waiting # {"a", "b"}
====
`

// byLevel goes through it by the number of the state.
const byLevel = `---- MODULE Trace ----
EXTENDS Lock, Json, TLC
Log == ndJsonDeserialize("log.ndjson")
Spec == Init /\ [][Next]_vars
Constraint == LET i == TLCGet("level") IN
  /\ i <= Len(Log)
  /\ LET line == Log[i] IN
       \/ line.event = "request" /\ Request(line.p)
       \/ line.event = "acquire" /\ Acquire(line.p)
       \/ line.event = "release" /\ Release(line.p)
View == <<vars, TLCGet("level")>>
Accepted == LET d == TLCGet("stats").diameter IN IF d - 1 = Len(Log) THEN TRUE ELSE Print(<<"failed at", d>>, FALSE)
Trivial == TLCGet("stats").diameter >= 2
====
`

var good = []string{`{"event":"request","p":"a"}`, `{"event":"request","p":"b"}`, `{"event":"acquire","p":"a"}`,
	`{"event":"release","p":"a"}`, `{"event":"acquire","p":"b"}`, `{"event":"release","p":"b"}`}

func validate(t *testing.T, trace, config string, log []string, how Reading) (*Validation, error) {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "recorded.ndjson")
	for name, text := range map[string]string{"Lock.tla": lock, "Trace.tla": trace, "recorded.ndjson": strings.Join(log, "\n") + "\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := ParseConfig("Trace.cfg", config)
	if err != nil {
		t.Fatal(err)
	}
	c.Log = file
	spec, err := Load(filepath.Join(folder, "Trace.tla"), c)
	if err != nil {
		return nil, err
	}
	return Validate(spec, Options{}, how)
}

func TestValidate(t *testing.T) {
	wrong := slices.Clone(good)
	wrong[2] = `{"event":"acquire","p":"c"}`
	tagged := slices.Insert(slices.Clone(good), 0, `{"tag":"other"}`)
	filtered := strings.Replace(byVariable,
		`Log == ndJsonDeserialize(IF "LOG" \in DOMAIN IOEnv THEN IOEnv.LOG ELSE "log.ndjson")`,
		`Log == SelectSeq(ndJsonDeserialize(IOEnv.LOG), LAMBDA x : "event" \in DOMAIN x)`, 1)
	fromZero := strings.NewReplacer(`line == Log[l]`, `line == Log[l + 1]`, "l = 1", "l = 0", `l <= Len(Log) /\ line`,
		`l < Len(Log) /\ line`).Replace(byVariable)
	ahead := strings.NewReplacer(`l <= Len(Log) /\ line`, `l < Len(Log) /\ line`, `Matched ==`, "Last == l = Len(Log)\nMatched ==").Replace(byVariable)
	several := strings.Replace(byVariable, `Release(line.p)`, `Release(line.p)
  \/ l <= Len(Log) /\ UNCHANGED l /\ \E p \in P : Request(p)`, 1)
	perProcess := `---- MODULE Trace ----
EXTENDS Lock, Json, TLC
CONSTANT File
Log == ndJsonDeserialize(File)
VARIABLE pos
Lines == [p \in P |-> SelectSeq(Log, LAMBDA x : x.p = p)]
TraceInit == Init /\ pos = [p \in P |-> 0]
Step(p) == /\ pos[p] < Len(Lines[p])
           /\ LET e == Lines[p][pos[p] + 1].event IN
              \/ e = "request" /\ Request(p)
              \/ e = "acquire" /\ Acquire(p)
              \/ e = "release" /\ Release(p)
           /\ pos' = [pos EXCEPT ![p] = @ + 1]
Spec == TraceInit /\ [][\E p \in P : Step(p)]_<<vars, pos>>
Accepted == TLCGet("stats").diameter = 1 + Len(Log)
Trivial == TLCGet("stats").diameter >= 2
====
`
	for _, c := range []struct {
		name, trace, config string
		log                 []string
		how                 Reading
		want                string
	}{
		{"a variable", byVariable, "SPECIFICATION Spec PROPERTY Matched", good, Reading{}, "accepted by l, Matched"},
		{"what the line asks for is not possible", byVariable, "SPECIFICATION Spec PROPERTY Matched INVARIANT Known", wrong,
			Reading{}, "refused at line 3 by l: p \\in waiting"},
		{"a property that waits for the end", byVariable, "SPECIFICATION Spec PROPERTY Finished", good, Reading{}, "accepted by l, Finished"},
		{"no property at all", byVariable, "SPECIFICATION Spec", good, Reading{}, "accepted by l, l > 6"},
		{"an invariant that is broken at the end", byVariable, "SPECIFICATION Spec INVARIANT NotDone", good, Reading{}, "accepted by l, l > 6"},
		{"one of the present state", byVariable, "SPECIFICATION Spec INVARIANT Short", good, Reading{}, "Short is broken at line 5"},
		{"one that only some behaviours break", several, "SPECIFICATION Spec INVARIANT Crowd",
			slices.Delete(slices.Clone(good), 1, 2), Reading{}, "accepted by l, l > 5"},
		{"a property of whole behaviours", byVariable, "SPECIFICATION Spec PROPERTY Fair", good, Reading{}, "accepted by l, l > 6; not checked: Fair"},
		{"lines that are not of the log", filtered, "SPECIFICATION Spec PROPERTY Matched",
			slices.Insert(slices.Clone(wrong), 0, tagged[0]), Reading{}, "refused at line 4 by l: p \\in waiting"},
		{"an index that begins at 0", fromZero, "SPECIFICATION Spec", good, Reading{}, "accepted by l + 1, l + 1 > 6"},
		{"the last line is only looked at", ahead, "SPECIFICATION Spec", good, Reading{}, "refused at line 6 by l: l < Len(Log)"},
		{"and the end is named", ahead, "SPECIFICATION Spec", good, Reading{End: "Last"}, "accepted by l, Last"},
		{"the number of the state", byLevel, "SPECIFICATION Spec VIEW View ACTION_CONSTRAINT Constraint POSTCONDITION Accepted",
			good, Reading{}, `accepted by TLCGet("level"), TLCGet("level") > 6`},
		{"and a line that is not possible", byLevel,
			"SPECIFICATION Spec VIEW View ACTION_CONSTRAINT Constraint POSTCONDITION Accepted", wrong, Reading{},
			`refused at line 3 by TLCGet("level"): p \in waiting`},
		{"no position", perProcess, `SPECIFICATION Spec POSTCONDITION Accepted CONSTANT File = "log.ndjson"`, good, Reading{},
			"accepted by , POSTCONDITION Accepted"},
		{"no position, and no behaviour", perProcess, `SPECIFICATION Spec POSTCONDITION Accepted CONSTANT File = "log.ndjson"`, wrong, Reading{}, "refused"},
		{"a condition that tells nothing", perProcess, `SPECIFICATION Spec POSTCONDITION Trivial CONSTANT File = "log.ndjson"`,
			wrong, Reading{}, "unknown: Trivial is also true of shorter behaviours, so it does not show where the log ends; name that with --end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := validate(t, c.trace, c.config, c.log, c.how)
			if err != nil {
				t.Fatal(err)
			}
			if got := summary(v); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s\nand not %s", got, c.want)
			}
		})
	}
}

func summary(v *Validation) string {
	text := ""
	switch {
	case v.Unknown != "":
		return "unknown: " + v.Unknown
	case v.Violation != nil:
		return fmt.Sprintf("%s is broken at line %d", v.Violation.Name, v.BrokenAt)
	case v.Accepted:
		text = fmt.Sprintf("accepted by %s, %s", v.Position, v.End)
	case v.Line == 0:
		return "refused"
	default:
		text = fmt.Sprintf("refused at line %d by %s", v.Line, v.Position)
		for _, tried := range v.Tried {
			for i, g := range tried.Guards {
				text += map[bool]string{true: ": ", false: ", "}[i == 0] + g.Text
			}
		}
	}
	for _, u := range v.Unchecked {
		text += "; not checked: " + u.Name
	}
	return text
}

func TestValidateIsLinear(t *testing.T) {
	work := func(rounds int) (int, int) {
		var log []string
		for range rounds {
			log = append(log, good...)
		}
		v, err := validate(t, byVariable, "SPECIFICATION Spec PROPERTY Matched INVARIANT Known", log, Reading{})
		if err != nil || !v.Accepted {
			t.Fatal(v, err)
		}
		return v.States, v.Steps
	}
	states, steps := work(100)
	moreStates, moreSteps := work(1000)
	if moreStates-1 != 10*(states-1) || moreSteps-1 != 10*(steps-1) {
		t.Errorf("%d states and %d steps, and %d and %d for a log ten times as long", states, steps, moreStates, moreSteps)
	}
}

func TestValidateErrors(t *testing.T) {
	broken := slices.Clone(good)
	broken[4] = `{"event":"acquire",]`
	cut := slices.Clone(good)
	cut[5] = `{"event":"rel`
	null := slices.Clone(good)
	null[1] = `{"event":null}`
	bare := slices.Clone(good)
	bare[3] = `{"p":"a"}`
	two := strings.Replace(byVariable, "VARIABLE l\n", "VARIABLES l, k\n", 1)
	two = strings.NewReplacer("l = 1", `l = 1 /\ k = 1`, "l' = l + 1", `l' = l + 1 /\ k' = Log[k].p`).Replace(two)
	for _, c := range []struct {
		name, trace string
		log         []string
		how         Reading
		want        []string
	}{
		{"a mistake in the log", byVariable, broken, Reading{},
			[]string{`recorded.ndjson:5:20: invalid character ']'`, "\n" + broken[4] + "\n                   ^"}},
		{"a log that is cut", byVariable, cut, Reading{}, []string{"recorded.ndjson:6:14: invalid character '\\n' in string literal"}},
		{"null", byVariable, null, Reading{}, []string{"recorded.ndjson:2:10: null has no counterpart in TLA+"}},
		{"a line that cannot be evaluated", byVariable, bare, Reading{}, []string{"event", "That was met at ", "recorded.ndjson:4:\n" + bare[3]}},
		{"two positions", two, good, Reading{}, []string{"by k and by l: name the position by --position NAME"}},
		{"a position that is none", byVariable, good, Reading{Position: "nothing"},
			[]string{"module Trace has no operator nothing without parameters that could be the position"}},
		{"an end that is none", byVariable, good, Reading{End: "Is"},
			[]string{"module Trace has no operator Is without parameters that could be the end of the log"}},
		{"no log", lock, good, Reading{}, []string{"the specification reads no log"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			trace := c.trace
			spec := "Spec"
			if trace == lock {
				trace, spec = "---- MODULE Trace ----\nEXTENDS Lock\nSpec == Init /\\ [][Next]_vars\n====\n", "Spec"
			}
			_, err := validate(t, trace, "SPECIFICATION "+spec, c.log, c.how)
			if err == nil {
				t.Fatal("there is no error")
			}
			text := err.Error()
			var placed *syntax.Error
			if errors.As(err, &placed) {
				text = placed.Error()
				if !strings.Contains(text, placed.Message) {
					text += placed.Message
				}
			}
			text += err.Error()
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("the error does not have %q:\n%s", want, text)
				}
			}
		})
	}
}

// etcd finds the specifications that etcd's raft has with it, in the module cache.
func etcd(t *testing.T) string {
	t.Helper()
	inModule := func(args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = filepath.Join("..", "examples", "inprocess", "raft")
		return cmd.Output()
	}
	inModule("mod", "download", "go.etcd.io/raft/v3") // which list does not do
	out, err := inModule("list", "-m", "-f", "{{.Dir}}", "go.etcd.io/raft/v3")
	folder := filepath.Join(strings.TrimSpace(string(out)), "tla")
	if _, statErr := os.Stat(filepath.Join(folder, "example.ndjson")); err != nil || statErr != nil {
		needs.Missing(t, "go.etcd.io/raft/v3", "it is not in the module cache", err)
	}
	return folder
}

// TestValidateEtcd goes through the log that etcd's raft has with it, as it is and with one thing changed in it.
func TestValidateEtcd(t *testing.T) {
	folder := etcd(t)
	text, err := os.ReadFile(filepath.Join(folder, "example.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	nth := func(name string, n int) int {
		for i, line := range lines {
			if strings.Contains(line, `"name":"`+name+`"`) {
				if n--; n == 0 {
					return i
				}
			}
		}
		t.Fatalf("the log has too few lines of %s", name)
		return 0
	}
	changed := func(at int, change func(event map[string]any)) []string {
		var line map[string]any
		if err := json.Unmarshal([]byte(lines[at]), &line); err != nil {
			t.Fatal(err)
		}
		change(line["event"].(map[string]any))
		b, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		list := slices.Clone(lines)
		list[at] = string(b)
		return list
	}
	state := func(key string, v any) func(map[string]any) {
		return func(event map[string]any) { event["state"].(map[string]any)[key] = v }
	}
	vote, commit, leader := nth("ReceiveRequestVoteResponse", 2), nth("Commit", 20), nth("BecomeLeader", 1)
	swapped := slices.Clone(lines)
	swapped[commit-1], swapped[commit] = swapped[commit], swapped[commit-1]
	for _, c := range []struct {
		name string
		log  []string
		line int
	}{
		{"the log", lines, 0},
		{"a term", changed(vote, state("term", 7)), vote + 1},
		{"a vote", changed(vote, state("vote", "4")), vote + 1},
		{"a commit index", changed(commit, state("commit", 1)), commit + 1},
		{"a role", changed(vote, func(event map[string]any) { event["role"] = "StateLeader" }), vote + 1},
		{"a dropped line", slices.Delete(slices.Clone(lines), leader, leader+1), leader + 1},
		{"two lines swapped", swapped, commit},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, err := ReadConfig(filepath.Join(folder, "Traceetcdraft.cfg"))
			if err != nil {
				t.Fatal(err)
			}
			config.Log = filepath.Join(t.TempDir(), "log.ndjson")
			if err := os.WriteFile(config.Log, []byte(strings.Join(c.log, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			spec, err := Load(filepath.Join(folder, "Traceetcdraft.tla"), config)
			if err != nil {
				t.Fatal(err)
			}
			v, err := Validate(spec, Options{}, Reading{})
			if err != nil {
				t.Fatal(err)
			}
			if v.Accepted != (c.line == 0) || v.Line != c.line || c.line == 0 && v.Items != len(lines) {
				t.Errorf("it should be refused at line %d: %s", c.line, summary(v))
			}
			if c.line > 0 && (v.Text != c.log[c.line-1] || len(v.Tried) == 0 || len(v.Tried[0].Guards) == 0) {
				t.Errorf("it is refused at %q with %v", v.Text, v.Tried)
			}
		})
	}
}
