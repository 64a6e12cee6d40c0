package examples

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// examples/inprocess/raft is a module of its own, so that the product does not depend on the library that it runs.
func TestRaftInAWorld(t *testing.T) {
	if testing.Short() {
		t.Skip("a module of its own: cd examples/inprocess/raft && go test ./...")
	}
	t.Parallel()
	needs.Module(t, "inprocess/raft", []string{"vet", "./..."}, []string{"test", "-short", "./..."})
}
