package stored

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Rules that a campaign has derived belong to no configuration: a failure with them is one of the project as it is, and its corpus stays.
func TestDerivedRulesAreNoChangeOfAProject(t *testing.T) {
	spec := func(rules ...world.FaultRule) *world.Spec {
		return &world.Spec{Dir: "/project", Faults: world.Faults{Enabled: true, Rules: rules}}
	}
	own, derived := world.FaultRule{Kind: "crash", RatePPM: 9}, world.FaultRule{Kind: "crash", RatePPM: 5, Derived: true}
	if !sameSpec(spec(own), spec(own, derived)) || sameSpec(spec(own), spec(own, own)) || sameSpec(spec(own), spec(derived)) {
		t.Error("derived rules make another configuration, or others do not")
	}
	if project.WorldDigest(spec(own)) != project.WorldDigest(spec(own, derived)) || project.WorldDigest(spec(own)) == project.WorldDigest(spec(own, own)) {
		t.Error("derived rules make another world of a corpus, or others do not")
	}
}
