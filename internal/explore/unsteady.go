package explore

import (
	"context"
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Unsteady is a violation whose replay was another run, and how often it was seen when the tape was run again.
type Unsteady struct {
	Run      uint64        `json:"run"`
	Tape     tape.Tape     `json:"tape"`
	Verdict  check.Verdict `json:"verdict"` // of the first run
	Differs  string        `json:"differs"` // how the replay was another run
	Tries    int           `json:"tries"`   // further runs of the tape
	Violated int           `json:"violated"`
}

// Confirmed reports whether the property was violated in more than one run.
func (u *Unsteady) Confirmed() bool { return u.Violated > 0 }

func (u *Unsteady) String() string {
	return fmt.Sprintf("%s was violated in %s, which did not replay, and in %d of %s with the same tape",
		u.Verdict.Property, nameOf(u.Run, u.Tape), u.Violated, plural.Count(u.Tries, "further run"))
}

// retry runs a tape again whose violation did not replay, and counts in how many of these runs the same property is violated.
func (s *slot) retry(ctx context.Context, r *result) {
	violated := Violated(r.reply.Summary.Verdicts)
	if s.campaign.Retries == 0 || r.differs == "" || len(violated) == 0 {
		return
	}
	u := &Unsteady{Run: r.job.ID, Tape: r.job.Tape, Verdict: violated[0], Differs: r.differs}
	for range s.campaign.Retries {
		reply, _ := s.runJob(ctx, &result{job: r.job.bare()})
		if reply == nil {
			break
		}
		u.Tries++
		same := func(v check.Verdict) bool { return v.Property == u.Verdict.Property }
		if slices.ContainsFunc(Violated(reply.Summary.Verdicts), same) {
			u.Violated++
		}
	}
	r.unsteady = u
}
