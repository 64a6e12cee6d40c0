package check

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Each row of world.CheckKinds has a way to judge, in the same place, and one that fits what the check looks at.
func TestMethods(t *testing.T) {
	if len(methods) != len(world.CheckKinds) {
		t.Fatalf("%d types of checks have a method, of %d", len(methods), len(world.CheckKinds))
	}
	for i := range methods {
		m, k := &methods[i], &world.CheckKinds[i]
		switch {
		case m.of != k.Type:
			t.Errorf("row %d is %s, and in package world %s", i, m.of, k.Type)
		case (m.operations != nil) != (k.Basis == world.ByOperations):
			t.Errorf("%s: judges operations %v, and its basis is %d", k.Type, m.operations != nil, k.Basis)
		case m.operations == nil && m.judge == nil:
			t.Errorf("%s judges no run", k.Type)
		case m.operations != nil && m.history != nil:
			t.Errorf("%s judges histories twice", k.Type)
		}
	}
}
