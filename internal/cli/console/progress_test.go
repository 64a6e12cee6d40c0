package console

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// Colours are for terminals only, and for those who want them.
func TestProgressOnATerminal(t *testing.T) {
	needs.Program(t, "script")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	colours := regexp.MustCompile("\x1b\\[[0-9;]+m")
	for _, c := range []struct {
		env      string
		coloured bool
	}{{"NO_COLOR=", true}, {"NO_COLOR=1", false}} {
		out := filepath.Join(t.TempDir(), "typescript")
		cmd := exec.Command("script", "-q", "-e", "-c", self+" -test.run=^TestProgressHere$", out)
		cmd.Env = append(os.Environ(), "TERM=xterm", "BLOODHOUND_PROGRESS_TEST=1", c.env)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if got := colours.Match(text); got != c.coloured || !strings.Contains(string(text), "10 runs") {
			t.Errorf("%s: %q", c.env, text)
		}
	}
}

// TestProgressHere shows progress where TestProgressOnATerminal runs it.
func TestProgressHere(t *testing.T) {
	if os.Getenv("BLOODHOUND_PROGRESS_TEST") == "" {
		t.Skip("it belongs to TestProgressOnATerminal")
	}
	p := NewProgress(os.Stderr, false, false)
	p.shown = p.shown.Add(-time.Minute)
	p.ShowParts(func(time.Duration) []Part { return []Part{{"10 runs", Bold}} })
	p.End()
}

// Progress is lines where there is no terminal, and none when the user turns them off.
func TestPlainProgress(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, false, false)
	p.Show(func(time.Duration) string { return "too soon" })
	p.shown = p.shown.Add(-plainInterval)
	p.Show(func(time.Duration) string { return "10 runs" })
	p.Note("a note")
	p.End()
	if b.String() != "10 runs\na note\n" {
		t.Errorf("wrote %q", b.String())
	}
	p.quiet = true
	p.shown = p.shown.Add(-plainInterval)
	p.Show(func(time.Duration) string { return "quiet" })
	if strings.Contains(b.String(), "quiet") {
		t.Error("quiet progress is shown")
	}
}
