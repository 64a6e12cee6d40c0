package model

import (
	"strings"
	"testing"
)

// Each step from one state to another is given once, behind a shortest way to it.
func TestBehaviours(t *testing.T) {
	m := follow(t, Options{}).model
	lengths := map[int]int{}
	var longest Behaviour
	all, err := m.Behaviours(1000, func(b Behaviour) bool {
		lengths[b.Len()]++
		longest = b
		return true
	})
	// With 5 and no fee there are 1 to 5 to move: 15 pairs of balances; with a fee of 1 the balances are 5, 3, 2, 1, 0 and what is left of those.
	if err != nil || !all || lengths[0] != 0 || lengths[1] != 5+4 {
		t.Fatalf("%v, %v, %v", all, err, lengths)
	}
	if longest.Action(1) != "Next" && longest.Action(1) != "Move" {
		t.Errorf("the action is %s", longest.Action(1))
	}
	if !longest.Shows(0, 5, "Of", "a") || !longest.Shows(0, 0, "Of", "b") || longest.Shows(longest.Len(), 5, "Of", "a") {
		t.Error("the initial state is another one")
	}
	// Coarser: rich or poor.
	coarse := follow(t, Options{View: "Rich"}).model
	count := 0
	if all, err := coarse.Behaviours(1000, func(Behaviour) bool { count++; return true }); err != nil || !all || count != 3 { // rich-rich, rich-poor, poor-poor
		t.Errorf("%d steps that the view distinguishes, %v, %v", count, all, err)
	}
	// Bounds.
	if all, err := m.Behaviours(2, func(Behaviour) bool { return true }); err != nil || all {
		t.Errorf("all of it in 2 states: %v, %v", all, err)
	}
	count = 0
	if all, err := m.Behaviours(1000, func(Behaviour) bool { count++; return count < 4 }); err != nil || all || count != 4 {
		t.Errorf("%d behaviours, %v, %v", count, all, err)
	}
	if _, err := m.Behaviours(1000, func(b Behaviour) bool { b.Shows(0, 1, "Nothing"); return true }); err == nil || !strings.Contains(err.Error(), "Nothing") {
		t.Error(err)
	}
}
