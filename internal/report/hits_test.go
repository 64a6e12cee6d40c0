package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// A campaign's summary lists the most important moments, with the faults there; the rest is counted.
func TestSummaryOfMoments(t *testing.T) {
	totals := &explore.Totals{Runs: 1}
	totals.Faults.Hits = []fault.Hit{{Kind: fault.PowerLoss, Call: "reply", Count: 2},
		{Kind: fault.Crash, Call: "reply", Count: 40}, {Kind: fault.Crash, Call: "fsync", File: "*.19", Count: 1}}
	totals.Moments = []fault.MomentCount{{Call: "rename", File: "*.snap", Seen: 3}, {Call: "reply", Seen: 600}}
	for i := range 20 {
		totals.Moments = append(totals.Moments, fault.MomentCount{Call: "fsync", File: fmt.Sprintf("*.%d", i), Seen: 7})
	}
	var b strings.Builder
	if err := Summary(&b, totals, explore.Status{}); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(b.String(), "\nmoments ")
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")
	if len(lines) != 2+SummaryMoments || lines[1] != "  rename of *.snap                            3          0  " ||
		lines[2] != "  reply                                     600         42  crash 40, power_loss 2" ||
		lines[len(lines)-1] != "  and 6 further kinds, 5 without a fault (--json has all)" {
		t.Errorf("the table is\n%s", table)
	}
	totals.Faults.Hits = nil
	b.Reset()
	if err := Summary(&b, totals, explore.Status{}); err != nil || strings.Contains(b.String(), "\nmoments") {
		t.Errorf("without a fault at a moment there is a table: %v\n%s", err, b.String())
	}
}
