package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Faults of a rate spare a node until it was ready once, and failures from before that rule replay without it. project/failures was
// recorded by a version that did not have it, of the program in slow.c.
func TestReadiness(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   filepath.Join("testdata", "ready", "script"),
		Cmds:  map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
		Setup: func(e *testscript.Env) error { return os.CopyFS(e.WorkDir, os.DirFS(filepath.Join("testdata", "ready"))) },
	})
}
