package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// Faults of a rate spare a node until it was ready once, and failures from before that rule replay without it.
// project/failures was recorded by a version that did not have it, of the program in slow.c.
//
//ci:user
func TestReadiness(t *testing.T) { scriptsBeside(t, filepath.Join("testdata", "ready")) }

// Servers that never come up are named with what they wrote, and violate nothing.
func TestNeverReadyScreens(t *testing.T) { scriptsBeside(t, filepath.Join("testdata", "screens")) }

// A program that stops by design when its disk is full is a violation until its configuration says so, by the line
// that the report has.
func TestStopsByDesign(t *testing.T) { scriptsBeside(t, filepath.Join("testdata", "allow")) }

// scriptsBeside runs the scripts of a folder, each in a copy of it.
func scriptsBeside(t *testing.T, folder string) {
	testscript.Run(t, testscript.Params{
		Dir:  filepath.Join(folder, "script"),
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": exits},
		Setup: func(e *testscript.Env) error {
			e.Setenv("CI", "true") // scripts read the whole text
			return os.CopyFS(e.WorkDir, os.DirFS(folder))
		},
	})
}
