package explore

import (
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
)

// Standing says whether a stored failure still shows when it is replayed.
type Standing string

const (
	// StillFails: the failure is there, in the same run or in one that was made twice.
	StillFails Standing = "still fails"
	// Fixed: the run is the one that was stored, event for event, and its property holds now.
	Fixed Standing = "fixed"
	// Stale: the run is another one than was stored, so that it proves nothing.
	Stale Standing = "stale"
	// Varies: the run does not repeat, though nothing is known to have changed.
	Varies Standing = "not reproducible"
	// Unplayed: the time for replays was over before its turn.
	Unplayed Standing = "not replayed"
)

// Committed is the result of a failure that was kept with its project, which a campaign replays first.
type Committed struct {
	failure.Failure
	File     string         `json:"file"` // from the project's folder on
	Standing Standing       `json:"standing"`
	Reason   string         `json:"reason"`
	Changes  []string       `json:"changes,omitempty"` // what is different now
	Verdict  *check.Verdict `json:"verdict,omitempty"` // of one that still fails
	// Around counts the runs of tapes nearby that were made because it is stale.
	Around uint64 `json:"around,omitempty"`
}
