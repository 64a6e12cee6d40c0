package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/setup"
	"github.com/bloodhound-dst/bloodhound/internal/program"
)

// The verb live becomes bloodhound-live, which has all arguments, the standard streams and the number of the process, and gives the exit code.
func TestLiveIsAnotherProgram(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	bloodhound := command(t, dir)
	const script = "#!/bin/sh\nread line\nprintf '%s|' $$ \"$BLOODHOUND_CALLER\" \"$line\" \"$@\"\necho said >&2\nexit 7\n"
	if err := os.WriteFile(filepath.Join(bin, setup.LiveProgram), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"live", "test", "--run", "a b", "--", "-x"}, {"live", "--once", "--help"}, {"live"}} {
		cmd := exec.Command(bloodhound, args...)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		cmd.Stdin = strings.NewReader("typed\n")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		want := fmt.Sprintf("%d|%s|typed|", cmd.Process.Pid, program.Version())
		if len(args) > 1 {
			want += strings.Join(args[1:], "|") + "|"
		}
		if !errors.As(err, &exit) || exit.ExitCode() != 7 || out.String() != want || errs.String() != "said\n" {
			t.Errorf("%q: %v, %q instead of %q, %q", args, err, &out, want, &errs)
		}
	}
	if out, err := exec.Command("env", "PATH="+bin+":"+os.Getenv("PATH"), bloodhound, "help", "live", "try").Output(); err == nil ||
		!strings.HasSuffix(string(out), "|try|--help|") {
		t.Errorf("help: %v, %q", err, out)
	}
}

// Without the program, the verb says how to get it, and has help.
func TestLiveWithoutItsProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	const install = "go install github.com/bloodhound-dst/bloodhound/live/cmd/bloodhound-live@latest"
	var out, errs bytes.Buffer
	if code := Main([]string{"live", "test"}, &out, &errs); code != check.ExitUsage || !strings.Contains(errs.String(), install) || out.Len() > 0 {
		t.Errorf("exit code %d\n%s%s", code, &out, &errs)
	}
	for _, args := range [][]string{{"live", "--help"}, {"help", "live"}, {"help", "live", "test"}, {"live", "test", "-h"}} {
		out.Reset()
		errs.Reset()
		if code := Main(args, &out, &errs); code != 0 || errs.Len() > 0 || !strings.Contains(out.String(), install) ||
			!strings.Contains(out.String(), "federate") || !strings.Contains(out.String(), "bloodhound live test ./internal/parser") {
			t.Errorf("%q: exit code %d\n%s%s", args, code, &out, &errs)
		}
	}
	out.Reset()
	if code := Main([]string{"help"}, &out, &errs); code != 0 ||
		!strings.Contains(out.String(), "Copy running programs and explore the next steps of the copies") {
		t.Errorf("help: exit code %d\n%s", code, &out)
	}
}
