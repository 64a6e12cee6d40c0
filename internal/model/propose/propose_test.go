package propose

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/world"
	"github.com/bloodhound-dst/bloodhound/tla"
)

var raft = filepath.Join("..", "..", "..", "bench", "raft")

func load(t *testing.T, file string) *tla.Spec {
	t.Helper()
	c, err := tla.ReadConfig(strings.TrimSuffix(file, ".tla") + ".cfg")
	if err != nil {
		t.Fatal(err)
	}
	spec, err := tla.Load(file, c)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func logs(t *testing.T, name string) []model.Event {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	l := ReadLogs([]string{name}, []string{string(text)})
	if l.Disordered != "" || l.Left > 0 {
		t.Fatal(l.Disordered, l.Left)
	}
	return l.Events
}

// byHand are the rules about log lines in a configuration, by their actions.
func byHand(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(raft, file))
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]string{}
	for _, m := range regexp.MustCompile(`- \{log: '(.*)', action: (\w+), (args: \[.*?\])`).FindAllStringSubmatch(string(text), -1) {
		rules[m[2]+" "+m[3]] = m[1]
	}
	return rules
}

// The lines that people mapped by hand to actions are those that are proposed, but for some.
func TestProposalsAreMostlyTheRulesThatWereWrittenByHand(t *testing.T) {
	for _, c := range []struct {
		name   string
		wrong  []string // actions whose rule by hand is about other lines
		second string   // that is among what else is shown
	}{
		{"redisraft", []string{"Load"}, "- {log: '<raft> Raft state after loading log', action: Load, args: [node], optional: true}"},
		{"etcd", []string{"Start"}, ""},
	} {
		spec, events := load(t, filepath.Join(raft, "Elections.tla")), logs(t, c.name+".log")
		p, err := New(spec, events)
		if err != nil {
			t.Fatal(err)
		}
		lines := func(pattern string) (list []int) {
			re := regexp.MustCompile(pattern)
			for i, e := range events {
				if re.MatchString(e.Line) {
					list = append(list, i)
				}
			}
			return list
		}
		hand := byHand(t, c.name+".yaml")
		proposed, right, rightLines, proposedLines, handLines := 0, 0, 0, 0, 0
		var wrong []string
		for _, r := range p.Rules() {
			if r.Log == "" {
				continue
			}
			pattern := hand[fmt.Sprintf("%s args: [%s]", r.Action, strings.Join(r.Args, ", "))]
			proposed++
			mine := lines(r.Log)
			proposedLines += len(mine)
			if pattern != "" && slices.Equal(mine, lines(pattern)) {
				right++
				rightLines += len(mine)
			} else {
				wrong = append(wrong, r.Action)
			}
		}
		for _, pattern := range hand {
			handLines += len(lines(pattern))
		}
		t.Logf("%s: rules: precision %d/%d, recall %d/%d; lines: precision %d/%d, recall %d/%d", c.name, right, proposed, right,
			len(hand), rightLines, proposedLines, rightLines, handLines)
		if !slices.Equal(wrong, c.wrong) || right != len(hand)-len(c.wrong) {
			t.Errorf("%s: rules of %v are others than by hand, want %v; %d of %d are the same", c.name, wrong, c.wrong, right, len(hand))
		}
		var out bytes.Buffer
		if err := p.Write(&out, &world.Mapping{Spec: "Elections.tla"}, c.name); err != nil || !strings.Contains(out.String(), c.second) {
			t.Errorf("%s: error %v, no %s in\n%s", c.name, err, c.second, out.String())
		}
	}
}

