package console

import (
	"errors"
	"fmt"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
)

func TestExitCodePrecedence(t *testing.T) {
	unknown := []string{"why"}
	for _, c := range []struct {
		s    explore.Status
		want int
	}{
		{explore.Status{}, check.ExitHolds},
		{explore.Status{Unknown: unknown}, check.ExitUnknown},
		{explore.Status{Unknown: unknown, Unrepeatable: true}, check.ExitNotReproducible},
		{explore.Status{Unknown: unknown, Unrepeatable: true, Violated: true}, check.ExitViolated},
		{explore.Status{Unknown: unknown, Unrepeatable: true, Violated: true, Failed: true}, check.ExitEngine},
	} {
		if got := c.s.ExitCode(); got != c.want {
			t.Errorf("%+v: exit code %d, want %d", c.s, got, c.want)
		}
	}
	if CodeOf(errors.New("x")) != check.ExitUsage || CodeOf(fmt.Errorf("y: %w", Failed(errors.New("x")))) != check.ExitEngine {
		t.Error("an error has the wrong code")
	}
}
