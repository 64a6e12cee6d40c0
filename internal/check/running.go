package check

import (
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

var notUp = failure.Declare("running/not-up") // the node, and why

// running judges that every server ran in the end, and that its healthcheck had succeeded since its last start.
func running(p *world.Property, out *record.Outcome) Verdict {
	v := verdict.New(p)
	v.Status = Holds
	for i, n := range out.NotUp {
		if i == 0 {
			v.Violate(out.Events, out.VirtualNs, notUp.Cause(n.Node, n.State).Claim("%s is not running at the end: %s", n.Node, n.Why))
		}
		v.Evidence = append(v.Evidence, n.Node+": "+n.Why)
	}
	return v
}
