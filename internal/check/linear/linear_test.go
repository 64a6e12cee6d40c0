package linear

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// act is an operation as the slow twin sees it: what it does to a list of values, whatever object that is.
type act struct {
	Call, Return int64
	kind         string // write, read, put (into a queue), take, empty, append, add, all
	value        string // what was put in, or what came out
}

// do is the specification of all objects of these tests. The state is a list of values, joined by commas.
func (a act) do(state string) (string, bool) {
	items := strings.Split(state, ",")[1:]
	switch a.kind {
	case "write":
		return "," + a.value, true
	case "read":
		return state, state == a.value
	case "put", "append", "add":
		return state + "," + a.value, true
	case "take":
		if len(items) == 0 || items[0] != a.value {
			return state, false
		}
		return strings.TrimPrefix(state, ","+items[0]), true
	case "empty":
		return state, state == ""
	case "all":
		return state, state == a.value
	case "swap": // a compare-and-swap of "from>to=answer"
		from, rest, _ := strings.Cut(a.value, ">")
		to, answer, _ := strings.Cut(rest, "=")
		matches := state == ","+from
		if answer != "?" && answer != fmt.Sprint(matches) {
			return state, false
		}
		if matches {
			return "," + to, true
		}
		return state, true
	}
	panic(a.kind)
}

// slowly tries every order.
func slowly(acts []act, state string) bool {
	earliest := int64(Forever)
	for _, a := range acts {
		earliest = min(earliest, a.Return)
	}
	if earliest == Forever {
		return true
	}
	for i, a := range acts {
		if a.Call > earliest {
			continue
		}
		if next, ok := a.do(state); ok && slowly(slices.Delete(slices.Clone(acts), i, i+1), next) {
			return true
		}
	}
	return false
}

// history runs random operations on a correct object, each at some moment between its call and its return, and then
// spoils some results. What fill makes of an operation depends on the state in which it takes effect.
func random(r *rand.Rand, count int, unknown bool, fill func(state string, a *act)) []act {
	acts := make([]act, count)
	times := r.Perm(3 * count)
	points := make([]int, count)
	for i := range acts {
		t := times[3*i : 3*i+3]
		if r.IntN(3) > 0 { // most operations are short
			start := r.IntN(3 * count)
			for k := range t {
				t[k] = start*3*count + t[k]
			}
		} else {
			for k := range t {
				t[k] = t[k]*3*count + i
			}
		}
		slices.Sort(t)
		acts[i].Call, points[i], acts[i].Return = int64(t[0]), t[1], int64(t[2])
	}
	order := make([]int, count)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(points[i], points[j]) })
	state := ""
	for _, i := range order {
		fill(state, &acts[i])
		state, _ = acts[i].do(state)
		if unknown && r.IntN(6) == 0 && slices.Contains([]string{"write", "put", "append", "add"}, acts[i].kind) {
			acts[i].Return = Forever
		}
	}
	// Times that are equal would only be another order; make them distinct.
	var all []*int64
	for i := range acts {
		all = append(all, &acts[i].Call)
		if acts[i].Return != Forever {
			all = append(all, &acts[i].Return)
		}
	}
	slices.SortStableFunc(all, func(x, y *int64) int { return cmp.Compare(*x, *y) })
	for i, p := range all {
		*p = int64(i + 1)
	}
	return acts
}

func spec(acts []act) ([]Op, Spec[string]) {
	number := map[string]int32{}
	var classes []act
	var ops []Op
	for _, a := range acts {
		name := a.kind + a.value
		c, seen := number[name]
		if !seen {
			c = int32(len(classes))
			number[name], classes = c, append(classes, a)
		}
		ops = append(ops, Op{a.Call, a.Return, c, slices.Contains([]string{"read", "all", "empty"}, a.kind)})
	}
	return ops, Spec[string]{Step: func(s string, c int32) (string, bool) { return classes[c].do(s) }}
}

func plenty() *Budget { return NewBudget(1_000_000, 1<<28, time.Minute) }

const runs = 10_000

