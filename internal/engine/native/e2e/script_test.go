//go:build linux && amd64

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/imagetest"
)

// The scripts are documentation too: each reports what the program does with small real programs. A single one:
//
//	go test ./engine/native/e2e -run Scripts/assertions
func TestScripts(t *testing.T) {
	server{name: "scripts"}.require(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(bloodhound)+string(os.PathListSeparator)+os.Getenv("PATH"))
			e.Setenv("HOME", os.Getenv("HOME"))
			e.Setenv("CI", "true") // scripts read the whole text
			e.Setenv("BLOODHOUND_IMAGES", filepath.Join(e.WorkDir, "images"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// layout makes an image out of Debian's packages, in an OCI layout folder: layout FOLDER KIND.
			"layout": func(ts *testscript.TestScript, _ bool, args []string) {
				imagetest.Layout(t, ts.MkAbs(args[0]), imagetest.Stacks[args[1]](t))
			},
			// exits runs a command and compares its exit code: exits CODE COMMAND ARGUMENTS.
			"exits": func(ts *testscript.TestScript, _ bool, args []string) {
				err := ts.Exec(args[1], args[2:]...)
				code := 0
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					code = exit.ExitCode()
				} else {
					ts.Check(err)
				}
				if strconv.Itoa(code) != args[0] {
					ts.Fatalf("exit code %d, want %s", code, args[0])
				}
			},
		},
	})
}
