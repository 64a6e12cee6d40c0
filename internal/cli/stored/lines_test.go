package stored

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/project"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/shrink"
)

// Lines of progress fit into the terminal, however narrow it is, and begin with what matters most.
func TestLinesOfProgressFit(t *testing.T) {
	shrinking := shrinkLine("0123456789ab",
		&shrink.Progress{Runs: 1234, Stage: "removing operations, moving faults",
			Size: shrink.Size{Faults: 12, Operations: 98765, Decisions: 43210}}, time.Hour, time.Second)
	building := project.BuildLine(&config.Build{Node: "kv", Argv: []string{"go", "build", "-o", strings.Repeat("long/", 40)}}, 6*time.Second)
	for _, c := range []struct {
		parts []console.Part
		begin string
	}{
		{shrinking, "shrinking 0123456789ab, 12 faults"},
		{building, "building kv, 6s"},
	} {
		for _, columns := range []int{40, 80, 150} {
			text := console.Line(c.parts, columns, false)
			if utf8.RuneCountInString(text) >= columns || !strings.HasPrefix(text, c.begin) {
				t.Errorf("in %d columns: %q", columns, text)
			}
		}
	}
	if text := console.Line(shrinking, 0, false); !strings.HasSuffix(text, "1234 runs, 1h0m0s, removing operations, moving faults") {
		t.Errorf("got %q", text)
	}
}
