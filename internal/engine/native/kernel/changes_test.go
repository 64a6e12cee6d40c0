//go:build linux && amd64

package kernel

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// A call that fails again and again in the same way is one change, so that it does not push out what else has changed around a fault. Any
// other call begins a new one.
func TestFailingCallsAreFolded(t *testing.T) {
	full := engine.DiskChange{Call: "openat", Path: "/data/1.wal", Errno: "EMFILE", Fault: "fd_limit"}
	with := func(change func(*engine.DiskChange)) engine.DiskChange {
		x := full
		change(&x)
		return x
	}
	fine := with(func(x *engine.DiskChange) { x.Errno, x.Fault = "", "" })
	for name, c := range map[string]struct {
		noted []engine.DiskChange
		calls []uint64
	}{
		"the same":       {[]engine.DiskChange{full, full, full}, []uint64{3}},
		"between others": {[]engine.DiskChange{full, fine, full, full}, []uint64{0, 0, 2}},
		"it succeeds":    {[]engine.DiskChange{fine, fine}, []uint64{0, 0}},
		"another file":   {[]engine.DiskChange{full, with(func(x *engine.DiskChange) { x.Path = "/data/2.wal" })}, []uint64{0, 0}},
		"another call":   {[]engine.DiskChange{full, with(func(x *engine.DiskChange) { x.Call = "creat" })}, []uint64{0, 0}},
		"another error":  {[]engine.DiskChange{full, with(func(x *engine.DiskChange) { x.Errno = "EIO" })}, []uint64{0, 0}},
		"another place":  {[]engine.DiskChange{full, with(func(x *engine.DiskChange) { x.From = 1 })}, []uint64{0, 0}},
	} {
		var changes Changes
		changes.Strike() // keeps what follows
		for i := range c.noted {
			c.noted[i].Event, c.noted[i].TimeNs = uint64(i+1), int64(i+1)
			changes.Note(Change{DiskChange: c.noted[i]})
		}
		if len(changes.Kept) != len(c.calls) {
			t.Errorf("%s: %d changes are kept, want %d", name, len(changes.Kept), len(c.calls))
			continue
		}
		for i, want := range c.calls {
			if got := changes.Kept[i]; got.Calls != want || want > 0 && got.LastNs != int64(len(c.noted)) {
				t.Errorf("%s: change %d is %+v, want %d calls", name, i, got.DiskChange, want)
			}
		}
	}
}
