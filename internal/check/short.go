package check

import (
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// tooShort is the reason of a verdict that a run of less than its full length does not give.
const tooShort = "the run is shorter than its full length, so the property cannot be judged"

// curtail takes back what a run of less than its full length does not show. The verdicts begin with those of the Spec's properties.
func curtail(spec *world.Spec, out *record.Outcome, verdicts []Verdict) {
	for i := range verdicts {
		v := &verdicts[i]
		switch {
		case i < len(spec.Properties) && !spec.Properties[i].AnyLength():
			*v = Verdict{Property: v.Property, Kind: v.Kind, Status: Unknown, Reason: tooShort, Short: true}
		case v.Status == Unknown && v.Refusal == nil && out.Reason == record.Finished:
			v.Short = true
		}
	}
}
