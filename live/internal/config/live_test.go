package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestLive(t *testing.T) {
	load := func(text string) (*Live, error) {
		path := filepath.Join(t.TempDir(), "live.yaml")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		l, _, err := LoadLive(path)
		return l, err
	}
	l, err := load("store: dir:x\ncheckpoint_every: 5s\nbudget: {cpus: 1.5, paths: 3, explore: 1m, path_time: 1s, memory_bytes: " +
		"10000000, cgroup: /g, cpu_list: [1, 3]}\nnodes: {a: {socket: s, handlers: [h, i]}, b: {socket: /t, restore: \"./kv -x 1\"}}\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Budget{Explore: time.Minute, PathTime: time.Second, Paths: 3, CPUs: 1.5, MemoryBytes: 10_000_000, Cgroup: "/g", CPUList: []int{1, 3}}
	if !reflect.DeepEqual(l.Budget, want) || l.Store != "dir:x" || l.CheckpointEvery != 5*time.Second || len(l.Nodes) != 2 ||
		!filepath.IsAbs(l.Nodes[0].Socket) || len(l.Nodes[0].Handlers) != 2 || l.Nodes[1].Socket != "/t" ||
		len(l.Nodes[1].Restore) != 3 || l.Nodes[1].Dir == "" || l.Nodes[0].Restore != nil {
		t.Errorf("%+v", l)
	}
	if l, err := load("nodes: {a: {socket: s}}\n"); err != nil || l.Budget.CPUs != 0.25 || l.CheckpointEvery != time.Minute {
		t.Errorf("%+v, %v", l, err)
	}
	l, err = load("nodes: {a: {bird: {control: c, pid_file: /p, anycast: [192.0.2.0/24 le 32]}, handlers: [h]}}\n")
	if err != nil || !filepath.IsAbs(l.Nodes[0].BIRD.Control) || l.Nodes[0].BIRD.PIDFile != "/p" ||
		len(l.Nodes[0].BIRD.Anycast) != 1 || len(l.Nodes[0].Handlers) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	for text, problem := range map[string]string{
		"nodes: {a: {socket: s}}\nbudget: {cpu: 1}\n": `did you mean "cpus"?`,
		"store: dir:x\n":                "there is no node to explore",
		"":                              "there is no node to explore",
		"nodes: {}\n":                   "there is no node to explore",
		"nodes: {a: {handlers: [h]}}\n": "node a has no socket",
		"nodes: {a: }\n":                "nodes.a has no value",
		"nodes: {a: {socket: s}}\nbudget: {cpus: 0}\n":        "budget.cpus",
		"nodes: {a: {socket: s}}\nbudget: {cpu_list: [-1]}\n": "budget.cpu_list",
		"- a\n":                      "a configuration cannot be a list",
		"nodes: {a: {socket: ''}}\n": "node a has no socket",
		"nodes: {a: {bird: {}}}\n":   "there is no control",
		"nodes: {a: {bird: {control: c, pid: 1, pid_file: f}}}\n":     "there are pid and pid_file",
		"nodes: {a: {bird: {control: c}, socket: s}}\n":               "node a is a BIRD, which has no socket",
		"nodes: {a: {bird: {control: c, anycast: [192.0.2.1/24]}}}\n": "is not an IPv4 prefix",
	} {
		if l, err := load(text); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q gives %+v, %v instead of %q", text, l, err, problem)
		}
	}
	for _, name := range []string{"live/live.yaml", "bgp/load/live.yaml", "bgp/bird/live.yaml"} {
		if _, notes, err := LoadLive(filepath.Join("..", "..", "..", "examples", name)); err != nil || len(notes) > 0 {
			t.Errorf("%s: %v, %v", name, notes, err)
		}
	}
	if _, _, err := LoadLive(filepath.Join(t.TempDir(), "none.yaml")); err == nil || !strings.Contains(err.Error(), "give the path of an existing file") {
		t.Error(err)
	}
}