// compare judges random histories with a fast method, with Search and with Porcupine, and asks the slow twin who is
// right. A fast method may answer Undecided.
func compare(t *testing.T, unknown bool, most int, fill func(r *rand.Rand, i int) func(string, *act), fast func([]act) Answer) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	count := map[Answer]int{}
	decided := 0
	for i := range runs {
		acts := random(r, 2+r.IntN(most), unknown, fill(r, i))
		want := Illegal
		if slowly(acts, "") {
			want = Legal
		}
		count[want]++
		ops, s := spec(acts)
		if i%4 == 0 { // many classes are remembered in another way than few
			few := s.Step
			s.Step = func(state string, c int32) (string, bool) { return few(state, c-maxClasses) }
			for k := range ops {
				ops[k].Class += maxClasses
			}
		}
		if got, _ := Search(ops, s, plenty()); got != want {
			t.Fatalf("history %d: search says %v, the slow twin %v\n%+v", i, got, want, acts)
		}
		if i%10 == 0 {
			if got := DepthFirst(ops, s, plenty()); got != want {
				t.Fatalf("history %d: Porcupine says %v, the slow twin %v\n%+v", i, got, want, acts)
			}
		}
		if fast == nil {
			continue
		}
		got := fast(acts)
		if got != Undecided {
			decided++
		}
		if got != Undecided && got != want {
			t.Fatalf("history %d: the fast method says %v, the slow twin %v\n%+v", i, got, want, acts)
		}
	}
	if count[Legal] < runs/5 || count[Illegal] < runs/10 || fast != nil && decided < runs*9/10 {
		t.Fatalf("%d legal and %d illegal histories, %d decided: too few of one kind to prove anything", count[Legal], count[Illegal], decided)
	}
}

// fills of the objects; about a third of the histories are spoiled.
func registerFill(r *rand.Rand, i int) func(string, *act) {
	next, lies := 0, r.IntN(2) == 0
	return func(state string, a *act) {
		if r.IntN(2) == 0 {
			next++
			a.kind, a.value = "write", fmt.Sprint(next)
			return
		}
		a.kind, a.value = "read", state
		if lies && r.IntN(3) == 0 {
			a.value = fmt.Sprintf(",%d", 1+r.IntN(next+1))
			if r.IntN(4) == 0 {
				a.value = ""
			}
		}
	}
}

func TestZonesAgreeWithTheSlowTwin(t *testing.T) {
	compare(t, true, 6, registerFill, func(acts []act) Answer {
		var list []Access
		number := map[string]int32{"": 0}
		for _, a := range acts {
			value := a.value
			if a.kind == "write" {
				value = "," + value
			}
			v, seen := number[value]
			if !seen {
				v = int32(len(number))
				number[value] = v
			}
			list = append(list, Access{v, a.kind == "write", a.Call, a.Return})
		}
		answer, _, ok := Zones(list, len(number))
		if !ok {
			return Undecided
		}
		return answer
	})
}

// swapFill makes a register with compare-and-swap and few values. One result of so many is spoiled.
func swapFill(r *rand.Rand, lie int) func(string, *act) {
	lies := r.IntN(2) == 0
	return func(state string, a *act) {
		switch r.IntN(3) {
		case 0:
			a.kind, a.value = "write", fmt.Sprint(r.IntN(3))
		case 1:
			from := fmt.Sprint(r.IntN(3))
			answer := fmt.Sprint(state == ","+from)
			if lies && r.IntN(lie+1) == 0 {
				answer = fmt.Sprint(state != ","+from)
			}
			if r.IntN(5) == 0 {
				answer, a.Return = "?", Forever
			}
			a.kind, a.value = "swap", fmt.Sprintf("%s>%d=%s", from, r.IntN(3), answer)
		default:
			a.kind, a.value = "read", state
			if lies && r.IntN(lie) == 0 {
				a.value = fmt.Sprintf(",%d", r.IntN(3))
			}
		}
	}
}

func TestSweepAgreesWithTheSlowTwin(t *testing.T) {
	compare(t, true, 6, func(r *rand.Rand, _ int) func(string, *act) { return swapFill(r, 3) }, nil)
}

// TestSweepAgreesWithPorcupine has histories too long for the slow twin, in which a narrow sweep drops configurations.
func TestSweepAgreesWithPorcupine(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	count := map[Answer]int{}
	narrow := 0
	for i := range runs {
		acts := random(r, 15+r.IntN(15), true, swapFill(r, 12))
		ops, s := spec(acts)
		want := DepthFirst(ops, s, NewBudget(20_000, 1<<28, time.Minute))
		if want == Undecided {
			continue
		}
		count[want]++
		b := plenty()
		answer, _ := sweep(ops, &newMachine(ops, s, b).graph, 0, func(steps int64) bool { return b.spend(steps, 0) })
		if answer != want {
			t.Fatalf("history %d: the sweep says %v, Porcupine %v\n%+v", i, answer, want, acts)
		}
		g := &newMachine(ops, s, b).graph
		sw := newSweeper(g, func(int64) bool { return true }, 1, len(ops))
		switch answer, _, _ := sw.sweep(ops, eventsOf(ops), 0); {
		case answer != want && (answer == Legal || !sw.dropped):
			t.Fatalf("history %d: a narrow sweep says %v, Porcupine %v\n%+v", i, answer, want, acts)
		case answer != want:
			narrow++
		}
	}
	if count[Legal] < runs/5 || count[Illegal] < runs/10 || narrow < runs/100 {
		t.Fatalf("%d legal and %d illegal histories, %d too hard for a narrow sweep: too few to prove anything", count[Legal], count[Illegal], narrow)
	}
}

