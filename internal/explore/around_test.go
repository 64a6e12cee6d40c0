package explore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

func TestTapesAroundAFailureStayNearIt(t *testing.T) {
	original := tape.Tape{Seed: 7}
	smallest := tape.Replay(7, []tape.Decision{{Stream: "fault/crash/n1", Index: 40, N: 17, Value: 3}, {Stream: "sched/n1/0", Index: 2, N: 9, Value: 1}})
	near := &Neighbourhood{Original: original, Smallest: smallest}
	if got := near.Around(0); !reflect.DeepEqual(got, original) {
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
		tp := near.Around(i)
		if !reflect.DeepEqual(tp, near.Around(i)) {
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
		injected := 0
		for at, v := range faults(tp) {
			if v == 0 {
				continue
			}
			injected++
			places[at] = true
			if v != 3 || at < 40-MaxShift || at > 40+MaxShift {
				t.Errorf("tape %d injects at draw %d with %d", i, at, v)
			}
		}
		if injected != 1 {
			t.Errorf("tape %d injects %d times:\n%s", i, injected, tape.Format(tp))
		}
		if strings.Contains(tape.Format(tp), "set sched") {
			t.Errorf("tape %d keeps a preemption", i)
		}
	}
	if len(places) < 10 {
		t.Errorf("20 tapes inject at %d moments only", len(places))
	}
}

// Up to where the run parts from the one that was stored, half of the tapes make the same choices, and keep the faults.
func TestTapesAroundAFailureKeepWhatBothRunsShare(t *testing.T) {
	const early, late, draws, parting = "fault/crash/n1", "fault/crash/n2", 100, 30
	original := tape.Tape{Seed: 7}
	run := func(tp tape.Tape, last uint64) (list []tape.Decision) {
		s := tape.NewSource(tp)
		for i := range uint64(draws) {
			s.Rare(early, 17, 50_000)
			n := uint64(64)
			if i >= parting {
				n = last // a program that asks for something else from here on
			}
			s.Choose("net/a>b/0/c2s/jitter", n)
			s.Rare(late, 17, 50_000)
		}
		return s.Decisions()
	}
	near := &Neighbourhood{Original: original, Stored: run(original, 64), Now: run(original, 1000)}
	injection := func(stream string, before bool) tape.Decision {
		i := slices.IndexFunc(near.Stored, func(d tape.Decision) bool { return d.Stream == stream && (d.Index < parting) == before })
		if i < 0 {
			t.Fatalf("no injection of %s", stream)
		}
		return near.Stored[i]
	}
	first, second := injection(early, true), injection(late, false)
	near.Smallest = tape.Replay(7, []tape.Decision{first, second})
	differ, moved := map[string]bool{}, map[uint64]bool{}
	for i := uint64(1); i <= 40; i++ {
		tp := near.Around(i)
		text := tape.Format(tp)
		jitter := func(tp tape.Tape) (list []uint64) {
			s := tape.NewSource(tp)
			for range draws {
				list = append(list, s.Choose("net/a>b/0/c2s/jitter", 64))
			}
			return list
		}
		got, was := jitter(tp), jitter(original)
		if slices.Equal(got, was) {
			t.Errorf("tape %d has the latencies of the original:\n%s", i, text)
		}
		if i%4 >= 2 {
			continue
		}
		if !slices.Equal(got[:parting], was[:parting]) {
			t.Errorf("tape %d has other latencies before the runs part:\n%s", i, text)
		}
		differ[fmt.Sprint(got)] = true
		if i%2 == 1 {
			continue
		}
		s := tape.NewSource(tp)
		for at := range uint64(2 * draws) {
			if v := s.Rare(early, 17, 50_000); (v != 0) != (at == first.Index) {
				t.Errorf("tape %d injects into n1 at draw %d with %d; the injection was at %d", i, at, v, first.Index)
			}
			if s.Rare(late, 17, 50_000) != 0 {
				moved[at] = true
			}
		}
	}
	if len(differ) < 10 || len(moved) < 5 {
		t.Errorf("%d kinds of latencies, injections at %v", len(differ), moved)
	}
}
