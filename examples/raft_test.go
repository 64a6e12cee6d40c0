package examples

import (
	"os"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
)

// examples/inprocess/raft is a module of its own, so that the product does not depend on the library that it runs.
func TestRaftInAWorld(t *testing.T) {
	if testing.Short() {
		t.Skip("a module of its own: cd examples/inprocess/raft && go test ./...")
	}
	t.Parallel()
	steps := [][]string{{"vet", "./..."}}
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		steps = append(steps, []string{"test", "-short", "./..."})
	}
	needs.Module(t, "inprocess/raft", steps...)
}
