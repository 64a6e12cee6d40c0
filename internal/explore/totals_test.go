package explore

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A campaign is judged by the runs that can judge a property: short ones that cannot make nothing unknown.
func TestShortRunsMakeNothingUnknown(t *testing.T) {
	spec := &world.Spec{Properties: []world.Property{{Name: "busy", Kind: world.Safety, Check: world.Check{Type: world.Expression,
		Subject: world.Subject{Condition: "len(ops) > 9"}}}}}
	campaign := func(verdicts ...check.Verdict) (*PropertyTotal, []string) {
		totals := &Totals{Seed: 1}
		for i, v := range verdicts {
			v.Property, v.Kind = "busy", "safety"
			totals.add(&Summary{Verdicts: []check.Verdict{v}}, tape.Tape{Seed: uint64(i)})
		}
		return &totals.Properties[0], totals.Status(spec).Unknown
	}
	holds, short, unknown := check.Verdict{Status: check.Holds},
		check.Verdict{Status: check.Unknown, Short: true, Reason: "short"}, check.Verdict{Status: check.Unknown, Reason: "full"}
	if p, why := campaign(short, holds, short, short, short); p.Holds != 1 || p.Short != 4 || p.Unknown != 0 || len(why) > 0 {
		t.Errorf("%+v: %q", p, why)
	}
	if p, why := campaign(short, holds, unknown); p.Short != 1 || p.Unknown != 1 || len(why) != 1 {
		t.Errorf("%+v: %q", p, why)
	}
	if p, why := campaign(short, short); p.Short != 2 || len(why) == 0 {
		t.Errorf("no run judged the property, and nothing is unknown: %+v", p)
	}
}
