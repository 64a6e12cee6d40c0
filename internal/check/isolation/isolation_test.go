package isolation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
)

func plenty() *linear.Budget { return linear.NewBudget(5_000_000, 1<<28, 30*time.Second) }

// world is the state of a slow twin: for each key, the list of all that was ever written.
type world map[string][]string

func (w world) clone() world {
	c := world{}
	for k, v := range w {
		c[k] = slices.Clone(v)
	}
	return c
}

// sees reports whether a transaction that starts in w may read what it read, and gives its writes.
func (w world) sees(t *Txn, lists bool) (world, bool) {
	own := world{}
	for _, a := range t.Accesses {
		if a.Write {
			own[a.Key] = append(own[a.Key], a.Value)
			continue
		}
		if t.Fate != Committed {
			continue
		}
		all := append(slices.Clone(w[a.Key]), own[a.Key]...)
		switch {
		case lists:
			if !slices.Equal(all, a.List) {
				return nil, false
			}
		case a.Found:
			if len(all) == 0 || all[len(all)-1] != a.Value {
				return nil, false
			}
		case len(all) > 0:
			return nil, false
		}
	}
	return own, true
}

func (w world) withAppends(own world) world {
	c := w.clone()
	for k, v := range own {
		c[k] = append(c[k], v...)
	}
	return c
}

// skipped takes a transaction from those that are left, and with it what its client did before, which cannot come any more. It
// reports whether some of that had to come.
func skipped(txns []Txn, left []int, at int) (rest []int, late bool) {
	for k, j := range left {
		earlier := txns[j].Client == txns[left[at]].Client && txns[j].Call < txns[left[at]].Call
		late = late || earlier && txns[j].Fate == Committed
		if k != at && !earlier {
			rest = append(rest, j)
		}
	}
	return rest, late
}

// serial tries all orders of transactions; those of unknown fate may be left out.
func serial(txns []Txn, lists, timed, inSessions bool) bool {
	var try func(left []int, w world) bool
	try = func(left []int, w world) bool {
		must := false
		for _, i := range left {
			must = must || txns[i].Fate == Committed
		}
		if !must {
			return true
		}
		for at, i := range left {
			late := false
			for _, j := range left {
				late = late || timed && txns[j].Fate == Committed && txns[j].Return < txns[i].Call
			}
			if late {
				continue
			}
			rest := slices.Delete(slices.Clone(left), at, at+1)
			if inSessions {
				if rest, late = skipped(txns, left, at); late {
					continue
				}
			}
			own, ok := w.sees(&txns[i], lists)
			if ok && try(rest, w.withAppends(own)) {
				return true
			}
		}
		return false
	}
	return try(alive(txns), world{})
}

func alive(txns []Txn) (list []int) {
	for i := range txns {
		if txns[i].Fate != Aborted {
			list = append(list, i)
		}
	}
	return list
}

// snapshots tries all orders of starts and commits.
func snapshots(txns []Txn, lists, inSessions bool) bool {
	type running struct {
		txn int
		own world
	}
	var try func(left []int, run []running, w world) bool
	try = func(left []int, run []running, w world) bool {
		must := len(run) > 0
		for _, i := range left {
			must = must || txns[i].Fate == Committed
		}
		if !must {
			return true
		}
		for at := range run {
			if try(left, slices.Delete(slices.Clone(run), at, at+1), w.withAppends(run[at].own)) {
				return true
			}
		}
		for at, i := range left {
			own, ok := w.sees(&txns[i], lists)
			for _, r := range run {
				for k := range own {
					ok = ok && r.own[k] == nil
				}
			}
			rest := slices.Delete(slices.Clone(left), at, at+1)
			if inSessions {
				var late bool
				rest, late = skipped(txns, left, at)
				for _, r := range run {
					late = late || txns[r.txn].Client == txns[i].Client
				}
				ok = ok && !late
			}
			if ok && try(rest, append(slices.Clone(run), running{i, own}), w) {
				return true
			}
		}
		return false
	}
	return try(alive(txns), nil, world{})
}

