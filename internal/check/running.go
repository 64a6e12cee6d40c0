package check

import (
	"fmt"

	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// running judges that every server ran in the end, and that its healthcheck had succeeded since its last start.
func running(p *world.Property, out *record.Outcome) Verdict {
	v := verdict(p)
	v.Status = Holds
	for i, n := range out.NotUp {
		if i == 0 {
			v.Status, v.Event, v.TimeNs = Violated, out.Events, out.VirtualNs
			v.Reason = fmt.Sprintf("%s does not run in the end: %s", n.Node, n.Why)
		}
		v.Evidence = append(v.Evidence, n.Node+": "+n.Why)
	}
	return v
}