// TestEventsAreInOrder compares the merge of calls and returns with a plain sort.
func TestEventsAreInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	full := 0
	for i := range runs {
		ops := make([]Op, r.IntN(100))
		for k := range ops {
			call := r.Int64N(1 + int64(len(ops)))
			ops[k] = Op{Call: call, Return: call + r.Int64N(30)}
			if r.IntN(3) > 0 {
				ops[k].Return = Forever
			}
		}
		if i%2 == 0 {
			slices.SortFunc(ops, func(x, y Op) int { return cmp.Compare(x.Call, y.Call) })
		}
		type timed struct {
			at int64
			event
		}
		var want []timed
		for k, o := range ops {
			want = append(want, timed{o.Call, event{int32(k), false}})
			if o.Return != Forever {
				want = append(want, timed{o.Return, event{int32(k), true}})
			}
		}
		slices.SortStableFunc(want, func(x, y timed) int {
			ends := map[bool]int{true: 1}
			return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(ends[x.end], ends[y.end]))
		})
		got, open := eventsOf(ops), 0
		seen := map[event]bool{}
		for k, e := range got {
			at := ops[e.op].Call
			if e.end {
				at = ops[e.op].Return
			}
			// Events of one kind at one time may come in any order.
			if w := want[k]; at != w.at || e.end != w.end || seen[e] {
				t.Fatalf("history %d: event %d is %+v at %d, want %+v\n%+v", i, k, e, at, w, ops)
			}
			seen[e] = true
			if open++; e.end {
				open -= 2
			}
		}
		if len(got) != len(want) {
			if full++; open != maxOpen+1 {
				t.Fatalf("history %d: the events end with %d in flight\n%+v", i, open, ops)
			}
		}
	}
	if full < runs/100 || full > runs/2 {
		t.Fatalf("%d of %d histories have too many in flight to prove anything", full, runs)
	}
}

// TestPushKeepsTheBest compares the queue with all configurations that were pushed, one by one. Some kinds are too large
// for push to compare all of them.
func TestPushKeepsTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	large := 0
	for range runs / 100 {
		s := newSweeper(&graph{}, nil, 1, r.IntN(40))
		s.reads, s.endless = 0xf0, 0xffffff00
		better := func(q, c config) bool {
			free := s.reads | s.endless
			return q.state == c.state && q.done&^free == c.done&^free && q.done&s.endless&^c.done == 0 && c.done&s.reads&^q.done == 0
		}
		var pushed []config
		for range 2 { // the second time on what the first one left
			s.queue, s.next, pushed = s.queue[:0], s.next[:0], nil
			s.seen.reset()
			for range 400 {
				c := config{r.Uint64() & 0xffffff11, r.Int32N(2)}
				if len(pushed) > 0 && r.IntN(3) == 0 { // a little worse or better than another one
					c = pushed[r.IntN(len(pushed))]
					c.done ^= 1 << (8 + r.IntN(24))
				} else if len(pushed) > 0 && r.IntN(3) == 0 { // or the same in another state
					c = pushed[r.IntN(len(pushed))]
					c.state ^= 1
				}
				s.push(c)
				pushed = append(pushed, c)
			}
		}
		kinds := map[config]int{}
		for i, q := range s.queue {
			if !slices.Contains(pushed, q) || slices.Contains(s.queue[:i], q) {
				t.Fatalf("%x was not pushed, or is there twice", q)
			}
			kind := config{q.done &^ (s.reads | s.endless), q.state}
			if kinds[kind]++; kinds[kind] > maxCompared {
				large++
				continue
			}
			if k := slices.IndexFunc(s.queue[:i], func(p config) bool { return better(p, q) }); k >= 0 {
				t.Fatalf("%x is there beside %x", q, s.queue[k])
			}
		}
		for _, c := range pushed {
			if !slices.ContainsFunc(s.queue, func(q config) bool { return better(q, c) }) {
				t.Fatalf("%x got lost", c)
			}
		}
	}
	if large == 0 {
		t.Fatal("no kind was large")
	}
}