// axiom tries all orders in which registers may have been committed, and asks of each read whether a write that the
// reader must have seen comes after the one that it read (Biswas and Enea, OOPSLA 2019, figure 3).
func axiom(txns []Txn, level Level) bool {
	writer := map[string]int{}
	for i := range txns {
		last := map[string]string{}
		for _, a := range txns[i].Accesses {
			if a.Write {
				last[a.Key] = a.Value
			}
		}
		for k, v := range last {
			writer[k+"="+v] = i
		}
	}
	type get struct {
		key      string
		from, at int
	}
	n := len(txns)
	in := make([]bool, n)
	gets := make([][]get, n)
	for i := range txns {
		if txns[i].Fate != Committed {
			continue
		}
		in[i] = true
		own := map[string]string{}
		for at, a := range txns[i].Accesses {
			if a.Write {
				own[a.Key] = a.Value
				continue
			}
			if v, ok := own[a.Key]; ok {
				if !a.Found || a.Value != v {
					return false
				}
				continue
			}
			from := -1
			if a.Found {
				w, ok := writer[a.Key+"="+a.Value]
				if !ok || w == i || txns[w].Fate == Aborted {
					return false
				}
				from = w
				in[w] = true
			}
			gets[i] = append(gets[i], get{a.Key, from, at})
		}
	}
	writes := func(i int, key string) bool {
		return slices.ContainsFunc(txns[i].Accesses, func(a Access) bool { return a.Write && a.Key == key })
	}
	before := make([][]bool, n) // session and reads
	for i := range before {
		before[i] = make([]bool, n)
	}
	reads := make([][]bool, n)
	for i := range n {
		reads[i] = make([]bool, n)
	}
	var members []int
	for i := range n {
		if !in[i] {
			continue
		}
		members = append(members, i)
		for j := range n {
			if in[j] && txns[i].Client == txns[j].Client && txns[i].Call < txns[j].Call {
				before[i][j] = true
			}
		}
		for _, g := range gets[i] {
			if g.from >= 0 {
				before[g.from][i], reads[g.from][i] = true, true
			}
		}
	}
	direct := make([][]bool, n)
	for i := range before {
		direct[i] = slices.Clone(before[i])
	}
	for k := range n {
		for i := range n {
			for j := range n {
				before[i][j] = before[i][j] || before[i][k] && before[k][j]
			}
		}
	}
	rank := make([]int, n)
	allowed := func() bool {
		for _, i := range members {
			for _, j := range members {
				if before[i][j] && rank[i] >= rank[j] {
					return false
				}
			}
			for _, g := range gets[i] {
				for _, second := range members {
					if second == g.from || second == i || !writes(second, g.key) {
						continue
					}
					visible := before[second][i]
					switch level {
					case ReadAtomic:
						visible = direct[second][i]
					case ReadCommitted:
						visible = slices.ContainsFunc(gets[i], func(h get) bool { return h.from == second && h.at < g.at })
					}
					if visible && (g.from < 0 || rank[second] > rank[g.from]) {
						return false
					}
				}
			}
		}
		return true
	}
	var permute func(k int) bool
	permute = func(k int) bool {
		if k == len(members) {
			for r, i := range members {
				rank[i] = r
			}
			return allowed()
		}
		for i := k; i < len(members); i++ {
			members[k], members[i] = members[i], members[k]
			ok := permute(k + 1)
			members[k], members[i] = members[i], members[k]
			if ok {
				return true
			}
		}
		return false
	}
	// Cycles of session and reads leave no order at all.
	return permute(0)
}

