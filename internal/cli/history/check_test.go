package history

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/formats"
)

// The help of check names each format and the tools that write it.
func TestHelpNamesFormats(t *testing.T) {
	c := checkVerb(&console.App{})
	usage := c.Flags().Lookup("format").Usage
	for _, r := range formats.Table {
		if !strings.Contains(usage, string(r.Format)) {
			t.Errorf("--format lacks %s", r.Format)
		}
		for _, tool := range r.Tools {
			if !strings.Contains(c.Long, tool) {
				t.Errorf("the help of check does not name %s, whose format is %s", tool, r.Format)
			}
		}
	}
}