func queueFill(r *rand.Rand, i int) func(string, *act) {
	next, lies := 0, r.IntN(3) > 0
	taken := map[string]bool{}
	return func(state string, a *act) {
		items := strings.Split(state, ",")[1:]
		if r.IntN(5) < 3 {
			next++
			a.kind, a.value = "put", fmt.Sprint(next)
			return
		}
		a.kind = "empty"
		if len(items) > 0 {
			a.kind, a.value = "take", items[0]
		}
		if lies && r.IntN(3) == 0 {
			a.kind, a.value = "take", fmt.Sprint(1+r.IntN(next+1))
			if r.IntN(3) == 0 {
				a.kind, a.value = "empty", ""
			}
		}
		if a.kind == "take" && taken[a.value] && r.IntN(8) > 0 {
			a.kind, a.value = "empty", ""
		}
		taken[a.value] = true
	}
}

func TestQueuesAgreeWithTheSlowTwin(t *testing.T) {
	compare(t, true, 7, queueFill, func(acts []act) Answer {
		answer := Undecided
		passages, empties, ok := passagesOf(acts)
		if !ok {
			return Illegal
		}
		answer, _, _ = Queue(passages, empties)
		return answer
	})
}

// passagesOf sorts a queue's history by its values. It answers no if a value left twice or was never put in.
func passagesOf(acts []act) (list []Passage, empties []Span, ok bool) {
	byValue := map[string]*Passage{}
	for _, a := range acts {
		switch a.kind {
		case "put":
			byValue[a.value] = &Passage{In: Span{a.Call, a.Return}}
		case "empty":
			empties = append(empties, Span{a.Call, a.Return})
		}
	}
	for _, a := range acts {
		if a.kind == "take" {
			p := byValue[a.value]
			if p == nil || p.Out != nil {
				return nil, nil, false
			}
			p.Out = &Span{a.Call, a.Return}
		}
	}
	for _, a := range acts {
		if p := byValue[a.value]; a.kind == "put" && (p.Out != nil || a.Return != Forever) {
			list = append(list, *p)
		}
	}
	return list, empties, true
}

func TestLevelsAgreeWithTheSlowTwin(t *testing.T) {
	compare(t, true, 6, func(r *rand.Rand, i int) func(string, *act) {
		next, lies := 0, r.IntN(2) == 0
		return func(state string, a *act) {
			if r.IntN(2) == 0 {
				next++
				a.kind, a.value = "append", fmt.Sprint(next)
				return
			}
			a.kind, a.value = "all", state
			if lies && r.IntN(2) == 0 {
				if k := strings.LastIndex(state, ","); k >= 0 {
					a.value = state[:k]
				}
			}
		}
	}, func(acts []act) Answer {
		longest := ""
		for _, a := range acts {
			if a.kind == "all" && len(a.value) > len(longest) {
				longest = a.value
			}
		}
		at := map[string]int{}
		for i, v := range strings.Split(longest, ",")[1:] {
			at[v] = 2*i + 1
		}
		var steps []Step
		for _, a := range acts {
			level, seen := at[a.value]
			if a.kind == "all" {
				if !strings.HasPrefix(longest+",", a.value+",") {
					return Illegal
				}
				level, seen = 2*strings.Count(a.value, ","), true
			}
			if !seen && a.Return == Forever {
				continue
			}
			if !seen {
				level = len(acts) * 4
			}
			steps = append(steps, Step{level, a.Call, a.Return})
		}
		answer, _ := Levels(steps)
		return answer
	})
}

