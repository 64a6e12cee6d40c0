package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// What is remembered of earlier runs changes nothing in what a run is answered, nor does making room for more.
func TestMemoryChangesNothing(t *testing.T) {
	plain, quick := follow(t, Options{View: "Rich"}), follow(t, Options{View: "Rich"})
	plain.memory.useless = true
	account := []string{"a", "b"}
	found := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		plain.Restart()
		quick.Restart()
		for range r.IntN(8) {
			from, to, n := account[r.IntN(2)], account[r.IntN(2)], r.IntN(3)
			repeat, seen := r.IntN(4) == 0, r.IntN(6)
			for _, f := range []*Follower{plain, quick} {
				if repeat {
					f.Repeat("Move", from, to, n+1)
				} else {
					f.Step("Move", from, to, n)
				}
				if seen < 2 {
					f.Saw(seen, "Of", "b")
				}
			}
		}
		if seed%50 == 49 {
			found = max(found, quick.memory.found)
			quick.memory.forget()
			quick.makeInitial()
		}
		tell := func(f *Follower) string {
			return fmt.Sprint(f.End(), f.Tally(), f.steps, len(f.states), slices.Clone(f.Reached()))
		}
		if a, b := tell(plain), tell(quick); a != b {
			t.Fatalf("run %d: without memory\n%s\nand with it\n%s", seed, a, b)
		}
	}
	if found < 200 || plain.memory.found > 0 {
		t.Errorf("%d steps were remembered, and %d without memory", found, plain.memory.found)
	}
}

const store = `---- MODULE Store ----
EXTENDS Integers, Sequences, TLC
VARIABLES stock, place, grid, bag, last
vars == <<stock, place, grid, bag, last>>
Init ==
  /\ stock = [i \in 1..3 |-> 0]
  /\ place = [a |-> 0, b |-> 1]
  /\ grid = [i \in 1..2 |-> [j \in {0, 5} |-> i]]
  /\ bag = [a |-> 0, b |-> 0]
  /\ last = 0
Put(i, n) == stock' = [stock EXCEPT ![i] = n] /\ UNCHANGED <<place, grid, bag, last>>
Add(i, n) == stock' = [stock EXCEPT ![i] = @ + n, ![1] = @ - 1] /\ UNCHANGED <<place, grid, bag, last>>
Changed(i, n) == [stock EXCEPT ![i] = n]
Swap(i, n) == LET s == [stock EXCEPT ![i] = stock[n], ![n] = stock[i]] IN stock' = s /\ last' = s[3] /\ UNCHANGED <<place, grid, bag>>
Both(i, n) == LET s == Changed(i, n) IN stock' = s /\ bag' = s /\ UNCHANGED <<place, grid, last>>
Pick(i, n) == stock' = (CHOOSE s \in {Changed(i, n)} : s[1] >= s[2] \/ TRUE) /\ UNCHANGED <<place, grid, bag, last>>
Some(i, n) == \E s \in {Changed(i, n), stock} : stock' = s /\ bag' = [a |-> s[1], b |-> 0] /\ UNCHANGED <<place, grid, last>>
Among(i, n) == stock' \in {Changed(i, n), [stock EXCEPT ![n] = i]} /\ UNCHANGED <<place, grid, bag, last>>
Or(i, n) == (stock' = Changed(i, n) \/ stock' = [k \in 1..3 |-> 0]) /\ UNCHANGED <<place, grid, bag, last>>
Clear(i, n) == stock' = [k \in 1..3 |-> 0] /\ last' = 0 /\ UNCHANGED <<place, grid, bag>>
Named(i, n) == stock' = Changed(i, n) /\ UNCHANGED <<place, grid, bag, last>> /\ UNCHANGED <<bag, last>>
Still(i, n) == stock' = Changed(i, n) /\ UNCHANGED vars
Means(i, n) ==
  /\ UNCHANGED <<place, grid, bag>>
  /\ \/ stock' = Changed(i, n) /\ stock' = [k \in 1..3 |-> n] /\ UNCHANGED last
     \/ stock' = Changed(i, 0) /\ last' = n
Then(i, n) == stock' = Changed(i, n) /\ last' = stock'[n] /\ UNCHANGED <<place, grid, bag>>
After(i, n) == UNCHANGED <<stock, place, grid, bag>> /\ last' = stock'[i] + place'.a
Sum(i, n) == stock' = Changed(i, n) /\ last' = (IF stock' = [k \in 1..3 |-> n] THEN 1 ELSE 2) /\ UNCHANGED <<place, grid, bag>>
Way(i, n) == /\ IF stock[i] > 1 THEN place' = [place EXCEPT !.a = n] ELSE place' = [place EXCEPT !.b = stock[n]]
             /\ UNCHANGED <<stock, grid, bag, last>>
Either(i, n) == place' = (IF place.a > n THEN [place EXCEPT !.a = 0] ELSE place) /\ UNCHANGED <<stock, grid, bag, last>>
Deep(i, n) == grid' = [grid EXCEPT ![1][5] = n, ![2][0] = @ + grid[1][5]] /\ UNCHANGED <<stock, place, bag, last>>
Grow(i, n) == bag' = bag @@ (n :> i) /\ UNCHANGED <<stock, place, grid, last>>
Shrink(i, n) == bag' = [a |-> n, b |-> 0] /\ UNCHANGED <<stock, place, grid, last>>
Mark(i, n) == "a" \in DOMAIN bag /\ bag' = [bag EXCEPT !.a = n] /\ UNCHANGED <<stock, place, grid, last>>
Other(i, n) == bag' = [stock EXCEPT ![i] = n] /\ UNCHANGED <<stock, place, grid, last>>
Low(i, n) == last' = bag[i] /\ UNCHANGED <<stock, place, grid, bag>>
Keep(i, n) == last' = Len(stock) + bag["a"] /\ "b" \in DOMAIN bag /\ UNCHANGED <<stock, place, grid, bag>>
Can(i, n) == UNCHANGED <<stock, place, grid, bag>> /\ last' = (IF ENABLED (stock' = Changed(i, n) /\ UNCHANGED stock) THEN 1 ELSE 2)
Two(i, n) == (Put(i, n) \cdot Add(i, 1))
Big == {k \in 1..3 : stock[k] > 1}
Few(i, n) == i \notin Big /\ stock' = Changed(i, n) /\ last' = (IF i \in Big THEN 1 ELSE 2) /\ UNCHANGED <<place, grid, bag>>
All(i, n) == (\A k \in 1..3 : stock[k] < 3) /\ stock' = Changed(i, n) /\ UNCHANGED <<place, grid, bag, last>>
Next == \E i \in 1..3, n \in 1..3 : Put(i, n)
Has(i) == stock[i]
Bags(i) == <<bag, Big, grid[1]>>
Rich == <<stock[1], place.a, {k \in DOMAIN bag : bag[k] > 1}>>
====
`