// follow follows events by what is proposed.
func follow(t *testing.T, p *Proposal, file string, events []model.Event) *model.Followed {
	t.Helper()
	c, err := model.Map(&world.Mapping{Spec: file, Config: strings.TrimSuffix(file, ".tla") + ".cfg", LeftOut: 1, Lines: p.LinesPattern(), Rules: p.Rules()})
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Follow(events, false)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A specification that the log contradicts is left, where the right one is followed to the end.
func TestAProposalLeavesASpecificationThatTheLogContradicts(t *testing.T) {
	events := logs(t, "etcd.log")
	text, err := os.ReadFile(filepath.Join(raft, "Elections.tla"))
	if err != nil {
		t.Fatal(err)
	}
	config, _ := os.ReadFile(filepath.Join(raft, "Elections.cfg"))
	for _, wrong := range []bool{false, true} {
		if wrong { // a leader would be in a later term than it campaigned in
			text = []byte(strings.Replace(string(text), "Lead(n, t) ==\n  /\\ t >= term[n]", "Lead(n, t) ==\n  /\\ t > term[n]", 1))
		}
		file := filepath.Join(t.TempDir(), "Elections.tla")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(strings.TrimSuffix(file, ".tla")+".cfg", config, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := New(load(t, file), events)
		if err != nil {
			t.Fatal(err)
		}
		f := follow(t, p, file, events)
		if !wrong && (f.Err != nil || f.Tally.Mapped != 31 || len(f.Tally.Unmodelled) > 0) {
			t.Errorf("%v; %s", f.Err, &f.Tally)
		}
		if wrong && (f.Err == nil || !strings.Contains(f.Err.Error(), "t > term[n] is false") || !strings.Contains(f.At.Line, "became leader")) {
			t.Errorf("%v at %v", f.Err, f.At)
		}
	}
}

// Events of an SDK, nodes that are numbers in the specification, and names that expressions reserve.
func TestEventsOfAnSDKAreMappedToo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "Votes.tla")
	for name, text := range map[string]string{file: `---- MODULE Votes ----
EXTENDS Naturals
CONSTANTS Server, Keys
VARIABLE votes
Init == votes = [i \in Server |-> {}]
Grant(i, j, term) == i # j /\ votes' = [votes EXCEPT ![i] = @ \cup {<<j, term>>}]
Write(i, key) == votes[i] # {} /\ UNCHANGED votes
PowerDown(i) == votes' = [votes EXCEPT ![i] = {}]
Next == \E i \in Server : PowerDown(i) \/ (\E j \in Server, t \in Nat : Grant(i, j, t)) \/ \E k \in Keys : Write(i, k)
====
`, strings.Replace(file, ".tla", ".cfg", 1): "INIT Init\nNEXT Next\nCONSTANTS Server = {1, 2} Keys = {k1, k2}  k1 = k1 k2 = k2\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	events := []model.Event{
		{Kind: model.SDKEvent, Node: "s1", Line: `vote granted {"id":"a1b","to":2,"term":3}`},
		{Kind: model.SDKEvent, Node: "s2", Line: `vote granted {"id":"c2d","to":1,"term":3}`},
		{Kind: model.LineEvent, Node: "s1", Line: "writes k1"},
		{Kind: model.CrashEvent, Node: "s1"},
		{Kind: model.LineEvent, Node: "s1", Line: "writes k2"},
	}
	p, err := New(load(t, file), events)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range p.Rules() {
		got = append(got, flow(r))
	}
	want := []string{
		`{sdk: 'vote granted \{"id":"[\w-]+","to":(?P<j>\d+),"term":(?P<term>\d+)', action: Grant, args: ['int(trimPrefix(node, "s"))', int(j), int(term)], optional: true}`,
		`{log: 'writes (?P<the_key>[\w-]+)', action: Write, args: ['int(trimPrefix(node, "s"))', name(the_key)], optional: true}`,
		`{crash: true, action: PowerDown, args: ['int(trimPrefix(node, "s"))']}`,
		`{restart: true, ignore: 'no action has a name like a restart'}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if f := follow(t, p, file, events); f.Err == nil || f.At.Line != "writes k2" || f.Tally.Mapped != 5 {
		t.Errorf("%v at %v; %s", f.Err, f.At, &f.Tally)
	}
}

func TestTemplatesKeepFewWordsApartAndMaskMany(t *testing.T) {
	var events []model.Event
	for i, name := range strings.Fields("ann bob cid dan eve fay gil hal ida") {
		events = append(events, model.Event{Kind: model.LineEvent, Node: "n1",
			Line: fmt.Sprintf("2026-01-02T03:04:05.%d user %s logs in from 10.0.0.%d", i, name, i)})
	}
	for _, role := range []string{"leader", "follower"} {
		for _, node := range []string{"n1", "n2"} {
			events = append(events, model.Event{Kind: model.LineEvent, Node: node,
				Line: "id-" + node + "7 became " + role + " of " + node + " at term 3 after 20ms [1, 2, 3]"})
		}
	}
	list := mine(events, map[string]bool{"n1": true, "n2": true}, nil)
	var got []string
	for _, x := range list {
		got = append(got, fmt.Sprintf("%d %s", x.count, x.pattern(nil, false)))
	}
	want := []string{`9 user [\w-]+ logs in from`, `2 became leader of [\w-]+ at term [\w-]+ after`, `2 became follower of [\w-]+ at term [\w-]+ after`}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if own := &list[1].pieces[0]; !own.own() || list[0].pieces[2].own() {
		t.Errorf("%+v names who writes, and %+v does not", own, list[0].pieces[2])
	}
}

// Colours and bytes of another encoding are in logs, and in no proposal.
func TestPatternsAreOfPrintableCharacters(t *testing.T) {
	line := "\x1b[32minfo\x1b[0m \xff\xfe it's now\tleader, term 3"
	list := mine([]model.Event{{Kind: model.LineEvent, Node: "n1", Line: line}}, nil, nil)
	pattern := list[0].pattern(map[int]string{len(list[0].pieces) - 1: "t"}, false)
	m := regexp.MustCompile(pattern).FindStringSubmatch(line)
	if m == nil || m[1] != "3" || strings.ContainsAny(pattern, "\x1b\t\xff") {
		t.Errorf("%q finds %q", pattern, m)
	}
}

func TestLogsOfNodesAreOrderedByTheirDates(t *testing.T) {
	one, two := "2026-01-02T03:04:05Z a\n  more of a\n2026-01-02T03:04:07Z c\n", `{"level":"info","ts":"2026-01-02T03:04:06.5Z","msg":"b"}`
	var got []string
	l := ReadLogs([]string{"logs/n1.log", "n2.json"}, []string{one, two})
	for _, e := range l.Events {
		got = append(got, e.Node+e.Line[len(e.Line)-3:])
	}
	if want := []string{"n1Z a", "n1f a", `n2b"}`, "n1Z c"}; !slices.Equal(got, want) || l.Disordered != "" {
		t.Errorf("%q %s, want %q", got, l.Disordered, want)
	}
	if l := ReadLogs([]string{"n1.log", "n2.log"}, []string{one, "b"}); !strings.Contains(l.Disordered, "n2.log") {
		t.Errorf("%q", l.Disordered)
	}
}
