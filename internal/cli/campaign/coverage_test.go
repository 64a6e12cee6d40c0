package campaign

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/coverage/blocks"
	"github.com/bloodhound-dst/bloodhound/internal/coverage/code"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
)

// What was asked for and not watched is said, and makes any threshold unknown.
func TestWhatIsNotWatchedIsSaid(t *testing.T) {
	kv := &code.File{Digest: "a", Path: "/usr/bin/kv", Total: 4, Covered: blocks.Bits{1}}
	off := &code.File{Digest: "b", Path: "/usr/bin/kv", Off: "it is a script"}
	for _, c := range []struct {
		choice    code.Choice
		files     []*code.File
		threshold float64 // below 0 is none
		unknown   string
		notice    string

		own, ownCovered int
	}{
		{nil, []*code.File{kv}, -1, "", "", 0, 0},
		{nil, []*code.File{kv}, 25, "", "", 0, 0},
		{nil, []*code.File{kv}, 26, "1 of the 4 blocks of /usr/bin/kv ran, 25.0 %", "", 0, 0},
		{code.Choice{"vk"}, nil, -1, "", "nothing was watched: no program or library that ran is named vk (coverage.binaries); " +
			"these ran: /bin/sh, /usr/bin/kv", 0, 0},
		{code.Choice{"vk"}, nil, 0, "threshold of 0 %: nothing was watched: no program or library that ran is named vk", "", 0, 0},
		{code.Choice{"kv", "libx.so", "!y"}, []*code.File{kv}, 0, "", "no program or library that ran is named libx.so (coverage.binaries)", 0, 0},
		{code.Choice{"!kv"}, nil, -1, "", "nothing was watched: no program that ran is watched by default", 0, 0},
		{nil, []*code.File{off}, 0, "threshold of 0 %: no program is watched", "", 0, 0},
		{nil, []*code.File{off}, -1, "", "", 0, 0},
		// Own code alone counts, where it is known.
		{nil, []*code.File{kv}, 50, "", "", 2, 1},
		{nil, []*code.File{kv}, 51, "1 of the 2 blocks of own code of /usr/bin/kv ran, 50.0 %", "", 2, 1},
		{nil, []*code.File{kv}, 100, "", "", 1, 1},
	} {
		f := &campaignFlags{threshold: c.threshold, thresholdGiven: c.threshold >= 0}
		var status explore.Status
		state := &code.State{Files: c.files}
		totals := explore.CodeTotals(state)
		for i := range totals {
			totals[i].Own, totals[i].OwnCovered = c.own, c.ownCovered
		}
		judgeCoverage(f, nil, c.choice, &explore.Code{State: state, Ran: []string{"/bin/sh", "/usr/bin/kv"}}, totals, &status)
		unknown, notice := strings.Join(status.Unknown, "\n"), strings.Join(status.Notices, "\n")
		if !strings.Contains(unknown, c.unknown) || (unknown == "") != (c.unknown == "") || !strings.Contains(notice, c.notice) ||
			(notice == "") != (c.notice == "") {
			t.Errorf("%q with a threshold of %g: unknown %q, notice %q", c.choice, c.threshold, unknown, notice)
		}
	}
}
