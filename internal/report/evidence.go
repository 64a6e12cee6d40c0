package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/regular"
	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
)

const (
	// EvidenceVersion is the version of evidence files.
	EvidenceVersion = 2
	// MaxEvidenceBytes bounds the evidence that is kept of a run; what is longer is not kept, and replay makes it again.
	MaxEvidenceBytes = 256 << 20
	// MaxLogBytes bounds the log that is kept in it.
	MaxLogBytes = 32 << 20
)

// Evidence holds the input for verdicts on a run: its history, the results of its probes, its faults and its logs. With
// it, a failure can be judged again without running.
type Evidence struct {
	Version int    `json:"evidence_version"`
	ID      string `json:"id"`   // of the failure
	Hash    string `json:"hash"` // of the run's trace
	// Outcome is the run's, without the tape's decisions and the files that were opened, and with no more than MaxLogBytes of the log; LogLost
	// counts the lines that follow.
	Outcome *check.Judged `json:"outcome"`
}

// evidencePath is where the evidence of a failure is kept in a state folder.
func evidencePath(state, id string) string { return filepath.Join(state, "evidence", id+".json") }

// SaveEvidence writes what a failure was judged by into a state folder.
func SaveEvidence(state, id string, o *check.Judged) error {
	kept := *o
	kept.Decisions, kept.DecisionsNs, kept.Files, kept.Verdicts = nil, nil, nil, nil
	kept.Log, kept.LogLost = firstLines(o)
	b, err := json.Marshal(Evidence{EvidenceVersion, id, o.Hash, &kept})
	if err != nil || len(b) > MaxEvidenceBytes {
		return err
	}
	return WriteFile(evidencePath(state, id), append(b, '\n'))
}

// firstLines are as many lines of a run's log as are kept, and how many others there were.
func firstLines(o *check.Judged) (lines []record.LogLine, lost uint64) {
	bytes := 0
	for i := range o.Log {
		if bytes += len(o.Log[i].Text); bytes > MaxLogBytes {
			return o.Log[:i], o.LogLost + uint64(len(o.Log)-i)
		}
	}
	return o.Log, o.LogLost
}

// ErrNoEvidence says that no evidence of a failure's run is stored.
var ErrNoEvidence = errors.New("the history of its run is not stored")

// LoadEvidence reads what a failure was judged by. That there is nothing, or that of another run, is an ErrNoEvidence.
func LoadEvidence(state string, f *Failure) (*Evidence, error) {
	path := evidencePath(state, f.Name())
	b, err := regular.Read(path, MaxEvidenceBytes+1)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: there is no %s", ErrNoEvidence, path)
	}
	if err != nil {
		return nil, err
	}
	e := new(Evidence)
	if version := strictjson.Version(b, "evidence_version"); version != EvidenceVersion {
		return nil, fmt.Errorf("%w: %s has version %d, and this bloodhound reads version %d",
			ErrNoEvidence, path, version, EvidenceVersion)
	}
	if err := strictjson.Decode(b, e); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoEvidence, path, err)
	}
	if e.Outcome == nil || e.ID != f.Name() || e.Hash != f.Hash {
		return nil, fmt.Errorf("%w: %s belongs to another run", ErrNoEvidence, path)
	}
	return e, nil
}
