package checks

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Each type of checks that configurations can name has a reader, and no other type has one.
func TestReaders(t *testing.T) {
	for i := range world.CheckKinds {
		k := &world.CheckKinds[i]
		if (readers[k.Type] != nil) != (len(k.Keys) > 0) {
			t.Errorf("%s: read %v, keys %q", k.Type, readers[k.Type] != nil, k.Keys)
		}
	}
	for name := range readers {
		if name.Kind().Type != name {
			t.Errorf("%s has a reader, and is no type of checks", name)
		}
	}
}