// committedLists tries all orders in which lists may have been appended to, and looks for cycles of writes and reads.
func committedLists(txns []Txn) bool {
	in := make([]bool, len(txns))
	type app struct {
		txn   int
		value string
	}
	appends := map[string][]app{}
	fate := map[string]int{}
	for i := range txns {
		in[i] = txns[i].Fate == Committed
		for _, a := range txns[i].Accesses {
			if a.Write {
				fate[a.Key+"="+a.Value] = i
			}
		}
	}
	for i := range txns {
		if txns[i].Fate != Committed {
			continue
		}
		for _, a := range txns[i].Accesses {
			for _, v := range a.List {
				w, ok := fate[a.Key+"="+v]
				if !ok || txns[w].Fate == Aborted {
					return false
				}
				in[w] = true
			}
		}
	}
	for i := range txns {
		for _, a := range txns[i].Accesses {
			if a.Write && in[i] {
				appends[a.Key] = append(appends[a.Key], app{i, a.Value})
			}
		}
	}
	var keys []string
	for k := range appends {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	orders := map[string][]app{}
	judge := func() bool {
		n := len(txns)
		edge := make([][]bool, n)
		for i := range edge {
			edge[i] = make([]bool, n)
		}
		for _, list := range orders {
			for i := 1; i < len(list); i++ {
				for j := range i {
					if list[j].txn != list[i].txn {
						edge[list[j].txn][list[i].txn] = true
					}
				}
			}
		}
		for i := range txns {
			if txns[i].Fate != Committed {
				continue
			}
			own := map[string][]string{}
			for _, a := range txns[i].Accesses {
				if a.Write {
					own[a.Key] = append(own[a.Key], a.Value)
					continue
				}
				n := len(a.List) - len(own[a.Key])
				if n < 0 || !slices.Equal(a.List[n:], own[a.Key]) || len(a.List) > len(orders[a.Key]) {
					return false
				}
				for at, v := range a.List {
					if orders[a.Key][at].value != v || at < n && orders[a.Key][at].txn == i {
						return false
					}
				}
				if n == 0 {
					continue
				}
				w := orders[a.Key][n-1]
				mine := 0
				for _, o := range appends[a.Key] {
					if o.txn == w.txn {
						mine++
						if o.value == w.value {
							mine = 0
						}
					}
				}
				if mine > 0 {
					return false // it appended more after that
				}
				edge[w.txn][i] = true
			}
		}
		for k := range n {
			for i := range n {
				for j := range n {
					edge[i][j] = edge[i][j] || edge[i][k] && edge[k][j]
				}
			}
		}
		for i := range n {
			if edge[i][i] {
				return false
			}
		}
		return true
	}
	var choose func(k int) bool
	choose = func(k int) bool {
		if k == len(keys) {
			return judge()
		}
		list := appends[keys[k]]
		var permute func(left []app, done []app) bool
		permute = func(left, done []app) bool {
			if len(left) == 0 {
				orders[keys[k]] = done
				return choose(k + 1)
			}
			used := map[int]bool{}
			for i, a := range left {
				if used[a.txn] {
					continue // a transaction appends in its own order
				}
				used[a.txn] = true
				if permute(slices.Delete(slices.Clone(left), i, i+1), append(slices.Clone(done), a)) {
					return true
				}
			}
			return false
		}
		return permute(list, nil)
	}
	return choose(0)
}

// random makes a history of transactions on a store that is more or less careful: serial, with snapshots, or without
// any isolation.
func random(r *rand.Rand, most int, lists bool) []Txn {
	n := 2 + r.IntN(most-1)
	care := r.IntN(4)
	spoil := r.IntN(2) == 0 // all commit, and then some reads are changed
	if spoil {
		care = r.IntN(2)
	}
	type live struct {
		txn  int
		at   int
		snap world
		own  world
	}
	txns := make([]Txn, n)
	store := world{}
	next := 0
	var run []*live
	clock := uint64(0)
	started := 0
	keys := []string{"x", "y"}
	for started < n || len(run) > 0 {
		clock++
		if started < n && (len(run) == 0 || care > 0 && len(run) < 3 && r.IntN(3) == 0) {
			t := &txns[started]
			t.Call, t.Client = clock, fmt.Sprint("c", r.IntN(2))
			for slices.ContainsFunc(run, func(l *live) bool { return txns[l.txn].Client == t.Client }) {
				t.Client += "'"
			}
			switch r.IntN(12) {
			case 0:
				t.Fate = Aborted
			case 1:
				t.Fate = Unknown
			}
			if spoil {
				t.Fate = Committed
			}
			for range 1 + r.IntN(3) {
				next++
				a := Access{Key: keys[r.IntN(2)], Write: r.IntN(2) == 0}
				if a.Write {
					a.Value = fmt.Sprint(next)
				}
				t.Accesses = append(t.Accesses, a)
			}
			run = append(run, &live{started, 0, store.clone(), world{}})
			started++
			continue
		}
		i := r.IntN(len(run))
		l := run[i]
		t := &txns[l.txn]
		if l.at == len(t.Accesses) {
			t.Return = clock
			run = slices.Delete(run, i, i+1)
			if care < 3 && (t.Fate == Committed || t.Fate == Unknown && r.IntN(2) == 0) {
				store = store.withAppends(l.own)
			}
			continue
		}
		a := &t.Accesses[l.at]
		l.at++
		if a.Write {
			l.own[a.Key] = append(l.own[a.Key], a.Value)
			if care == 3 {
				store[a.Key] = append(store[a.Key], a.Value)
			}
			continue
		}
		base := l.snap
		if care == 2 {
			base = store
		}
		all := append(slices.Clone(base[a.Key]), l.own[a.Key]...)
		if care == 3 {
			all = slices.Clone(store[a.Key])
		}
		if lists {
			a.List = all
		} else if len(all) > 0 {
			a.Found, a.Value = true, all[len(all)-1]
		}
	}
	for range 2 {
		if !spoil {
			break
		}
		t := &txns[r.IntN(n)]
		a := &t.Accesses[r.IntN(len(t.Accesses))]
		first := slices.IndexFunc(t.Accesses, func(b Access) bool { return b.Write && b.Key == a.Key })
		if a.Write || first >= 0 {
			continue
		}
		length := r.IntN(len(store[a.Key]) + 1)
		if lists {
			a.List = slices.Clone(store[a.Key][:length])
		} else if a.Found, a.Value = length > 0, ""; a.Found {
			a.Value = store[a.Key][length-1]
		}
	}
	return txns
}

func compare(t *testing.T, runs, most int, lists bool, level Level, slow func([]Txn) bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	count := map[bool]int{}
	for i := range runs {
		txns := random(r, most, lists)
		want := slow(txns)
		count[want]++
		judge := Registers
		if lists {
			judge = Lists
		}
		f := judge(txns, level, plenty())
		if (f.Answer == Holds) != want || f.Answer == Undecided {
			t.Fatalf("history %d: answer %d, %s, the slow twin says %v\n%s\n%s", i, f.Answer, f.Reason, want, write(txns), strings.Join(f.Steps, "\n"))
		}
		if f.Answer == Violated && f.Reason == "" {
			t.Fatalf("history %d: no reason", i)
		}
	}
	t.Logf("%v", count)
	if count[true] < runs/5 || count[false] < runs/20 {
		t.Fatalf("%v: too few of one kind to prove anything", count)
	}
}

func write(txns []Txn) string {
	var b strings.Builder
	for i := range txns {
		fmt.Fprintf(&b, "%d %s %d-%d fate %d: %+v\n", i, txns[i].Client, txns[i].Call, txns[i].Return, txns[i].Fate, txns[i].Accesses)
	}
	return b.String()
}

func TestListsAgreeWithTheSlowTwin(t *testing.T) {
	t.Run("read committed", func(t *testing.T) { compare(t, 10_000, 5, true, ReadCommitted, committedLists) })
	t.Run("snapshot isolation", func(t *testing.T) {
		compare(t, 10_000, 5, true, SnapshotIsolation, func(x []Txn) bool { return snapshots(x, true, false) })
	})
	t.Run("serializable", func(t *testing.T) {
		compare(t, 10_000, 6, true, Serializable, func(x []Txn) bool { return serial(x, true, false, false) })
	})
	t.Run("strict", func(t *testing.T) {
		compare(t, 10_000, 6, true, StrictSerializable, func(x []Txn) bool { return serial(x, true, true, false) })
	})
}

func TestRegistersAgreeWithTheSlowTwin(t *testing.T) {
	for _, level := range []Level{ReadCommitted, ReadAtomic, Causal} {
		t.Run(string(level), func(t *testing.T) {
			compare(t, 10_000, 6, false, level, func(x []Txn) bool { return axiom(x, level) })
		})
	}
	t.Run("snapshot isolation", func(t *testing.T) {
		compare(t, 10_000, 5, false, SnapshotIsolation, func(x []Txn) bool { return snapshots(x, false, false) })
	})
	t.Run("serializable", func(t *testing.T) {
		compare(t, 10_000, 6, false, Serializable, func(x []Txn) bool { return serial(x, false, false, false) })
	})
	t.Run("strict", func(t *testing.T) {
		compare(t, 10_000, 6, false, StrictSerializable, func(x []Txn) bool { return serial(x, false, true, false) })
	})
}

func TestSessionsAgreeWithTheSlowTwin(t *testing.T) {
	t.Run("snapshot isolation", func(t *testing.T) {
		compare(t, 10_000, 5, false, SessionSnapshotIsolation, func(x []Txn) bool { return snapshots(x, false, true) })
	})
	t.Run("serializable", func(t *testing.T) {
		compare(t, 10_000, 6, false, SessionSerializable, func(x []Txn) bool { return serial(x, false, false, true) })
	})
}

// TestSolverAgreesWithInference: without anything inferred before, the solver answers as inference and solver do together.
func TestSolverAgreesWithInference(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, level := range []Level{SnapshotIsolation, SessionSnapshotIsolation, Serializable, StrictSerializable} {
		count := map[bool]int{}
		for i := range 4000 {
			list := random(r, 4+i%20, false)
			reg := newRegisters(list)
			if reg.read() != nil {
				continue
			}
			p, wrong := reg.plan(level)
			if wrong != nil {
				continue
			}
			for third, reads := range p.reads {
				for _, f := range reads {
					for second := range p.writes {
						if int(f.version) < p.keys && p.in[third] && p.in[second] && second != third && slices.Contains(p.writes[second], f.key) {
							p.order(int32(third), edge{to: int32(second), kind: rw, key: f.key})
						}
					}
				}
			}
			if p.snapshot {
				for txn := range p.in {
					p.events.add(p.start(int32(txn)), edge{to: p.commit(int32(txn)), kind: pass})
				}
			}
			if p.events.cycle(kinds(ww, wr, rw, session, clock, implied, pass)) != nil {
				continue
			}
			p.words = (len(p.events.out) + 63) / 64
			p.reach = make([]uint64, len(p.events.out)*p.words)
			alone := p.solve(plenty())
			both := Registers(list, level, plenty())
			count[both.Answer == Holds]++
			if (alone == linear.Legal) != (both.Answer == Holds) || alone == linear.Undecided {
				t.Fatalf("%s: %v alone, %d with inference: %s\n%s", level, alone, both.Answer, both.Reason, write(list))
			}
		}
		if count[true] < 100 || count[false] < 20 {
			t.Errorf("%s: %v: too few of one kind to prove anything", level, count)
		}
	}
}

// TestShortestCycle: of all cycles the one that comes back has the fewest steps.
func TestShortestCycle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	lengths := map[int]int{}
	for range 3000 {
		n, helpers := 2+r.IntN(12), r.IntN(4)
		g := newGraph(n)
		for range helpers {
			g.node()
		}
		all := n + helpers
		dist := make([][]int, all)
		for v := range dist {
			dist[v] = slices.Repeat([]int{1 << 20}, all)
		}
		weight := func(e edge) int {
			if e.kind == pass || int(e.to) >= n {
				return 0
			}
			return 1
		}
		for range n + r.IntN(n) {
			u, e := r.IntN(all), edge{to: int32(r.IntN(all)), kind: []kind{ww, wr, rw, pass}[r.IntN(4)]}
			if u >= n && int(e.to) <= u || u == int(e.to) {
				continue // helpers are in no cycle of their own
			}
			g.add(int32(u), e)
			dist[u][e.to] = min(dist[u][e.to], weight(e))
		}
		for k := range all {
			for i := range all {
				for j := range all {
					dist[i][j] = min(dist[i][j], dist[i][k]+dist[k][j])
				}
			}
		}
		want := 1 << 20
		for v := range all {
			want = min(want, dist[v][v])
		}
		cycle := g.cycle(kinds(ww, wr, rw, pass))
		got := 1 << 20
		if cycle != nil {
			got = 0
			for i, s := range cycle {
				if got += weight(s.edge); s.to != cycle[(i+1)%len(cycle)].from || !slices.Contains(g.out[s.from], s.edge) {
					t.Fatalf("%v is no cycle", cycle)
				}
			}
		}
		if got != want {
			t.Fatalf("a cycle of %d steps, and there is one of %d", got, want)
		}
		lengths[got]++
	}
	if len(lengths) < 5 {
		t.Error(lengths)
	}
}

