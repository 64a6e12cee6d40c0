package sdk_test

import (
	"os/exec"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/needs"
)

// Package grpcfault is a module of its own, so that users of package sdk do not depend on gRPC.
func TestModuleOfGRPC(t *testing.T) {
	if testing.Short() {
		t.Skip("a module of its own: cd sdk/grpcfault && go test .")
	}
	download := exec.Command("go", "mod", "download")
	download.Dir = "grpcfault"
	if out, err := download.CombinedOutput(); err != nil {
		needs.Missing(t, "the modules of sdk/grpcfault", string(out))
	}
	for _, args := range [][]string{{"vet", "."}, {"test", "."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = "grpcfault"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
}
