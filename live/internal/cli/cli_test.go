package cli

import (
	"bytes"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// Each verb has an example that it understands, and no example is about a verb that there is not.
func TestExamplesOfVerbs(t *testing.T) {
	left := map[string]bool{}
	for path := range manuals {
		left[path] = true
	}
	var each func(c *cobra.Command, path string)
	each = func(c *cobra.Command, path string) {
		delete(left, path)
		if c.Runnable() && len(manuals[path].Examples) == 0 {
			t.Errorf("%q has no example", path)
		}
		for _, line := range manuals[path].Examples {
			words, err := shell.Words(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if !strings.HasPrefix(line, strings.TrimSpace(verbName+" "+path)) {
				t.Errorf("%q is an example of another verb than %q", line, path)
			}
			if err := c.ParseFlags(words[2+len(strings.Fields(path)):]); err != nil {
				t.Errorf("%s: %v", line, err)
			} else if err := c.ValidateArgs(c.Flags().Args()); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		for _, sub := range c.Commands() {
			each(sub, strings.TrimSpace(path+" "+sub.Name()))
		}
	}
	each(Commands(), "")
	for path := range left {
		t.Errorf("there is no verb %q", path)
	}
}

var update = flag.Bool("update", false, "rewrite the page of the documentation")

// The documentation has a page of this program, whose first part is its help. -update writes that part.
func TestPagesOfCommands(t *testing.T) {
	c := Verb()
	file := filepath.Join("..", "..", "..", "docs", "reference", "commands", "live.md")
	if err := program.CheckPage(file, c, nil, "./live/internal/cli", *update); err != nil {
		t.Error(err)
	}
}

// Whoever comes by bloodhound reads its name for this program, and learns that the two are of different versions.
func TestCalledByBloodhound(t *testing.T) {
	for _, c := range []struct {
		caller      string
		want, wants string // of the two streams
	}{
		{"", "bloodhound-live [flags]", ""},
		{"v0.0.1", "bloodhound live [flags]", "bloodhound is v0.0.1, and bloodhound-live is "},
	} {
		if c.caller != "" {
			t.Setenv("BLOODHOUND_CALLER", c.caller)
		}
		var out, errs bytes.Buffer
		code := Main([]string{"--help"}, &out, &errs)
		if code != 0 || !strings.Contains(out.String(), c.want) || !strings.Contains(errs.String(), c.wants) || c.wants == "" && errs.Len() > 0 {
			t.Errorf("called by %q: exit code %d\n%s%s", c.caller, code, &out, &errs)
		}
	}
}
