package histories

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/isolation"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// records are Bloodhound's own, whose transactions are JSON.
var records = &language{name: "records", values: jsonOfJepsen.values, plain: true, null: "null", list: jsonList, kind: strconv.Quote,
	event: func(fields [][2]string) string {
		var out [][2]string
		text := map[string]string{}
		for _, f := range fields {
			text[f[0]] = f[1]
		}
		out = append(out, [2]string{"client", text["process"]}, [2]string{"op", `"txn"`}, [2]string{"type", text["type"]})
		field := "input"
		if text["type"] == "ok" {
			field = "output"
		}
		if text["type"] != "fail" { // which would have to repeat the very text of its invoke
			out = append(out, [2]string{field, strconv.Quote(text["value"])})
		}
		return jsonEvent(out)
	},
	read: func(in string) ([]history.Event, error) { return history.Read(strings.NewReader(in)) },
}

// transactions makes histories of transactions over two keys that take their accesses in turn, each value being put in once, and spoils some reads. Where
// they see each other's writes at once, most are not serializable.
func transactions(r *rand.Rand, l *language, lists bool, count int) []move {
	values := r.Perm(len(l.values))
	keys := []what{what(r.IntN(3)), what(3 + r.IntN(5))} // two that are not equal
	state := map[what][]what{}
	moves := make([]move, count)
	now, begun := 0, 0
	var open []int
	for ended := 0; ended < count; now++ {
		if begun < count && (len(open) == 0 || r.IntN(4) == 0) {
			moves[begun] = move{f: "txn", call: now}
			open = append(open, begun)
			begun++
			continue
		}
		at := r.IntN(len(open))
		m := &moves[open[at]]
		if len(m.accesses) > 0 && (len(m.accesses) > 2 || r.IntN(3) == 0) {
			m.ret = now
			open = slices.Delete(open, at, at+1)
			ended++
			continue
		}
		a := access{key: keys[r.IntN(2)], write: r.IntN(2) == 0}
		if a.write {
			a.value, values = what(values[0]), values[1:]
			state[a.key] = append(state[a.key], a.value)
		} else {
			a.list = slices.Clone(state[a.key])
			if !lists {
				a.list = a.list[max(0, len(a.list)-1):]
			}
			if r.IntN(12) == 0 {
				spoilRead(r, l, &a, lists)
			}
		}
		m.accesses = append(m.accesses, a)
	}
	for i := range moves {
		switch r.IntN(15) {
		case 0:
			moves[i].ret = -1
		case 1:
			moves[i].failed = true
		}
	}
	return moves
}

func spoilRead(r *rand.Rand, l *language, a *access, lists bool) {
	switch n := len(a.list); {
	case n > 0 && r.IntN(2) == 0:
		a.list = a.list[:r.IntN(n)]
	case n > 0 && r.IntN(2) == 0:
		a.list[r.IntN(n)] = l.any(r)
	case n == 0 || lists:
		a.list = append(a.list, l.any(r))
	}
}

// transactionText is a transaction in a language. Before it is done, its reads have no results.
func (l *language) transactionText(r *rand.Rand, m *move, lists, done bool) string {
	var rows []string
	for _, a := range m.accesses {
		kind, value := "r", l.null
		switch {
		case a.write && lists:
			kind, value = "append", l.spelling(r, a.value)
		case a.write:
			kind, value = "w", l.spelling(r, a.value)
		case done && lists && (len(a.list) > 0 || r.IntN(2) == 0):
			value = l.list(l.spellings(r, a.list))
		case done && len(a.list) > 0:
			value = l.spelling(r, a.list[0])
		}
		rows = append(rows, l.list([]string{l.kind(kind), l.spelling(r, a.key), value}))
	}
	return l.list(rows)
}

// apply does the accesses of a transaction on a state, and reports whether it had read that.
func (m *move) apply(state map[what][]what, lists bool) bool {
	right := true
	for _, a := range m.accesses {
		switch {
		case a.write && lists:
			state[a.key] = append(slices.Clone(state[a.key]), a.value)
		case a.write:
			state[a.key] = []what{a.value}
		case m.ret >= 0:
			right = right && slices.Equal(state[a.key], a.list)
		}
	}
	return right
}

func copied(state map[what][]what) map[what][]what {
	c := map[what][]what{}
	for k, v := range state {
		c[k] = v
	}
	return c
}

