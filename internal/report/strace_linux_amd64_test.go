package report

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/linux"
)

// The layouts have the scalars where the native engine has them.
func TestLayoutsAreThoseOfTheNativeEngine(t *testing.T) {
	known := 0
	for i := range linux.NewSystem().Calls {
		c := &linux.NewSystem().Calls[i]
		list, ok := callLayouts()[c.Name]
		if !ok {
			continue
		}
		known++
		for k, scalar := range c.Scalars {
			if scalar != (k < len(list) && list[k].scalar) {
				t.Errorf("argument %d of %s: scalar %v", k, c.Name, scalar)
			}
		}
	}
	if known != len(callLayouts()) {
		for call := range callLayouts() {
			found := false
			for i := range linux.NewSystem().Calls {
				found = found || linux.NewSystem().Calls[i].Name == call
			}
			if !found {
				t.Errorf("the engine has no call %s", call)
			}
		}
	}
}
