package world

import (
	"reflect"
	"testing"
)

func TestACutLeavesTheSpecAsItIs(t *testing.T) {
	spec := func() *Spec {
		return &Spec{MaxTimeNs: 5, Nodes: []Node{{Name: "a", Command: []string{"x"}, Health: &Healthcheck{}},
			{Name: "b", Command: []string{"y"}, DependsOn: []Dependency{{Node: "a"}, {Node: "c"}}}, {Name: "c", Command: []string{"z"}}},
			Workloads: []Workload{{Name: "load"}}}
	}
	full := spec()
	cut := (&Cut{EndNs: 3, Idle: []string{"a"}, Skip: []Skip{{Client: "load/c0", From: 2, To: 4}, {Client: "load/c1", From: 1}}}).Apply(full)
	if !reflect.DeepEqual(full, spec()) {
		t.Errorf("the Spec has changed: %+v", full)
	}
	want := spec()
	want.EndNs = 3
	want.Nodes[0].Command, want.Nodes[0].Health = nil, nil
	want.Nodes[1].DependsOn = []Dependency{{Node: "c"}}
	want.Workloads[0].Skip = []Skip{{Client: "load/c0", From: 2, To: 4}, {Client: "load/c1", From: 1}}
	if !reflect.DeepEqual(cut.Nodes[:2], want.Nodes[:2]) || cut.EndNs != 3 || !reflect.DeepEqual(cut.Workloads, want.Workloads) {
		t.Errorf("got %+v, want %+v", cut, want)
	}
	w := &cut.Workloads[0]
	for _, c := range []struct {
		client      string
		k           int
		skips, ends bool
	}{{"load/c0", 1, false, false}, {"load/c0", 2, true, false}, {"load/c0", 3, true, false}, {"load/c0", 4, false, false},
		{"load/c1", 0, false, false}, {"load/c1", 1, true, true}, {"load/c1", 99, true, true}, {"load/c2", 2, false, false}} {
		if w.Skips(c.client, c.k) != c.skips || w.Ends(c.client, c.k) != c.ends {
			t.Errorf("%s %d: skips %v, ends %v", c.client, c.k, w.Skips(c.client, c.k), w.Ends(c.client, c.k))
		}
	}
	if again := (&Cut{}).Apply(full); !reflect.DeepEqual(again, full) {
		t.Errorf("an empty cut changes the Spec")
	}
}
