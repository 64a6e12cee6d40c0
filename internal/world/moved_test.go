package world

import (
	"reflect"
	"testing"
)

func TestMovedProject(t *testing.T) {
	spec := &Spec{Dir: "/old dir", Nodes: []Node{{WorkingDir: "/old dir", Root: "host",
		Command: []string{"/old dir/bin/server", "/old dirt", "see /old dir"}}}}
	got, err := spec.Moved("/new")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/new/bin/server", "/old dirt", "see /old dir"}
	if got.Dir != "/new" || got.Nodes[0].WorkingDir != "/new" || !reflect.DeepEqual(got.Nodes[0].Command, want) {
		t.Errorf("%+v", got)
	}
}
