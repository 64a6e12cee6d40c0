package search

import "testing"

// The control without a guide keeps as many runs as the search that it controls, but not those that reached something.
func TestUnguided(t *testing.T) {
	kept := map[string][]uint64{}
	for _, name := range []string{Guided, Guided + "+" + Unguided} {
		s, err := New(name, stepped(), 1, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		g := s.(*guided)
		for run := range uint64(200) {
			r := &Run{Number: run, Candidate: Candidate{Tape: RandomTape(1, run)}, Seen: &Seen{}}
			if r.Reached = []uint64{1}; run%20 == 7 {
				r.Reached = append(r.Reached, 100+run)
			}
			s.Learn(r)
		}
		for _, e := range g.corpora[0].held {
			kept[name] = append(kept[name], e.Run)
		}
	}
	guided, control := kept[Guided], kept[Guided+"+"+Unguided]
	if len(guided) != 11 || len(control) != len(guided) {
		t.Fatalf("kept are %v and %v", guided, control)
	}
	rare := 0
	for _, run := range control {
		if run%20 == 7 {
			rare++
		}
	}
	if rare > 3 {
		t.Errorf("the control keeps what reached something: %v", control)
	}
}