// What is remembered of a step is answered again only where the step is the same, whatever it reads and changes.
func TestWhatIsRememberedIsTheSame(t *testing.T) {
	f := followIn(t, store, Options{View: "Rich", Doubt: true})
	actions := []string{"Put", "Add", "Swap", "Both", "Pick", "Some", "Among", "Or", "Clear", "Named", "Still", "Means", "Then",
		"After", "Sum", "Way", "Either", "Deep", "Grow", "Shrink", "Mark", "Keep", "Other", "Low",
		"Can", "Two", "Few", "All"}
	var shows []*show
	for _, name := range []string{"Has", "Bags"} {
		op, err := eval.ExpressionOf(f.model.spec, name)
		if err != nil {
			t.Fatal(err)
		}
		shows = append(shows, &show{op, uint64(len(shows))})
	}
	found := map[string]int{}
	r := rand.New(rand.NewPCG(1, 1))
	for range 4000 {
		f.Restart()
		for range 6 {
			name, i, n := actions[r.IntN(len(actions))], 1+r.IntN(3), 1+r.IntN(3)
			if r.IntN(8) == 0 {
				f.Repeat("Add", i, 1)
			}
			f.look()
			before := f.memory.found
			f.Step(name, i, n)
			if f.Err() != nil {
				break
			}
			found[name] += f.memory.found - before
			for _, op := range shows {
				if _, err := f.shown(f.states[0], op, []value.Value{value.Int(i)}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, name := range actions {
		if found[name] < 10 {
			t.Errorf("%s was remembered %d times", name, found[name])
		}
	}
}

// A scratch variable begins each step as it was at first.
func TestScratch(t *testing.T) {
	for _, c := range []struct {
		scratch []string
		fails   string
		returns bool
	}{
		{[]string{"balance"}, "", true},
		{nil, "", false},
		{[]string{"fee"}, "the variable fee has several initial values, such as 0 and 1, but a scratch variable must have one", false},
		{[]string{"tax"}, "the specification has no variable tax", false},
	} {
		m := follow(t, Options{}).model
		m.o.Scratch = c.scratch
		f, err := m.Follow()
		if err != nil || c.fails != "" {
			if fmt.Sprint(err) != c.fails {
				t.Errorf("%v: %v", c.scratch, err)
			}
			continue
		}
		first := f.text(f.states[0])
		f.Step("Move", "a", "b", 4)
		if now := f.text(f.states[0]); (now == first) != c.returns || f.Err() != nil {
			t.Errorf("%v: from\n%s\nto\n%s\n%v", c.scratch, first, now, f.Err())
		}
	}
}
