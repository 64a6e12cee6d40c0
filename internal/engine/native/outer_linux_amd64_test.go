package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// doctorOnly makes this program print the check of outer filters and end.
const doctorOnly = "NATIVE_TEST_OUTER_FILTER"

// A filter around Bloodhound that answers calls, as those of container runtimes do, is reported.
func TestOuterFilterIsReported(t *testing.T) {
	if os.Getenv(doctorOnly) != "" {
		c := outerFilterCheck()
		t.Log("outer filter:", c.OK, c.Detail)
		return
	}
	program := filepath.Join(t.TempDir(), "deny-userns")
	if out, err := exec.Command(needs.Program(t, "gcc", "cc"), "-o", program, "../../../.ci/deny-userns.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program, os.Args[0], "-test.v", "-test.run", "^TestOuterFilterIsReported$")
	cmd.Env = append(os.Environ(), doctorOnly+"=1")
	out, err := cmd.CombinedOutput()
	if want := "outer filter: false a seccomp filter around Bloodhound answers clone3"; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%v, no %q in\n%s", err, want, out)
	}
}
