package world

import (
	"slices"
	"testing"
)

// Rows of CheckKinds are whole: types are unique, models and keys belong together, and only probes have an interval.
func TestCheckKinds(t *testing.T) {
	for i := range CheckKinds {
		k := &CheckKinds[i]
		if k.Type == "" || k.Basis == 0 || k.Type.Kind() != k {
			t.Errorf("row %d, %q, has no type of its own, or no basis", i, k.Type)
		}
		if k.Uses("model") != (len(k.Models) > 0) {
			t.Errorf("%s: the key model %v, models %q", k.Type, k.Uses("model"), k.Models)
		}
		if probes := k.Basis == ByProbes; k.Uses("interval") != k.Often() || !probes && (k.Even || k.AsksNodes || k.Words) {
			t.Errorf("%s: the interval is %d, and its basis %d", k.Type, k.IntervalNs, k.Basis)
		}
		if keys := slices.Sorted(slices.Values(k.Keys)); len(slices.Compact(keys)) != len(k.Keys) {
			t.Errorf("%s has a key twice: %q", k.Type, k.Keys)
		}
		if tolerant := k.Uses("while"); tolerant && (!k.Uses("nodes") || !k.Uses("despite")) {
			t.Errorf("%s: while needs nodes and despite", k.Type)
		}
	}
	if CheckType("luck").Kind().Basis != 0 || CheckType("luck").Probes() {
		t.Error("an unknown type has a basis")
	}
}