// serial tries every order of transactions. Those of unknown outcome may be left out.
func serial(moves []move, lists, timed bool, state map[what][]what) bool {
	earliest, left := 1<<30, false
	for _, m := range moves {
		if m.ret >= 0 {
			earliest, left = min(earliest, m.ret), true
		}
	}
	if !left {
		return true
	}
	for i, m := range moves {
		if timed && m.call > earliest {
			continue
		}
		next := copied(state)
		if m.apply(next, lists) && serial(slices.Delete(slices.Clone(moves), i, i+1), lists, timed, next) {
			return true
		}
	}
	return false
}

// snapshots tries every order of the starts and commits of transactions. Each reads what was committed when it started, and no two that overlap
// write the same key.
func snapshots(moves []move, lists bool) bool {
	const waits, runs, over = 0, 1, 2
	phase := make([]int, len(moves))
	start := make([]map[what][]what, len(moves))
	spoiled := make([]map[what]bool, len(moves)) // keys that others committed since the start
	var try func(state map[what][]what) bool
	try = func(state map[what][]what) bool {
		left := false
		for i := range moves {
			left = left || phase[i] != over && moves[i].ret >= 0
		}
		if !left {
			return true
		}
		for i := range moves {
			m := &moves[i]
			switch phase[i] {
			case waits:
				if mine := copied(state); !m.apply(mine, lists) {
					continue
				}
				phase[i], start[i], spoiled[i] = runs, copied(state), map[what]bool{}
				if try(state) {
					return true
				}
				phase[i] = waits
			case runs:
				mine, next, conflict := copied(start[i]), copied(state), false
				m.apply(mine, lists)
				var written []what
				for _, a := range m.accesses {
					if a.write {
						conflict = conflict || spoiled[i][a.key]
						next[a.key] = mine[a.key]
						written = append(written, a.key)
					}
				}
				if conflict {
					continue
				}
				var marked [][2]int
				for k := range moves {
					for _, key := range written {
						if k != i && phase[k] == runs && !spoiled[k][key] {
							spoiled[k][key] = true
							marked = append(marked, [2]int{k, int(key)})
						}
					}
				}
				phase[i] = over
				if try(next) {
					return true
				}
				phase[i] = runs
				for _, x := range marked {
					delete(spoiled[x[0]], what(x[1]))
				}
			}
		}
		return false
	}
	return try(map[what][]what{})
}

// TestTypedTransactions judges random transactions with keys and values of all types, and asks twins that try all orders who is right.
func TestTypedTransactions(t *testing.T) {
	runs := 60 // of each level in each language
	if os.Getenv("BLOODHOUND_SOAK") != "" {
		runs = 2000
	}
	levels := []isolation.Level{isolation.SnapshotIsolation, isolation.Serializable, isolation.StrictSerializable}
	all := 0
	for _, model := range []string{ListAppend, RWRegister} {
		for _, l := range []*language{edn, jsonOfJepsen, records} {
			for _, level := range levels {
				t.Run(fmt.Sprintf("%s of %s in %s", level, model, l.name), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(len(level)), uint64(len(l.name)+len(model))))
					kind := &typed{check: world.Check{Type: world.Isolation, Subject: world.Subject{Model: model, Level: string(level)}}}
					lists := model == ListAppend
					kind.value = func(r *rand.Rand, l *language, m *move, done bool) string {
						return l.transactionText(r, m, lists, done)
					}
					count := map[verdict.Status]int{}
					for range runs {
						moves := transactions(r, l, lists, 2+r.IntN(3))
						text := kind.write(r, l, moves)
						kept := slices.DeleteFunc(slices.Clone(moves), func(m move) bool { return m.failed })
						want := false
						if level == isolation.SnapshotIsolation {
							want = snapshots(kept, lists)
						} else {
							want = serial(kept, lists, level == isolation.StrictSerializable, map[what][]what{})
						}
						v := judgeTyped(t, l, kind.check, text)
						if count[v.Status]++; want && v.Status == verdict.Violated || !want && v.Status != verdict.Violated ||
							v.Status == verdict.Unknown && !v.Idle {
							t.Fatalf("%s, %s; an order explains it: %v\n%s", v.Status, v.Reason, want, text)
						}
					}
					all += runs
					t.Logf("%d histories: %v", runs, count)
					if count[verdict.Holds] < runs/8 || count[verdict.Violated] < runs/8 {
						t.Errorf("%v of %d: too few of one kind to prove anything", count, runs)
					}
				})
			}
		}
	}
	t.Logf("%d histories in all", all)
}
