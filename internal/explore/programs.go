package explore

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// programs are those that the runs of a campaign have executed.
type programs struct {
	stamps map[string][]string // of each file, all that were met; the newest is the last
	before string              // the run before
}

// ran looks at the programs that a run has executed. A campaign of which some were replaced has judged several systems, and says so.
// Runs that were under way then may still come with what was there before, so that each program is reported once.
func (c *collector) ran(r *result) {
	if r.reply == nil || r.reply.Summary == nil {
		return
	}
	p := &c.programs
	if p.stamps == nil {
		p.stamps = map[string][]string{}
	}
	for _, x := range r.reply.Summary.Programs {
		if c.campaign.Code != nil {
			c.campaign.Code.ran(x)
		}
		known := p.stamps[x.File]
		if x.Stamp == "" || slices.Contains(known, x.Stamp) {
			continue
		}
		p.stamps[x.File] = append(known, x.Stamp)
		when := "after " + p.before
		if p.before == "" {
			when = "during " + r.job.String()
		}
		if len(known) > 0 && len(c.totals.Replaced) < MaxWarnings {
			c.totals.Replaced = append(c.totals.Replaced,
				fmt.Sprintf("%s was replaced %s: later runs used another program than earlier ones, and the results cover both", x.File, when))
		}
	}
	p.before = r.job.String()
}

// ran notes a program that a node under test has executed, watched or not.
func (c *Code) ran(p record.Program) {
	if i, known := slices.BinarySearch(c.Ran, p.Path); !known && len(c.Ran) < record.MaxPrograms {
		c.Ran = slices.Insert(c.Ran, i, p.Path)
	}
}
