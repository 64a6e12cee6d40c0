package check

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/check/isolation"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/sdk"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// renew writes the signatures that the test gets. They are ids of failures that people have: a changed one makes a stored failure unknown.
var renew = flag.Bool("update", false, "write testdata/identities.txt")

// violating is a run, or a history, in which something is wrong. testdata/violations.jsonl has many.
type violating struct {
	Entry    string                   `json:"entry"` // which function judges it
	Property *world.Property          `json:"property"`
	Spec     *world.Spec              `json:"spec"`
	Outcome  *record.Outcome          `json:"outcome"`
	Ops      []history.Operation      `json:"ops"`
	Limits   histories.WorkloadLimits `json:"limits"`
}

func (x *violating) judge() []Verdict {
	switch x.Entry {
	case "operations":
		return []Verdict{histories.Operations(x.Property, x.Ops)}
	case "workload":
		return []Verdict{histories.Workload(x.Property, x.Limits, x.Ops)}
	}
	return Judge(x.Spec, x.Outcome)
}

// violations gives runs that show each cause at least once.
func violations(t *testing.T) (list []violating) {
	file, err := os.Open("testdata/violations.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var x violating
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	judged := func(spec *world.Spec, out *record.Outcome) { list = append(list, violating{Spec: spec, Outcome: out}) }
	one := func(check world.Check, kind world.PropertyKind, out *record.Outcome) {
		judged(&world.Spec{Properties: []world.Property{{Name: "p", Kind: kind, TimeoutNs: 10 * second, Check: check}}}, out)
	}
	model := commitWorld()
	judged(model, logged("5 p1 prepared", "6 p1 prepared"))
	judged(model, logged("1 p1 prepared", "2 coordinator vote p1 makes 2"))
	calm := func(i int) string {
		return fmt.Sprintf("queue_jobs{kind=\"a\"} %d\nqueue_errors_total{code=\"404\"} 1\n", i)
	}
	judged(&world.Spec{Properties: []world.Property{*quietQueue()}},
		&record.Outcome{Reason: record.Finished, Probes: scrapesOf(30, calm), VirtualNs: 300 * second, ReadyNs: 1})
	judged(&world.Spec{}, &record.Outcome{Reason: record.Finished, SDK: sdk.Record{Assertions: []sdk.Assertion{{Type: sdk.Reachability, Message: "never here",
		Location: sdk.Location{File: "a.go", Function: "f", Line: 3}, Hits: 1, Pass: &sdk.Sighting{Node: "n", Event: 3}}}}})
	one(world.Check{Type: world.RunningCheck}, world.Safety, &record.Outcome{Reason: record.Finished,
		NotUp: []record.NotUp{{Node: "db", State: "ended", Why: "x"}}})
	one(world.Check{Type: world.ProgressCheck, Patience: world.Patience{Failures: 3}}, world.Progress, run(t, fails(3, 1, "put(a)")))
	one(world.Check{Type: world.ProgressCheck,
		Patience: world.Patience{HangNs: 5 * second}}, world.Progress, run(t, "0:get(a) 0.1:get(a)! 1:put(a) 20:put(a)!"))
	one(world.Check{Type: world.RecoveryCheck, Jobs: world.Jobs{Start: "start (.*)", Done: "done (.*)"}}, world.Recovery,
		run(t, "1:@a 2:@a! 3:@a 4:@a/ 4.1:#5 5:heal 6:@b 6.1:@b! 16:end"))
	one(world.Check{Type: world.RecoveryCheck}, world.Recovery, run(t, "1:put(a) 1.1:put(a)! 3:#5 5:heal "+fails(9, 6, "~put(a)")+"16:end"))
	spec, _ := trio(world.Check{Type: world.Custom, Tolerance: world.Tolerance{While: "majority connected"}}, world.Liveness)
	judged(spec, checked(t, [][2]int64{{10, 30}}, "crash n3 10..30"))
	for _, p := range []struct {
		check world.CheckType
		says  string
	}{
		{world.HTTPCheck, world.WrongStatus.Say("http://n1", 500, 200)}, {world.HTTPCheck, world.WrongBody.Say("http://n1", "a", "b")},
		{world.RedisCheck, world.WrongReply.Say("redis://n1", "GET a", "a", "b")}, {world.RedisCheck, world.ErrorReply.Say("redis://n1", "GET a", "a")},
		{world.SQLCheck, world.WrongRows.Say("mysql://n1", "SELECT 1", "a", "b")}, {world.SQLCheck,
			world.QueryRefused.Say("mysql://n1", "SELECT 1", "no such table")},
		{world.Agreement, world.NodesDiffer.Say("n1 says 1; n2 says 2")}, {world.Agreement, world.NodesSilent.Say("n1")},
		{world.Agreement, world.NodeStrange.Say("n1", "a+")}, {world.Agreement, world.NodesStrange.Say("n1, n2", "a+")},
		{world.Custom, "the user's own words"},
	} {
		out := &record.Outcome{Reason: record.Finished, VirtualNs: 60 * second, ReadyNs: 1,
			Probes: []record.Probe{{Property: "p", Phase: finalPhase, Event: 7, ExitCode: world.ProbeViolated, Output: p.says}}}
		one(world.Check{Type: p.check, Question: world.Question{Query: "SELECT 1"}}, world.Safety, out)
		one(world.Check{Type: p.check, Question: world.Question{Query: "SELECT 1"}}, world.Liveness, out)
	}
	operations := func(c world.Check, text string) {
		var ops []history.Operation
		for i, line := range strings.Split(text, "; ") {
			words := strings.Split(line, " -> ")
			op, input, _ := strings.Cut(words[0], " ")
			o := history.Operation{Client: "c", Op: op, Key: "k", Input: input, Call: uint64(2*i + 1), Return: uint64(2*i + 2), Type: history.Ok}
			if len(words) > 1 {
				o.Output, o.Found = words[1], true
			}
			ops = append(ops, o)
		}
		list = append(list, violating{Entry: "operations", Property: &world.Property{Name: "p", Kind: world.Safety, Check: c}, Ops: ops})
	}
	object := func(model string) world.Check {
		return world.Check{Type: world.Linearizability, Subject: world.Subject{Model: model}}
	}
	operations(object("counter"), "incr -> -1; incr -> 1")
	operations(object("queue"), "dequeue -> a; enqueue a")
	var together []history.Operation // all of them are under way at the same time
	for i, accesses := range []string{`[["r","y",null]]`, `[["w","x",1],["r","y",null],["r","z",null]]`, `[["r","x",null],["r","x",null],["w","y",2]]`,
		`[["r","z",null],["r","y",null],["w","x",3]]`, `[["w","y",4],["r","x",null]]`, `[["r","z",null],["r","y",2]]`} {
		together = append(together, history.Operation{Client: fmt.Sprint("c", i), Op: "txn", Type: history.Ok, Call: uint64(i + 1), Return: uint64(100 + i),
			Input: accesses, Output: accesses, Found: true})
	}
	list = append(list, violating{Entry: "operations", Ops: together, Property: &world.Property{Name: "p", Kind: world.Safety,
		Check: world.Check{Type: world.Isolation, Subject: world.Subject{Model: histories.RWRegister, Level: string(isolation.SnapshotIsolation)}}}})
	list = append(list, violating{Entry: "workload", Property: &world.Property{Name: "p",
		Check: world.Check{Subject: world.Subject{Model: histories.LongFork}}},
		Ops: []history.Operation{{Client: "c", Op: "txn", Type: history.Ok, Call: 1, Return: 2, Input: `[["r","x",null],["r","x",null]]`,
			Output: `[["r","x",1],["r","x",2]]`}}})
	return list
}

// identities are the signatures of all violations, each once.
func identities(t *testing.T) (signatures []string, codes []failure.Code) {
	seen, causes := map[string]bool{}, map[failure.Code]bool{}
	for _, x := range violations(t) {
		for _, v := range x.judge() {
			if v.Status == Violated {
				seen[v.Signature()] = true
				causes[v.Cause.Code] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen)), slices.Sorted(maps.Keys(causes))
}

// Signatures stay, or people's failures are unknown: testdata/identities.txt has them, of each code that the checks declare.
func TestIdentities(t *testing.T) {
	signatures, codes := identities(t)
	for _, c := range failure.Codes() {
		if !slices.Contains(codes, c) {
			t.Errorf("no violation has the code %s", c)
		}
	}
	text := strings.Join(signatures, "\n") + "\n"
	const file = "testdata/identities.txt"
	if *renew {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	had := strings.Split(strings.TrimSpace(string(want)), "\n")
	for _, s := range signatures {
		if !slices.Contains(had, s) {
			t.Errorf("a new signature: %s", s)
		}
	}
	for _, s := range had {
		if !slices.Contains(signatures, s) {
			t.Errorf("no violation has the signature %s any more", s)
		}
	}
}

// envReworded is set in the process that is built with other words.
const envReworded = "BLOODHOUND_TEST_REWORDED"

// reworded are the files whose words people read in reasons.
var reworded = []string{"*.go", "histories/*.go", "verdict/*.go", "isolation/*.go", "linear/*.go", "../model/model.go", "../world/probewords.go"}

// Ids do not depend on words: this package's checks are built once more with every text for people changed in their sources, judge the same runs, and
// give the same signatures, although no reason is the same.
func TestReworded(t *testing.T) {
	if os.Getenv(envReworded) != "" {
		for _, x := range violations(t) {
			for _, v := range x.judge() {
				if v.Status == Violated {
					fmt.Printf("reworded\t%s\t%s\n", v.Signature(), strings.ReplaceAll(v.Reason, "\n", " "))
				}
			}
		}
		return
	}
	if testing.Short() {
		t.Skip("builds the package again")
	}
	overlay := map[string]map[string]string{"Replace": {}}
	dir, words := t.TempDir(), 0
	for _, pattern := range reworded {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, n := rewordedFile(t, file)
			to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
			if err := os.WriteFile(to, text, 0o666); err != nil {
				t.Fatal(err)
			}
			path, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			overlay["Replace"][path] = to
			words += n
		}
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, list, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-overlay="+name, "-run=^TestReworded$", "-v", ".")
	cmd.Env = append(os.Environ(), envReworded+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	signatures, _ := identities(t)
	reasons := map[string]bool{}
	for _, x := range violations(t) {
		for _, v := range x.judge() {
			reasons[strings.ReplaceAll(v.Reason, "\n", " ")] = v.Status == Violated
		}
	}
	seen := map[string]bool{}
	for _, line := range strings.Split(string(out), "\n") {
		row := strings.Split(line, "\t")
		if row[0] != "reworded" {
			continue
		}
		if seen[row[1]] = true; !slices.Contains(signatures, row[1]) {
			t.Errorf("in other words, there is the signature %s", row[1])
		}
		if reasons[row[2]] {
			t.Errorf("the words of %s are the same: %s", row[1], row[2])
		}
	}
	if len(seen) != len(signatures) || words < 300 {
		t.Errorf("%d signatures of %d, with %d texts changed", len(seen), len(signatures), words)
	}
}

// verbs finds what package fmt fills in.
var verbs = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?[\d.*]*[a-zA-Z%]`)

// rewordedFile is a source file with the letters of all texts for people changed: those with a blank between letters or at an end, apart from regular
// expressions.
func rewordedFile(t *testing.T, file string) (text []byte, words int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	type edit struct {
		from, to int
		text     string
	}
	var edits []edit
	keep := map[ast.Node]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			keep[n.Tag] = true
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(f.Sel.Name, "MustCompile") {
				return false
			}
		case *ast.BasicLit:
			value, err := strconv.Unquote(n.Value)
			if n.Kind != token.STRING || err != nil || keep[n] || !strings.Contains(value, " ") || !strings.ContainsFunc(value, isLetter) {
				break
			}
			from := files.Position(n.Pos()).Offset
			edits = append(edits, edit{from, from + len(n.Value), strconv.Quote(otherWords(value))})
		}
		return true
	})
	for _, e := range slices.Backward(edits) {
		text = slices.Concat(text[:e.from], []byte(e.text), text[e.to:])
	}
	return text, len(edits)
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// otherWords changes the letters of a text, but for what package fmt fills in: the next letter but twelve takes the place of each.
func otherWords(text string) string {
	var b strings.Builder
	other := func(s string) {
		b.WriteString(strings.Map(func(r rune) rune {
			switch {
			case 'a' <= r && r <= 'z':
				return 'a' + (r-'a'+13)%26
			case 'A' <= r && r <= 'Z':
				return 'A' + (r-'A'+13)%26
			}
			return r
		}, s))
	}
	at := 0
	for _, verb := range verbs.FindAllStringIndex(text, -1) {
		other(text[at:verb[0]])
		b.WriteString(text[verb[0]:verb[1]])
		at = verb[1]
	}
	other(text[at:])
	return b.String()
}
