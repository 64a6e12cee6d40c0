//go:build linux && amd64

package native_test

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// A run that takes long tells how far it is.
func TestProgressOfARun(t *testing.T) {
	spec := aloneSpec("/usr/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=15000") // 30,000 calls take far more than 50 ms
	events, virtualNs, told := uint64(0), int64(0), 0
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: 1}, engine.Options{Progress: func(n uint64, ns int64) {
		if n < events || ns < virtualNs {
			t.Errorf("event %d at %d ns after event %d at %d ns", n, ns, events, virtualNs)
		}
		events, virtualNs = n, ns
		told++
	}})
	if err != nil {
		t.Fatal(err)
	}
	if told == 0 || events == 0 || events > out.Events || virtualNs > out.VirtualNs {
		t.Errorf("it was told %d times, the last time of event %d of %d at %d of %d ns", told, events, out.Events, virtualNs, out.VirtualNs)
	}
}
