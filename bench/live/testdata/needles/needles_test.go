package needles

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/live"
)

// budget is the time for a needle.
func budget(t testing.TB) time.Duration {
	d, err := time.ParseDuration(os.Getenv("NEEDLES_TIME"))
	if err != nil {
		t.Skip("NEEDLES_TIME is not set; bench/live runs this")
	}
	return d
}

func TestLive(t *testing.T) {
	limit := budget(t)
	for _, n := range Needles {
		t.Run(n.Name, func(t *testing.T) {
			begun, found, paths, tries := time.Now(), time.Duration(0), 0, 0
			live.Explore(t, live.Handler{Time: limit, Paths: 1 << 30, Run: func() {
				paths++
				b := make([]byte, Size)
				live.SymbolicBytes("b", b)
				if n.Found(b) {
					if found == 0 {
						found, tries = time.Since(begun), paths
					}
					live.Check("needle", false)
				}
			}})
			if found == 0 {
				tries = paths
			}
			outcome(t, found, tries, time.Since(begun))
		})
	}
}

func TestRandom(t *testing.T) {
	limit := budget(t)
	for _, n := range Needles {
		t.Run(n.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			begun, tries := time.Now(), 0
			b := make([]byte, Size)
			for time.Since(begun) < limit {
				for range 1000 {
					for i := 0; i < Size; i += 8 {
						binary.LittleEndian.PutUint64(b[i:], r.Uint64())
					}
					tries++
					if n.Found(b) {
						outcome(t, time.Since(begun), tries, time.Since(begun))
						return
					}
				}
			}
			outcome(t, 0, tries, time.Since(begun))
		})
	}
}

// outcome prints a line for bench/live: seconds until it was found, or 0; tries; seconds in all.
func outcome(t *testing.T, found time.Duration, tries int, all time.Duration) {
	t.Logf("needle: %.4f %d %.3f", found.Seconds(), tries, all.Seconds())
}

func fuzz(f *testing.F, i int) {
	f.Add(make([]byte, Size))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == Size && Needles[i].Found(b) {
			t.Fatal("found")
		}
	})
}

func FuzzRoute(f *testing.F)  { fuzz(f, 0) }
func FuzzText(f *testing.F)   { fuzz(f, 1) }
func FuzzHash(f *testing.F)   { fuzz(f, 2) }
func FuzzStates(f *testing.F) { fuzz(f, 3) }
func FuzzFilter(f *testing.F) { fuzz(f, 4) }
