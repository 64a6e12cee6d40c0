//go:build linux && amd64

package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// Forks of each server: in a soak, and otherwise, when only servers whose worlds run fast are forked.
const (
	soakForks = 20
	testForks = 1
)

var forkFast = []string{"nginx", "jvm"}

// mariadb is the world of testdata/script/mysql.txtar.
func mariadb(t *testing.T) server {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/script/mysql.txtar")
	if err != nil {
		t.Fatal(err)
	}
	s := server{name: "mariadb", dir: t.TempDir(), needs: []string{"mariadbd"}}
	if err := txtar.Write(archive, s.dir); err != nil {
		t.Fatal(err)
	}
	return s
}

// A world of servers is forked at random events. A copy, a copy of the copy, and the world itself, which is forked again and again, end with
// the hash of a run from boot. A single server:
//
//	BLOODHOUND_SOAK=1 go test ./engine/native/e2e -run 'ServersFork/postgres$' -v
func TestServersFork(t *testing.T) {
	forks := testForks
	if soak {
		forks = soakForks
	}
	for _, s := range append(slices.Clone(servers), server{name: "mariadb"}) {
		t.Run(s.name, func(t *testing.T) {
			if !soak && !slices.Contains(forkFast, s.name) {
				t.Skip("BLOODHOUND_SOAK=1 forks it")
			}
			if s.dir == "" {
				s = mariadb(t)
			}
			s.require(t)
			s.call(t, &struct{}{}, "run", "--seed", "1", "--json") // it builds what the world needs
			// Where ordinary users do not look for servers, worlds do.
			t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin")
			r, err := config.Load(config.Options{Path: filepath.Join(s.dir, "bloodhound.yaml")})
			if err != nil {
				t.Fatal(err)
			}
			o := engine.Options{Dir: t.TempDir(), Driver: bloodhound}
			boot := func() engine.World {
				w, err := native.New().Boot(r.Spec, tape.Tape{Seed: 1}, o)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { w.Close() })
				return w
			}
			advance := func(w engine.World, to uint64) *record.Outcome {
				if _, err := w.Advance(engine.Until{Position: record.PositionAt(to)}); err != nil {
					t.Fatal(err)
				}
				return w.Outcome()
			}
			first := boot()
			began := time.Now()
			want := *advance(first, 0)
			t.Logf("%d events in %v", want.Events, time.Since(began).Round(time.Millisecond))
			first.Close()
			var took []time.Duration
			fork := func(w engine.World) engine.World {
				began := time.Now()
				c, err := w.Fork(r.Spec, tape.Tape{Seed: 1}, o)
				if err != nil {
					t.Fatalf("at event %d: %v", w.Outcome().Events, err)
				}
				took = append(took, time.Since(began))
				t.Cleanup(func() { c.Close() })
				return c
			}
			end := func(w engine.World, event uint64, what string) {
				got := advance(w, 0)
				if got.StrictHash != want.StrictHash || got.Hash != want.Hash || got.Repeat != want.Repeat {
					t.Errorf("forked at event %d, %s ends with %s, %d events, %s, and a run from boot with %s, %d events, %s",
						event, what, describe(got), got.Events, got.Reason, describe(&want), want.Events, want.Reason)
				}
				w.Close()
			}
			chance := rand.New(rand.NewPCG(want.Events, 1))
			w := boot()
			last := map[uint64]engine.World{} // copies of copies that go on when the world has ended
			for i := range forks {
				event := want.Events*uint64(i)/uint64(forks) + 1 + chance.Uint64N(want.Events/uint64(forks))
				advance(w, event)
				c := fork(w)
				cc := fork(c)
				end(c, event, "the copy")
				if i%2 == 0 {
					last[event] = cc
				} else {
					end(cc, event, "the copy of the copy")
				}
			}
			end(w, 0, "the world")
			for _, event := range slices.Sorted(maps.Keys(last)) {
				end(last[event], event, "the copy of the copy, which goes on last,")
			}
			slices.Sort(took)
			t.Logf("%d forks, each in %v to %v, the median is %v", len(took), took[0], took[len(took)-1], took[len(took)/2])
		})
	}
}

func describe(o *record.Outcome) string {
	return fmt.Sprintf("%.12s (strict %.12s, %v %s)", o.Hash, o.StrictHash, o.Repeat.Reproducible, o.Repeat.Reason)
}
