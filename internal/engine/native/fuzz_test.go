//go:build linux && amd64

package native_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Calls made at random break neither the engine nor the machine, and what they do repeats, under both ways of interception.
func TestRandomCalls(t *testing.T) {
	needCompiler(t)
	program := compile(t, filepath.Join("testdata", "fuzz", "calls.c"), "-static")
	seeds := 3
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		seeds = 300
	}
	for seed := 1; seed <= seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHost(t)
			var hashes []string
			for _, reference := range []string{"", "", "1"} {
				t.Setenv(native.ReferenceVariable, reference)
				root := t.TempDir()
				if err := os.Link(program, filepath.Join(root, "calls")); err != nil {
					t.Fatal(err)
				}
				spec := aloneSpec(program)
				n := &spec.Nodes[0]
				n.Root, n.Command = root, []string{"/calls", fmt.Sprint(seed), "20", "400"}
				n.Volumes = []world.Volume{{Kind: world.Named, Source: "work", Target: "/work"}}
				spec.MaxTimeNs, spec.Limits.MemoryBytes, spec.Limits.WallMs = 1000e9, 64<<20, 120_000
				log, out := run(t, spec, 1)
				// A call may well have written where the program may, but should not: then the run says so.
				if out.Reason != engine.Finished || !out.Repeat.Reproducible && !strings.HasSuffix(out.Repeat.Reason, "wrote to the page of virtual time") {
					t.Errorf("the world ended by %s %s; reproducible=%v %s", out.Reason, out.Detail, out.Repeat.Reproducible, out.Repeat.Reason)
				}
				if lines := strings.Join(texts(log, "stdout"), "\n"); !strings.HasSuffix(lines, "done") {
					t.Errorf("the program did not come to its end:\n%s", lines)
				}
				hashes = append(hashes, out.Hash)
			}
			if hashes[0] != hashes[1] || hashes[0] != hashes[2] {
				t.Errorf("hashes of two runs and of the reference: %v", hashes)
			}
			h.judge(t, nil)
		})
	}
}
