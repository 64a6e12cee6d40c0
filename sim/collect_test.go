package sim

import (
	"runtime/debug"
	"testing"
)

func TestGarbageIsCollectedLessWhileThereAreCampaigns(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 1600}, {32 << 20, 1600}, {100 << 20, 510}, {200 << 20, 250}, {400 << 20, 120}, {2 << 30, 100}, {1 << 45, 100}} {
		if got := percentFor(c.live); got != c.want {
			t.Errorf("%d bytes: %d %%, and not %d", c.live, got, c.want)
		}
	}
	now := func() int {
		p := debug.SetGCPercent(70)
		debug.SetGCPercent(p)
		return p
	}
	defer debug.SetGCPercent(debug.SetGCPercent(70))
	t.Setenv("GOGC", "")
	first := collectLess()
	second := collectLess()
	for range collectLooks {
		collected()
	}
	if p := now(); p < usualPercent {
		t.Errorf("%d %% within campaigns", p)
	}
	first()
	if p := now(); p < usualPercent {
		t.Errorf("%d %% while one of two still runs", p)
	}
	second()
	if p := now(); p != 70 {
		t.Errorf("%d %% after them", p)
	}
	t.Setenv("GOGC", "70")
	collectLess()()
	if p := now(); p != 70 {
		t.Errorf("%d %% with a setting of its own", p)
	}
}
