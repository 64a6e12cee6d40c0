package fault

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// A fault is moved among the opportunities of its rule, and keeps its duration and target: to another draw, or to another number of a call.
func TestShift(t *testing.T) {
	for _, c := range []struct {
		rule     string
		from, by int64
		possible bool
	}{
		{"power_loss on n1 after reply rate 1%", 57, 3, true},
		{"power_loss on n1 after reply rate 1%", 57, -57, true},
		{"power_loss on n1 after reply rate 1%", 57, -58, false},
		{"crash on n1 at fsync nth 3..7", 4, 2, true},
		{"crash on n1 at fsync nth 3..7", 4, -1, true},
		{"crash on n1 at fsync nth 3..7", 4, 4, false},
		{"crash on n1 at fsync nth 3..7", 4, -2, false},
		{"power_loss on n1 during fsync nth 1..20", 9, 5, true},
	} {
		p := planOf(t, c.rule)
		r := &p.Rules[0]
		d := tape.Decision{Stream: r.Targets[0].Stream, Index: uint64(c.from), Value: 6, N: 17}
		if r.NthTo > 0 {
			d = tape.Decision{Stream: d.Stream, N: 1 + DurationSteps*r.places(), Value: 6 + DurationSteps*r.delays()*(uint64(c.from)-r.NthFrom)}
		}
		if at := p.Opportunity(d); at != c.from {
			t.Errorf("%s: it is drawn at %d, want %d", c.rule, at, c.from)
		}
		moved, ok := p.Shift(d, c.by)
		if ok != c.possible {
			t.Errorf("%s: from %d by %d: possible %v, want %v", c.rule, c.from, c.by, ok, c.possible)
		}
		if !ok {
			continue
		}
		if at := p.Opportunity(moved); at != c.from+c.by {
			t.Errorf("%s: moved from %d by %d it is at %d", c.rule, c.from, c.by, at)
		}
		if (moved.Value-1)%DurationSteps != 5 || moved.Value >= moved.N {
			t.Errorf("%s: the draw of value %d became %d of %d", c.rule, d.Value, moved.Value, moved.N)
		}
	}
}