// TestSmallestQueues has one history for each way in which a queue can be wrong, and beside it the same one with less
// of an order, which is right.
func TestSmallestQueues(t *testing.T) {
	span := func(from, to int64) Span { return Span{from, to} }
	out := func(from, to int64) *Span { return &Span{from, to} }
	for _, c := range []struct {
		name     string
		passages []Passage
		empties  []Span
		want     Answer
	}{
		{"overtaken", []Passage{{span(1, 2), out(7, 8)}, {span(3, 4), out(5, 6)}}, nil, Illegal},
		{"overtaken, but the ways in overlap", []Passage{{span(1, 3), out(7, 8)}, {span(2, 4), out(5, 6)}}, nil, Legal},
		{"overtaken, but the ways out overlap", []Passage{{span(1, 2), out(5, 8)}, {span(3, 4), out(6, 7)}}, nil, Legal},
		{"left behind", []Passage{{span(1, 2), nil}, {span(3, 4), out(5, 6)}}, nil, Illegal},
		{"left behind, but the ways in overlap", []Passage{{span(1, 3), nil}, {span(2, 4), out(5, 6)}}, nil, Legal},
		{"out before in", []Passage{{span(3, 4), out(1, 2)}}, nil, Illegal},
		{"out while in", []Passage{{span(2, 4), out(1, 3)}}, nil, Legal},
		{"empty, though not", []Passage{{span(1, 2), out(5, 6)}}, []Span{{3, 4}}, Illegal},
		{"empty before", []Passage{{span(1, 3), out(5, 6)}}, []Span{{2, 4}}, Legal},
		{"empty after", []Passage{{span(1, 2), out(4, 6)}}, []Span{{3, 5}}, Legal},
		{"never empty, by two values", []Passage{{span(1, 2), out(6, 7)}, {span(3, 4), out(9, 10)}}, []Span{{5, 8}}, Illegal},
		{"empty between two values", []Passage{{span(1, 2), out(4, 6)}, {span(5, 7), out(9, 10)}}, []Span{{3, 8}}, Legal},
	} {
		if got, _, _ := Queue(c.passages, c.empties); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSmallestLocks is the same for locks.
func TestSmallestLocks(t *testing.T) {
	span := func(from, to int64) Span { return Span{from, to} }
	out := func(from, to int64) *Span { return &Span{from, to} }
	for _, c := range []struct {
		name     string
		passages []Passage
		refusals []Span
		want     Answer
	}{
		{"two at once", []Passage{{span(1, 2), out(5, 6)}, {span(3, 4), out(7, 8)}}, nil, Illegal},
		{"two at once, but the first release began in time", []Passage{{span(1, 2), out(4, 6)}, {span(3, 5), out(7, 8)}}, nil, Legal},
		{"never released", []Passage{{span(1, 2), nil}, {span(3, 4), nil}}, nil, Illegal},
		{"never released, but last", []Passage{{span(1, 4), nil}, {span(2, 3), out(5, 6)}}, nil, Illegal},
		{"never released, and last", []Passage{{span(1, 6), nil}, {span(2, 3), out(4, 5)}}, nil, Legal},
		{"refused before all", []Passage{{span(3, 4), nil}}, []Span{{1, 2}}, Illegal},
		{"refused while it was got", []Passage{{span(2, 4), nil}}, []Span{{1, 3}}, Legal},
		{"refused between", []Passage{{span(1, 2), out(3, 4)}, {span(7, 8), nil}}, []Span{{5, 6}}, Illegal},
		{"refused while it was released", []Passage{{span(1, 2), out(3, 5)}, {span(7, 8), nil}}, []Span{{4, 6}}, Legal},
		{"refused between, but it was handed over", []Passage{{span(1, 2), out(3, 5)}, {span(4, 8), nil}}, []Span{{6, 7}}, Legal},
		{"refused after all", []Passage{{span(1, 2), out(3, 4)}}, []Span{{5, 6}}, Illegal},
		{"refused for ever", []Passage{{span(1, 2), nil}}, []Span{{5, 6}}, Legal},
		{"refused by nobody", nil, []Span{{1, 2}}, Illegal},
	} {
		if got, _, _ := Lock(c.passages, c.refusals); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSweepNamesTheOperation shows that the sweep ends at the first return that nothing explains.
func TestSweepNamesTheOperation(t *testing.T) {
	ops, s := spec([]act{{1, 2, "write", "1"}, {3, 4, "write", "2"}, {5, 6, "read", ",1"}, {7, 8, "read", ",9"}})
	if got, culprit := Search(ops, s, plenty()); got != Illegal || culprit != 2 {
		t.Fatalf("%v at %d", got, culprit)
	}
}

// TestLimits: a history with too many orders ends, and the same way each time.
func TestLimits(t *testing.T) {
	var acts []act
	for i := range 70 {
		acts = append(acts, act{int64(i), Forever, "append", fmt.Sprint(i)})
	}
	acts = append(acts, act{100, 101, "all", ",none"})
	ops, s := spec(acts)
	s.Bytes = func(s string) int64 { return int64(len(s)) }
	for range 2 {
		b := NewBudget(20_000, 1<<30, time.Minute)
		if got, _ := Search(ops, s, b); got != Undecided || b.Reached != "20000 steps" {
			t.Errorf("%v %q", got, b.Reached)
		}
		b = NewBudget(1<<40, 1<<20, time.Minute)
		if got, _ := Search(ops, s, b); got != Undecided || b.Reached != "1 MiB" {
			t.Errorf("%v %q", got, b.Reached)
		}
	}
}
