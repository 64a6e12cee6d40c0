package project

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/cli/flags"
)

// An interrupt while an image is built is no mistake of the configuration.
func TestInterruptedBuild(t *testing.T) {
	t.Setenv("BLOODHOUND_IMAGES", t.TempDir())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "compose.yaml"),
		[]byte("services: {a: {build: {context: ., dockerfile_inline: \"FROM scratch\\nCOPY . /\\n\"}, command: x}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a := &console.App{Out: io.Discard, JSON: io.Discard, Err: io.Discard}
	if _, err := Load(ctx, a, &flags.Set{Compose: []string{filepath.Join(dir, "compose.yaml")}},
		nil); console.CodeOf(err) != check.ExitUnknown || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("exit code %d: %v", console.CodeOf(err), err)
	}
}
