package cli

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/coverage/code"
	"github.com/bloodhound-dst/bloodhound/explore"
)

// What was asked for and not watched is said, and makes any threshold unknown.
func TestWhatIsNotWatchedIsSaid(t *testing.T) {
	kv := &code.File{Digest: "a", Path: "/usr/bin/kv", Total: 4, Covered: code.Bits{1}}
	off := &code.File{Digest: "b", Path: "/usr/bin/kv", Off: "it is a script"}
	for _, c := range []struct {
		choice    code.Choice
		files     []*code.File
		threshold float64 // below 0 is none
		unknown   string
		notice    string
	}{
		{nil, []*code.File{kv}, -1, "", ""},
		{nil, []*code.File{kv}, 25, "", ""},
		{nil, []*code.File{kv}, 26, "1 of the 4 blocks of /usr/bin/kv ran, 25.0 %", ""},
		{code.Choice{"vk"}, nil, -1, "", "nothing was watched: no program or library that ran is called vk (coverage.binaries); these ran: /bin/sh, /usr/bin/kv"},
		{code.Choice{"vk"}, nil, 0, "could be 0 %: nothing was watched: no program or library that ran is called vk", ""},
		{code.Choice{"kv", "libx.so", "!y"}, []*code.File{kv}, 0, "", "no program or library that ran is called libx.so (coverage.binaries)"},
		{code.Choice{"!kv"}, nil, -1, "", "nothing was watched: no program that ran is one that is watched by default"},
		{nil, []*code.File{off}, 0, "could be 0 %: no program is watched", ""},
		{nil, []*code.File{off}, -1, "", ""},
	} {
		f := &flags{threshold: c.threshold, thresholdGiven: c.threshold >= 0}
		var status explore.Status
		f.judgeCoverage(c.choice, &explore.Code{State: &code.State{Files: c.files}, Ran: []string{"/bin/sh", "/usr/bin/kv"}}, &status)
		unknown, notice := strings.Join(status.Unknown, "\n"), strings.Join(status.Notices, "\n")
		if !strings.Contains(unknown, c.unknown) || (unknown == "") != (c.unknown == "") || !strings.Contains(notice, c.notice) || (notice == "") != (c.notice == "") {
			t.Errorf("%q with a threshold of %g: unknown %q, notice %q", c.choice, c.threshold, unknown, notice)
		}
	}
}
