package inproc

import (
	"slices"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// A failure that cannot happen, since another one has, takes its draw: what happens to later calls stays as it was.
func TestMishapsKeepTheirDraws(t *testing.T) {
	happens := func(never int) (list []bool) {
		mustRun(t, mustNew(t, func(w *World) {
			w.Set(Settings{Chaos: time.Second})
			w.Process("a", func(p *Process) {
				p.Sleep(100 * time.Millisecond) // until faults may be injected
				for i := range 100 {
					rate := 0.5
					if i == never {
						rate = 0
					}
					list = append(list, p.Mishap("sour", rate))
				}
			})
		}), tape.Tape{Seed: 1})
		return list
	}
	all := happens(-1)
	at := slices.Index(all, true)
	if at < 0 || at > 90 || len(all) != 100 {
		t.Fatalf("happens: %v", all)
	}
	without := happens(at)
	if all[at] = false; !slices.Equal(all, without) {
		t.Errorf("without failure %d: %v, not %v", at, without, all)
	}
}
