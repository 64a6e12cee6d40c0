//go:build linux && amd64

package kernel

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// A call that fails again and again in the same way is one change, so that it does not push out what else has changed around a fault. Any
// other call begins a new one.
func TestFailingCallsAreFolded(t *testing.T) {
	full := record.DiskChange{Call: "openat", Path: "/data/1.wal", Errno: "EMFILE", Fault: "fd_limit"}
	with := func(change func(*record.DiskChange)) record.DiskChange {
		x := full
		change(&x)
		return x
	}
	fine := with(func(x *record.DiskChange) { x.Errno, x.Fault = "", "" })
	for name, c := range map[string]struct {
		noted []record.DiskChange
		calls []uint64
	}{
		"the same":       {[]record.DiskChange{full, full, full}, []uint64{3}},
		"between others": {[]record.DiskChange{full, fine, full, full}, []uint64{0, 0, 2}},
		"it succeeds":    {[]record.DiskChange{fine, fine}, []uint64{0, 0}},
		"another file":   {[]record.DiskChange{full, with(func(x *record.DiskChange) { x.Path = "/data/2.wal" })}, []uint64{0, 0}},
		"another call":   {[]record.DiskChange{full, with(func(x *record.DiskChange) { x.Call = "creat" })}, []uint64{0, 0}},
		"another error":  {[]record.DiskChange{full, with(func(x *record.DiskChange) { x.Errno = "EIO" })}, []uint64{0, 0}},
		"another place":  {[]record.DiskChange{full, with(func(x *record.DiskChange) { x.From = 1 })}, []uint64{0, 0}},
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
