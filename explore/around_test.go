package explore

import (
	"reflect"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/tape"
)

func TestTapesAroundAFailureStayNearIt(t *testing.T) {
	original := tape.Tape{Seed: 7}
	smallest := tape.Replay(7, []tape.Decision{{Stream: "fault/crash/n1", Index: 40, N: 17, Value: 3}, {Stream: "sched/n1/0", Index: 2, N: 9, Value: 1}})
	if got := Around(original, smallest, 0); !reflect.DeepEqual(got, original) {
		t.Errorf("tape 0 is %+v", got)
	}
	const draws = 100
	faults := func(tp tape.Tape) (list []uint64) {
		s := tape.NewSource(tp)
		for range draws {
			list = append(list, s.Rare("fault/crash/n1", 17, 20_000))
		}
		return list
	}
	chance := func(tp tape.Tape) (list []uint64) {
		s := tape.NewSource(tp)
		for range draws {
			list = append(list, s.Choose("net/a>b/0/c2s/jitter", 64))
		}
		return list
	}
	places := map[int]bool{}
	for i := uint64(1); i <= 40; i++ {
		tp := Around(original, smallest, i)
		if !reflect.DeepEqual(tp, Around(original, smallest, i)) {
			t.Fatalf("tape %d is not a function of its number", i)
		}
		if reflect.DeepEqual(chance(tp), chance(original)) {
			t.Errorf("tape %d has the latencies of the original", i)
		}
		if i%2 == 1 {
			if !reflect.DeepEqual(faults(tp), faults(original)) {
				t.Errorf("tape %d has other faults than the original", i)
			}
			continue
		}
		struck := 0
		for at, v := range faults(tp) {
			if v == 0 {
				continue
			}
			struck++
			places[at] = true
			if v != 3 || at < 40-MaxShift || at > 40+MaxShift {
				t.Errorf("tape %d strikes at draw %d with %d", i, at, v)
			}
		}
		if struck != 1 {
			t.Errorf("tape %d strikes %d times:\n%s", i, struck, tape.Format(tp))
		}
		if strings.Contains(tape.Format(tp), "set sched") {
			t.Errorf("tape %d keeps a preemption", i)
		}
	}
	if len(places) < 10 {
		t.Errorf("20 tapes strike at %d moments only", len(places))
	}
}
