package search_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// derivedSpec is a Spec with four rules of its own, and ten derived ones behind them: six crashes, three full disks and a restart.
func derivedSpec(bounded bool) (plain, with *world.Spec) {
	plain = meeting()
	plain.Faults.Rules = []world.FaultRule{{Kind: "crash", RatePPM: 100}, {Kind: "disk_full", RatePPM: 100},
		{Kind: "restart", RatePPM: 100}, {Kind: "delay", RatePPM: 100}}
	if bounded {
		plain.Faults.Rules[1].Max = 1
	}
	own := *plain
	own.Faults.Rules = slices.Clone(plain.Faults.Rules)
	add := func(r world.FaultRule) {
		r.Derived, r.RatePPM = true, 50_000
		own.Faults.Rules = append(own.Faults.Rules, r)
	}
	for i := range 6 {
		add(world.FaultRule{Kind: "crash", Trigger: world.Trigger{At: []string{"fsync"}, Moment: world.AfterCall, Path: fmt.Sprint("file", i)}})
	}
	for i := range 3 {
		add(world.FaultRule{Kind: "disk_full",
			Trigger: world.Trigger{At: []string{fault.CreateCall}, Path: fmt.Sprint("file", i)}, Max: plain.Faults.Rules[1].Max})
	}
	add(world.FaultRule{Kind: "restart", Trigger: world.Trigger{Moment: world.AfterReply}})
	return plain, &own
}

// rates are those that a tape sets, by rule.
func rates(t tape.Tape) map[int]uint64 {
	list := map[int]uint64{}
	for _, e := range t.Edits {
		if number, ok := strings.CutPrefix(e.Stream, "fault/rate/"); ok {
			n, _ := strconv.Atoi(number)
			list[n] = e.Value
		}
	}
	return list
}

// Half of the runs of swarm have derived rules, few each, and all of these have their turns. The others are the runs of a campaign without derived rules,
// if no moment comes often.
func TestSwarmTriesDerivedRules(t *testing.T) {
	for _, bounded := range []bool{false, true} {
		plain, with := derivedSpec(bounded)
		campaigns := map[bool]search.Strategy{}
		for _, derives := range []bool{false, true} {
			s, err := search.New(search.Swarm, plain, 5, search.Settings{OneBoot: true})
			if err != nil {
				t.Fatal(err)
			}
			if derives {
				if scouts := s.(search.Deriving).Scouts(); len(scouts) != 1 || rates(scouts[0])[1] <= fault.RateAsIs || rates(scouts[0])[4] != fault.RateOff {
					t.Errorf("scouts are %+v", scouts)
				}
				s.(search.Deriving).Derived(with)
			}
			campaigns[derives] = s
		}
		const runs = 120
		own, alone, turns := 0, 0, map[int]int{}
		for i := range uint64(runs) {
			old, _ := campaigns[false].Next(i)
			c, _ := campaigns[true].Next(i)
			set, before := rates(c.Tape), rates(old.Tape)
			var derived []int
			off, changed := true, false
			for rule, v := range set {
				switch {
				case rule > len(plain.Faults.Rules):
					derived = append(derived, rule)
					turns[rule]++
					if v < fault.RateAsIs {
						t.Errorf("run %d has a derived rule that is off", i)
					}
				case v != fault.RateOff:
					off = false
					changed = changed || v != before[rule]
				}
			}
			if len(derived) == 0 {
				if own++; !reflect.DeepEqual(old, c) {
					t.Errorf("run %d without derived rules is another one: %v, was %v", i, c.Tape, old.Tape)
				}
				continue
			}
			if off {
				alone++
			}
			full := slices.ContainsFunc(derived, func(rule int) bool { return with.Faults.Rules[rule-1].Kind == "disk_full" })
			if changed || len(derived) > 4 {
				t.Errorf("run %d has %d derived rules: %v, was %v", i, len(derived), set, before)
			}
			if bounded && full && set[2] != fault.RateOff {
				t.Errorf("run %d injects a bounded kind by several rules: %v", i, set)
			}
			if full && set[14] == 0 {
				t.Errorf("run %d has a full disk and no restart: %v", i, set)
			}
		}
		if own < runs/2-5 || own > runs/2+5 || alone < runs/8 || alone > runs*3/8 {
			t.Errorf("of %d runs %d have no derived rule, and %d no other one", runs, own, alone)
		}
		for rule := 5; rule <= 14; rule++ {
			if turns[rule] < 4 {
				t.Errorf("rule %d had %d turns", rule, turns[rule])
			}
		}
	}
}

// A quarter of the runs have one rule each for a moment that comes often, or for a rare operation, and these take turns. All even runs have derived rules
// in turns, whatever their moments.
func TestSwarmTriesBusyMoments(t *testing.T) {
	plain := meeting()
	plain.Faults.Rules = []world.FaultRule{{Kind: "crash", RatePPM: 100}}
	with := *plain
	with.Faults.Rules = append(slices.Clone(plain.Faults.Rules),
		world.FaultRule{Kind: "crash",
			Trigger: world.Trigger{At: []string{"rename"}, Moment: world.AfterCall, Path: "a"}, RatePPM: 500_000, Derived: true},
		world.FaultRule{Kind: "crash",
			Trigger: world.Trigger{At: []string{"fsync"}, Moment: world.AfterCall, Path: "b"}, RatePPM: 50_000, Derived: true},
		world.FaultRule{Kind: "crash",
			Trigger: world.Trigger{At: []string{"fsync"}, Moment: world.AfterCall, Path: "c"}, RatePPM: 1_000, Derived: true},
		world.FaultRule{Kind: "crash", Trigger: world.Trigger{Moment: world.InOperation, Path: "compact"}, RatePPM: 250_000, Derived: true})
	s, err := search.New(search.Swarm, plain, 5, search.Settings{OneBoot: true})
	if err != nil {
		t.Fatal(err)
	}
	s.(search.Deriving).Derived(&with)
	const runs = 160
	even, busy := map[int]int{}, map[int]int{}
	for i := range uint64(runs) {
		c, _ := s.Next(i)
		for rule := range rates(c.Tape) {
			switch {
			case rule <= len(plain.Faults.Rules):
			case i%2 == 0:
				even[rule]++
			default:
				busy[rule]++
			}
		}
	}
	if len(busy) != 2 || busy[4] != runs/8 || busy[5] != runs/8 {
		t.Errorf("of %d runs, those with busy moments had the rules %v", runs, busy)
	}
	for rule := 2; rule <= 5; rule++ {
		if even[rule] < runs/8 {
			t.Errorf("rule %d had %d turns of %v", rule, even[rule], even)
		}
	}
}
