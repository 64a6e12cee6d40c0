package stored

import (
	"context"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// Tried says whether a failure shows on the code of a project.
type Tried struct {
	failure.Failure
	// Of repeats the ID under its earlier key.
	Of     string `json:"failure"`
	Result string `json:"result"` // reproduced, clean, diverged or varies
	Reason string `json:"reason"`
	Hash   string `json:"-"`
}

// TryCode makes the run of a failure on the code of a project. Where the tape makes another run without the violation, which is so after most changes,
// runs near it are made: if none of them fails, the code is clean.
func TryCode(ctx context.Context, a *console.App, p *project.Project, s *project.Session, f *report.Failure,
	campaign explore.Campaign, show *console.Progress) (t Tried, err error) {
	c, err := AdoptFailure(p, f, f.Name())
	t = Tried{Failure: f.Failure, Of: f.ID}
	if err != nil {
		return t, err
	}
	all, err := ReplayCommitted(ctx, a, s, []Committed{c}, campaign.Workers, show)
	if err != nil {
		return t, err
	}
	st := &all[0]
	if st.Standing == explore.Stale {
		SearchAround(ctx, all, DefaultAround, campaign, func() time.Duration { return 0 })
		if ctx.Err() != nil {
			return t, project.ErrInterrupted
		}
	}
	if t.Reason = st.Reason; st.outcome != nil {
		t.Hash = st.outcome.Hash
	}
	switch {
	case st.Standing == explore.StillFails:
		t.Result = records.Reproduced
	case st.Standing == explore.Varies:
		t.Result = records.Varies
	case st.Standing == explore.Fixed, st.Around >= DefaultAround:
		t.Result = records.Clean
	default:
		t.Result = records.Diverged
	}
	return t, nil
}
