package examples

import (
	"bytes"
	"regexp"
	"runtime"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// TestCheckoutInWorlds runs the test of the shop as a program of a world: it charges twice without keys, after one fault.
func TestCheckoutInWorlds(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("runs worlds: Linux x86-64, and not with -short")
	}
	needs.Program(t, "pg_ctlcluster")
	program := bloodhound(t)
	out, code := call(t, program, "explore", "inprocess/checkout", "--seeds", "20")
	if code != violated || !bytes.Contains(out, []byte("Always: TestShopInWorld holds")) || !regexp.MustCompile(`faults +\d+ -> 1\n`).Match(out) {
		t.Errorf("the shop without keys: exit code %d\n%s", code, out)
	}
	if out, code := call(t, program, "explore", "inprocess/checkout/fixed.yaml", "--seeds", "5"); code != 0 {
		t.Errorf("the shop with keys: exit code %d\n%s", code, out)
	}
}
