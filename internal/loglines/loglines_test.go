package loglines

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Lines that say the same have one template, and others do not.
func TestTemplate(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"[10] 2025/01/01 00:00:17.110502 [INF] 10.77.0.12:32779 - rid:23 - closed", "[12] 2025/01/01 00:01:02.5 [INF] 10.77.0.9:4 - rid:7 - closed", true},
		{"write /data/000001.log: no space", "write /data/000002.log: no space", true},
		{"ID: NDVHBN5GCZU5NXLUCPPALA5P6C4NCIUITFOGSPUPCLKN", "ID: NAAAN5GCZU5NXLUCPPALA5P6C4NCIUITFOGSPUPCLKX", true},
		{"request 0x7f3a done", "request 12 done", true},
		{"leader elected", "leader lost", false},
		{"database does not open", "database opens", false},
		{"ERROR: failed", "INFO: failed", false},
	} {
		if got := Template(c.a) == Template(c.b); got != c.same {
			t.Errorf("%q and %q: the same %v, want %v", Template(c.a), Template(c.b), got, c.same)
		}
	}
}

func node(name string, role world.Role, command ...string) world.Node {
	return world.Node{Name: name, Role: role, Command: command}
}

// Nodes that run the same program in the same role are one group, whatever their arguments; behind an interpreter the script counts.
func TestGroups(t *testing.T) {
	spec := &world.Spec{Nodes: []world.Node{
		node("n1", world.Server, "/bin/etcd", "--name", "n1"), node("n2", world.Server, "/bin/etcd", "--name", "n2"), node("load", world.Client, "/bin/etcd"),
		node("p1", world.Server, "/usr/bin/python3", "-u", "a.py"), node("p2", world.Server, "/usr/bin/python3", "b.py"),
		node("p3", world.Server, "/usr/bin/python3", "a.py"),
	}}
	want := map[string]string{"n1": "n1", "n2": "n1", "load": "load", "p1": "p1", "p2": "p2", "p3": "p1"}
	if got := Groups(spec); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Unusual are the templates that few of the counted runs have, the rarest first, each once.
func TestUnusual(t *testing.T) {
	spec := &world.Spec{Nodes: []world.Node{node("n1", world.Server, "kv", "1"), node("n2", world.Server, "kv", "2")}}
	log := func(lines ...string) (list []record.LogLine) {
		for i, text := range lines {
			list = append(list, record.LogLine{Node: fmt.Sprint("n", i%2+1), Text: text})
		}
		return list
	}
	var c Counts
	for i := range 20 {
		lines := log("start 1", "stored 7")
		if i == 3 {
			lines = append(lines, log("retry 1")...)
		}
		c.Add(Keys(spec, lines))
	}
	got := c.Unusual(spec, log("start 2", "retry 5", "stored 1", "corrupt page 4", "stored 3", "corrupt page 9"), func(*record.LogLine) bool { return true })
	want := []Unusual{{Line: 3, Times: 2, Runs: 0}, {Line: 1, Times: 1, Runs: 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// What is kept of logs is bounded, and says so.
func TestCountsAreBounded(t *testing.T) {
	var c Counts
	for run := range 3 {
		var keys []uint64
		for i := range MaxTemplates/2 + 1 {
			keys = append(keys, uint64(run*MaxTemplates+i))
		}
		c.Add(keys)
		if full := run > 0; c.Full != full {
			t.Errorf("after run %d: full %v", run, c.Full)
		}
	}
	if len(c.Templates) != MaxTemplates || c.Runs != 3 {
		t.Errorf("%d templates of %d runs", len(c.Templates), c.Runs)
	}
	spec := &world.Spec{Nodes: []world.Node{node("n1", world.Server, "kv")}}
	var log []record.LogLine
	for i := range 2 * MaxOfRun { // words of letters alone
		text := ""
		for n := i + 1; n > 0; n /= 26 {
			text += string(rune('a' + n%26))
		}
		log = append(log, record.LogLine{Node: "n1", Text: text})
	}
	keys := Keys(spec, log)
	if c = (Counts{}); len(keys) != MaxOfRun {
		t.Errorf("%d keys", len(keys))
	}
	if c.Add(keys); !c.Full {
		t.Error("a log of more templates than are kept counts as whole")
	}
}
