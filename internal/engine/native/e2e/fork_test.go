//go:build linux && amd64

package e2e

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Forks of each server: in a soak, and otherwise, when only servers whose worlds run fast are forked.
const (
	soakForks = 20
	testForks = 1
)

var forkFast = []string{"nginx", "jvm"}

// A world of servers is forked at random events: the copy, the world, and a copy of the copy end with the hash of a run from boot.
func TestServersFork(t *testing.T) {
	forks := testForks
	if soak {
		forks = soakForks
	}
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			if !soak && !slices.Contains(forkFast, s.name) {
				t.Skip("BLOODHOUND_SOAK=1 forks it")
			}
			s.require(t)
			s.call(t, &struct{}{}, "run", "--seed", "1", "--json") // it builds what the world needs
			r, err := config.Load(config.Options{Path: filepath.Join(s.dir, "bloodhound.yaml")})
			if err != nil {
				t.Fatal(err)
			}
			o := engine.Options{Dir: t.TempDir(), Self: bloodhound}
			boot := func() engine.World {
				w, err := native.New().Boot(r.Spec, tape.Tape{Seed: 1}, o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { w.Close() })
				return w
			}
			advance := func(w engine.World, to uint64) *engine.Outcome {
				if _, err := w.Advance(engine.Until{Position: engine.At(to)}); err != nil {
					t.Fatal(err)
				}
				return w.Outcome()
			}
			first := boot()
			want := *advance(first, 0)
			first.Close()
			fork := func(w engine.World) engine.World {
				began := time.Now()
				c, err := w.Fork(r.Spec, tape.Tape{Seed: 1}, o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				t.Logf("%d events: forked in %.1f ms", w.Outcome().Events, float64(time.Since(began).Microseconds())/1000)
				return c
			}
			chance := rand.New(rand.NewPCG(want.Events, 1))
			for i := range forks {
				event := want.Events*uint64(i)/uint64(forks) + 1 + chance.Uint64N(want.Events/uint64(forks))
				w := boot()
				advance(w, event)
				c := fork(w)
				cc := fork(c)
				for _, run := range []struct {
					what string
					engine.World
				}{{"the copy", c}, {"the world", w}, {"the copy of the copy", cc}} {
					got := advance(run.World, 0)
					if got.StrictHash != want.StrictHash || got.Hash != want.Hash || got.Repeat != want.Repeat {
						t.Errorf("forked at event %d, %s ends with %s, %d events, %s, and a run from boot with %s, %d events, %s", event, run.what, describe(got), got.Events, got.Reason, describe(&want), want.Events, want.Reason)
					}
					run.Close()
				}
			}
		})
	}
}

func describe(o *engine.Outcome) string {
	return fmt.Sprintf("%.12s (strict %.12s, %v %s)", o.Hash, o.StrictHash, o.Repeat.Reproducible, o.Repeat.Reason)
}
