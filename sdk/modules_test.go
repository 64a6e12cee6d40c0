package sdk_test

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/needs"
)

// Package grpcfault is a module of its own, so that users of package sdk do not depend on gRPC.
func TestModuleOfGRPC(t *testing.T) {
	if testing.Short() {
		t.Skip("a module of its own: cd sdk/grpcfault && go test .")
	}
	needs.Module(t, "grpcfault", []string{"vet", "."}, []string{"test", "."})
}
