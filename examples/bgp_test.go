package examples

import (
	"os/exec"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/needs"
)

// examples/bgp/load is a module of its own, so that the product does not depend on GoBGP.
func TestBGPRoutersLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("a module of its own: cd examples/bgp/load && go test .")
	}
	download := exec.Command("go", "mod", "download")
	download.Dir = "bgp/load"
	if out, err := download.CombinedOutput(); err != nil {
		needs.Missing(t, "the modules of examples/bgp/load", string(out))
	}
	for _, args := range [][]string{{"vet", "."}, {"test", "."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = "bgp/load"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
}
