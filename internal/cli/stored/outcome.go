package stored

import (
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/report"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// RunDocument is the JSON document of run and replay.
type RunDocument struct {
	Bloodhound string           `json:"bloodhound"`
	Verb       string           `json:"verb"`
	ExitCode   int              `json:"exit_code"`
	Judgement  string           `json:"judgement"`
	Tape       tape.Tape        `json:"tape"`
	Run        *explore.Summary `json:"run"`
	Notices    []string         `json:"notices,omitempty"`
	Failures   []string         `json:"failures,omitempty"` // ids
	// Found are these failures, with the runs that show them.
	Found   []failure.Failure `json:"found,omitempty"`
	Changes []string          `json:"changes,omitempty"`
	Hidden  []string          `json:"hidden,omitempty"` // files of the project that are newer than the failure
	Trace   string            `json:"trace,omitempty"`
	Packets string            `json:"packets,omitempty"` // the file of --pcap
}

// PrintRun prints a run, apart from its violations.
func PrintRun(a *console.App, f *flags.Set, seed uint64, r *explore.Reply) error {
	if f.Logs {
		if err := report.Logs(a.Out, r.Outcome); err != nil {
			return err
		}
	}
	if f.JSON {
		return nil
	}
	if err := report.Run(a.Out, seed, r.Summary); err != nil || !f.Reached {
		return err
	}
	return report.Reached(a.Out, r.Summary.Reached, r.Summary.Near)
}
