package explore

import (
	"context"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
)

func TestACampaignBeginsWithoutFaults(t *testing.T) {
	c := campaign(t, fakeSpec(enginetest.Broken), 10, 2)
	c.BaselineFirst = true
	totals := c.Run(context.Background())
	if totals.Violated != 1 || len(totals.Failures) != 1 || !totals.Failures[0].Baseline ||
		!strings.Contains(totals.Failures[0].First(), "the run without faults") {
		t.Errorf("a world that breaks without faults: %s", stable(totals))
	}

	c = campaign(t, fakeSpec(enginetest.LostWrite), 60, 2)
	c.BaselineFirst = true
	totals = c.Run(context.Background())
	if !totals.Baseline.Done || totals.Baseline.Unknown != nil || totals.Violated != 1 || totals.Failures[0].Baseline ||
		totals.Failures[0].Run == 0 && totals.Runs != 1 {
		t.Errorf("a world that needs a fault to break: %s", stable(totals))
	}

	c = campaign(t, fakeSpec(enginetest.Die), 4, 1)
	c.BaselineFirst = true
	if totals = c.Run(context.Background()); len(totals.Lost) == 0 || totals.Lost[0].String() != "the run without faults (seed 1)" {
		t.Errorf("a world that kills its worker: %s", stable(totals))
	}

	c = campaign(t, fakeSpec(enginetest.Refuse), 1, 1)
	c.BaselineFirst, c.Setup.Spec.Faults.Rules = true, nil
	if totals = c.Run(context.Background()); totals.Baseline.Done {
		t.Error("a configuration without faults has a baseline run")
	}
}