// txns reads transactions in short: words with commas are one transaction, "x+1" an append or write, "x1,2" a read of a
// list, "x." one of nothing. "!" in front is a failed one, "?" one of unknown fate. Transactions are concurrent.
func txns(short string) []Txn {
	var list []Txn
	for i, word := range strings.Fields(short) {
		t := Txn{Client: string(rune('a' + i)), Call: uint64(i + 1), Return: uint64(100 + i)}
		switch word[0] {
		case '!':
			t.Fate, word = Aborted, word[1:]
		case '?':
			t.Fate, word = Unknown, word[1:]
		}
		for _, w := range strings.Split(word, ";") {
			a := Access{Key: w[:1], Write: w[1] == '+'}
			switch {
			case a.Write:
				a.Value = w[2:]
			case w[1:] != ".":
				a.Found, a.List = true, strings.Split(w[1:], ",")
				a.Value = a.List[len(a.List)-1]
			}
			t.Accesses = append(t.Accesses, a)
		}
		list = append(list, t)
	}
	return list
}

// smallest has for each anomaly a smallest history, and then the same one with one dependency less, which holds.
var smallest = []struct {
	name, short, less string
	lists             bool
	level             Level
	anomaly           string
}{
	{"G0", "x+1;y+1 x+2;y+2 x1,2;y2,1", "x+1;y+1 x+2;y+2 x1,2;y1,2", true, ReadCommitted, "G0"},
	{"G0 between appends", "x+1;x+3 x+2 x1,2,3", "x+1;x+3 x+2 x1,3,2", true, ReadCommitted, "G0"},
	{"G1a", "!x+1 x1", "x+1 x1", true, ReadCommitted, "G1a"},
	{"G1a of nobody", "x+1 x1,2", "x+1;x+2 x1,2", true, ReadCommitted, "G1a"},
	{"G1b", "x+1;x+2 x1", "x+1;x+2 x1,2", true, ReadCommitted, "G1b"},
	{"G1c", "x+1;y1 y+1;x1", "x+1;y1 y+1;x.", true, ReadCommitted, "G1c"},
	{"own", "x+1;x.", "x+1;x1", true, ReadCommitted, "internal"},
	{"incompatible", "x+1 x+2 x1,2 x2,1", "x+1 x+2 x1,2 x1", true, ReadCommitted, "incompatible order"},
	{"G-single: half of a transaction", "x+1;y+1 x1;y.", "x+1;y+1 x1;y1", true, SnapshotIsolation, "G-single"},
	{"G-single: a lost update", "x.;x+1 x.;x+2 x1,2", "x.;x+1 x1;x+2 x1,2", true, SnapshotIsolation, "G-single"},
	{"G-nonadjacent: a long fork", "x.;y4 x+1 x1;y. y+4", "x.;y4 x+1 x1;y4 y+4", true, SnapshotIsolation, "G-nonadjacent"},
	{"crowded: two appends that nobody read", "x.;y+1;z+1 y.;x+1;z+2", "x.;y+1;z+1 y.;x+1;w+2", true, SnapshotIsolation, "G-single"},
	{"G2: write skew", "x.;y+1 y.;x+1", "x.;y+1 y1;x+1", true, Serializable, "G2"},
	{"time", "x+1 x.", "x+1 x1", true, StrictSerializable, "a cycle in time"},

	{"G1a", "!x+1 x1", "x+1 x1", false, ReadCommitted, "G1a"},
	{"G1b", "x+1;x+2 x1", "x+1;x+2 x2", false, ReadCommitted, "G1b"},
	{"G1c", "x+1;y1 y+1;x1", "x+1;y1 y+1;x.", false, ReadCommitted, "G1c"},
	{"back again", "x+1;y+1 x+2;y1 x2;y1;x1", "x+1;y+1 x+2;y1 x1;y1;x2", false, ReadCommitted, "read-committed"},
	{"half of a transaction", "x+1;y+1 x1;y.", "x+1;y+1 x1;y1", false, ReadAtomic, "read-atomic"},
	{"cause without effect", "x+1 x1;y+1 y1;x.", "x+1 x1;y+1 y1;x1", false, Causal, "causal"},
	{"a lost update", "x.;x+1 x.;x+2", "x.;x+1 x1;x+2", false, SnapshotIsolation, "G-single"},
	{"a long fork", "x+1 y+1 x1;y. y1;x.", "x+1 y+1 x1;y. y1;x1", false, SnapshotIsolation, "G2"},
	{"write skew", "x.;y+1 y.;x+1", "x.;y+1 y1;x+1", false, Serializable, "G2"},
	{"time", "x+1 x.", "x+1 x1", false, StrictSerializable, "a cycle in time"},
}

