package explore

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// A program that is replaced during a campaign is told of once, also by runs of both that end in turn.
func TestReplacedProgramsAreTold(t *testing.T) {
	c := collector{campaign: &Campaign{Code: &Code{State: &code.State{}}}, totals: &Totals{}}
	for run, stamps := range []string{"a", "a", "b", "a", "b", "bc"} {
		r := &result{job: &Job{ID: uint64(run)},
			reply: &Reply{Summary: &Summary{Programs: []record.Program{{Path: "/mine"}, {Path: "/bin/other", File: "/bin/other", Stamp: "o"}}}}}
		for _, stamp := range stamps {
			r.reply.Summary.Programs = append(r.reply.Summary.Programs, record.Program{Path: "/app", File: "/srv/app", Stamp: string(stamp)})
		}
		c.ran(r)
	}
	told := c.totals.Replaced
	if len(told) != 2 || !strings.HasPrefix(told[0], "/srv/app was replaced after run 1 ") ||
		!strings.HasPrefix(told[1], "/srv/app was replaced after run 4 ") {
		t.Errorf("%q", told)
	}
	if got := strings.Join(c.campaign.Code.Ran, " "); got != "/app /bin/other /mine" {
		t.Errorf("%s ran", got)
	}
}