func TestSmallestAnomalies(t *testing.T) {
	for _, c := range smallest {
		t.Run(fmt.Sprint(c.name, c.lists), func(t *testing.T) {
			judge := Registers
			if c.lists {
				judge = Lists
			}
			with, without := txns(c.short), txns(c.less)
			if c.level == StrictSerializable {
				with[0].Return = 1
				with[1].Call = 2
				without[0].Return = 1
				without[1].Call = 2
			}
			f := judge(with, c.level, plenty())
			if f.Answer != Violated || f.Anomaly != c.anomaly || !strings.Contains(f.Reason, c.anomaly) {
				t.Errorf("answer %d, anomaly %q: %s\n%s", f.Answer, f.Anomaly, f.Reason, strings.Join(f.Steps, "\n"))
			}
			if f := judge(without, c.level, plenty()); f.Answer != Holds {
				t.Errorf("with one edge less: answer %d: %s\n%s", f.Answer, f.Reason, strings.Join(f.Steps, "\n"))
			}
		})
	}
}

// TestWords is how a cycle reads.
func TestWords(t *testing.T) {
	f := Lists(txns("x.;x+1 x.;x+2 x1,2"), SnapshotIsolation, plenty())
	want := `G-single: 2 transactions each come before the next one, in a cycle
T1 read key "x" with 0 elements, and T2 appended "1" after them
T2 appended "1" to key "x", and T1 appended "2" after it
T1 is the transaction of client b at event 2
T2 is the transaction of client a at event 1`
	if got := f.Reason + "\n" + strings.Join(f.Steps, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	f = Registers(txns("x+1 x1;y+1 y1;x."), Causal, plenty())
	want = `causal: T1 wrote key "x", but the transaction of client c at event 3, which must have seen that write, found nothing there
T1 wrote key "x", but the transaction of client c at event 3, which must have seen that write, found nothing there
T1 is the transaction of client a at event 1`
	if got := f.Reason + "\n" + strings.Join(f.Steps, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestLimits: what cannot be decided within the budget says so, and values that are not unique are not judged.
func TestLimits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var list []Txn
	for i := range 3000 {
		// Reads of random old values: no order, and hard to see.
		x, y := fmt.Sprint("k", r.IntN(40)), fmt.Sprint("k", r.IntN(40))
		t := Txn{Client: fmt.Sprint(i), Call: uint64(i + 1), Return: uint64(10_000 + i),
			Accesses: []Access{{Key: x}, {Key: y, Write: true, Value: fmt.Sprint(i)}}}
		if k := r.IntN(i + 1); list != nil && r.IntN(2) == 0 && k < i {
			w := list[k].Accesses[1]
			t.Accesses[0] = Access{Key: w.Key, Found: true, Value: w.Value}
		}
		list = append(list, t)
	}
	for _, level := range []Level{SnapshotIsolation, Serializable, StrictSerializable} {
		f := Registers(list, level, linear.NewBudget(200_000, 1<<30, time.Minute))
		if f.Answer == Holds || f.Answer == Undecided && !strings.Contains(f.Reason, "budget") {
			t.Errorf("%s: %d %s", level, f.Answer, f.Reason)
		}
	}
	for _, lists := range []bool{true, false} {
		judge := Registers
		if lists {
			judge = Lists
		}
		if f := judge(txns("x+1 x+1 x1"), Serializable, plenty()); f.Answer != Undecided || !strings.Contains(f.Reason, "twice") {
			t.Errorf("%d %s", f.Answer, f.Reason)
		}
		if f := judge(txns("x+1 x1"), "cursor-stability", plenty()); f.Answer != Undecided || !strings.Contains(f.Reason, "cursor-stability") {
			t.Errorf("%d %s", f.Answer, f.Reason)
		}
	}
}
