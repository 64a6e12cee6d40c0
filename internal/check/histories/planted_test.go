package histories

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// planted is a history with one violation, or with none. Its lines are a client, what it does and on which key, and a value:
//
//	0 invoke write@x 1     an event
//	0 did write@x 1        an invoke and an ok with one value
//	0 got read@x 1         an invoke without a value, and an ok with one
//
// The words of values are replaced by values of all types, nil and those in quotes excepted: x and y, 1 and 2 are not equal.
type planted struct {
	name  string
	check world.Check
	lines string
	want  string // in the reason; empty if the history holds
}

var (
	overRegisters = world.Check{Type: world.Linearizability}
	overSets      = world.Check{Type: world.Linearizability, Subject: world.Subject{Model: "set"}}
	overQueues    = world.Check{Type: world.Linearizability, Subject: world.Subject{Model: "queue"}}
	overLists     = world.Check{Type: world.Linearizability, Subject: world.Subject{Model: "append-list"}}
	overLocks     = world.Check{Type: world.Linearizability, Subject: world.Subject{Model: "lock"}}
	overCounters  = world.Check{Type: world.Linearizability, Subject: world.Subject{Model: "counter"}}
	durableKeys   = world.Check{Type: world.Durability}
	durableSets   = world.Check{Type: world.Durability, Subject: world.Subject{Model: "set"}}
	setFullModel  = world.Check{Type: world.Isolation, Subject: world.Subject{Model: SetFull}}
	commentsModel = world.Check{Type: world.Isolation, Subject: world.Subject{Model: Comments}}
	longForkModel = world.Check{Type: world.Isolation, Subject: world.Subject{Model: LongFork}}
	sequentially  = world.Check{Type: world.Isolation, Subject: world.Subject{Model: Sequential}}
)

func ofTransactions(model, level string) world.Check {
	return world.Check{Type: world.Isolation, Subject: world.Subject{Model: model, Level: level}}
}

var plantedHistories = []planted{
	{"a read of what was written", overRegisters, "0 did write@x 1\n1 got read@x 1", ""},
	{"a stale read", overRegisters, "0 did write@x 1\n0 did write@x 2\n1 got read@x 1", "no longer the value"},
	{"a read of what nobody wrote", overRegisters, "0 did write@x 1\n1 got read@x 2", "never written"},
	{"a read of another key's value", overRegisters, "0 did write@x 1\n0 did write@y 2\n1 got read@x 2", "never written"},
	{"a lost write", overRegisters, "0 did write@x 1\n1 got read@x nil", "found nothing"},
	{"a read of what failed", overRegisters, "0 did write@x 1\n0 invoke write@x 2\n0 fail write@x 2\n1 got read@x 2", "failed"},
	{"a read of what is not written yet", overRegisters, "1 got read@x 1\n0 did write@x 1\n1 got read@x 1", "never written"},
	{"two reads that see a write, and then not", overRegisters,
		"0 did write@x 1\n2 invoke write@x 2\n0 got read@x 2\n0 got read@x 1\n2 ok write@x 2", "no longer"},
	{"null was written", overRegisters, "0 did write@x 1\n0 did write@x nil\n1 got read@x nil", ""},
	{"null was written, and the old value is read", overRegisters, "0 did write@x 1\n0 did write@x nil\n1 got read@x 1", "no longer"},
	{"null was written first", overRegisters, "0 did write@x nil\n1 got read@x nil\n0 did write@x 1\n1 got read@x 1", ""},
	{"a swap from null of a fresh register", overRegisters, "0 did cas@x [nil 1]\n1 got read@x 1", ""},
	{"a swap from null of a register with a value", overRegisters, "0 did write@x 2\n0 did cas@x [nil 1]\n1 got read@x 1", "no order"},
	{"a swap to null", overRegisters, "0 did write@x 1\n0 did cas@x [1 nil]\n1 got read@x nil", ""},
	{"a swap to null, and the old value is read", overRegisters, "0 did write@x 1\n0 did cas@x [1 nil]\n1 got read@x 1", "no order"},
	{"a swap from another value", overRegisters, "0 did write@x 1\n0 did cas@x [2 3]\n1 got read@x 3", "no order"},
	{"a swap of a fresh register", overRegisters, "0 did cas@x [1 2]\n1 got read@x 2", "no order"},

	{"all elements", overSets, "0 did add@x 1\n0 did add@x 2\n1 got read@x [1 2]", ""},
	{"a lost element", overSets, "0 did add@x 1\n0 did add@x 2\n1 got read@x [1]", "returned before"},
	{"an element that nobody added", overSets, "0 did add@x 1\n1 got read@x [1 2]", "never put in"},
	{"an element twice", overSets, "0 did add@x 1\n1 got read@x [1 1]", "twice"},
	{"null is an element", overSets, "0 did add@x nil\n1 got read@x [nil]", ""},
	{"null is a lost element", overSets, "0 did add@x nil\n1 got read@x []", "returned before"},
	{"an element is not in the set that was added", overSets, "0 did add@x 1\n1 asked contains@x 1 'false", "no order"},
	{"an element is in the set that was removed", overSets, "0 did add@x 1\n0 did remove@x 1\n1 asked contains@x 1 'true", "no order"},
	{"another element is in the set", overSets, "0 did add@x 1\n1 asked contains@x 2 'true", "no order"},

	{"in and out", overQueues, "0 did enqueue@x 1\n0 did enqueue@x 2\n1 got dequeue@x 1\n1 got dequeue@x 2", ""},
	{"the second first", overQueues, "0 did enqueue@x 1\n0 did enqueue@x 2\n1 got dequeue@x 2\n1 got dequeue@x 1", "was taken before"},
	{"one taken twice", overQueues, "0 did enqueue@x 1\n1 got dequeue@x 1\n1 got dequeue@x 1", "taken twice"},
	{"one that was never put in", overQueues, "0 did enqueue@x 1\n1 got dequeue@x 2", "never put in"},
	{"one from another queue", overQueues, "0 did enqueue@x 1\n0 did enqueue@y 2\n1 got dequeue@x 2", "never put in"},
	{"found empty", overQueues, "0 did enqueue@x 1\n1 got dequeue@x nil", "was found empty"},
	{"one left behind", overQueues, "0 did enqueue@x 1\n0 did enqueue@x 2\n1 got dequeue@x 2", "was not"},

	{"the whole list", overLists, "0 did append@x 1\n0 did append@x 2\n1 got read@x [1 2]", ""},
	{"the list in another order", overLists, "0 did append@x 1\n0 did append@x 2\n1 got read@x [2 1]", "returned"},
	{"a lost append", overLists, "0 did append@x 1\n0 did append@x 2\n1 got read@x [1]", "returned before"},
	{"two orders", overLists, "0 invoke append@x 1\n1 invoke append@x 2\n2 got read@x [1 2]\n3 got read@x [2 1]\n0 ok append@x 1\n1 ok append@x 2",
		"cannot both be right"},
	{"an append twice", overLists, "0 did append@x 1\n1 got read@x [1 1]", "twice"},

	{"one after the other", overLocks, "0 did acquire@x 1\n0 did release@x 1\n1 did acquire@x 2", ""},
	{"two owners", overLocks, "0 did acquire@x 1\n1 did acquire@x 2", "held the lock at once"},
	{"released by another", overLocks, "0 did acquire@x 1\n1 did release@x 2", "did not hold it"},
	{"acquired twice", overLocks, "0 did acquire@x 1\n0 did acquire@x 1", "acquired the lock twice"},

	{"a sum", overCounters, "0 did add@x '2\n0 did add@x '3\n1 got read@x '5", ""},
	{"another sum", overCounters, "0 did add@x '2\n0 did add@x '3\n1 got read@x '6", "no order"},

	{"there in the end", durableKeys, "0 did write@x 1\n1 got read@x 1", ""},
	{"replaced in the end", durableKeys, "0 did write@x 1\n1 got read@x 2", "acknowledged"},
	{"gone in the end", durableKeys, "0 did write@x 1\n1 got read@x nil", "acknowledged"},
	{"null in the end", durableKeys, "0 did write@x 1\n0 did write@x nil\n1 got read@x nil", ""},
	{"an element gone in the end", durableSets, "0 did add@x 1\n0 did add@x 2\n1 got read@x [1 3]", "is not there at the end"},

	{"elements", setFullModel, "0 did add 1\n0 did add 2\n1 got read [2 1]", ""},
	{"elements that are lost", setFullModel, "0 did add 1\n0 did add 2\n1 got read [1 2]\n1 got read [1]", "is lost"},
	{"elements from nowhere", setFullModel, "0 did add 1\n1 got read [1 2]", "never added"},
	{"elements twice", setFullModel, "0 did add 1\n1 got read [1 1]", "twice"},
	{"comments", commentsModel, "0 did write 1\n0 did write 2\n1 got read [1 2]", ""},
	{"a comment without one before it", commentsModel, "0 did write 1\n0 did write 2\n1 got read [2]", "but not"},
	{"no fork", longForkModel, "0 got read [[r x 1] [r y nil]]\n1 got read [[r x 1] [r y 2]]", ""},
	{"a long fork", longForkModel, "0 got read [[r x 1] [r y nil]]\n1 got read [[r x nil] [r y 2]]", "long fork"},
	{"subkeys", sequentially, "0 got read [x [nil 1]]", ""},
	{"subkeys without those before", sequentially, "0 got read [x [1 nil]]", "before it"},

	{"lists", ofTransactions(ListAppend, "strict-serializable"), "0 did txn [[append x 1] [append y 2]]\n1 asks txn [[r x [1]] [r y [2]]]", ""},
	{"G0 of lists", ofTransactions(ListAppend, "read-committed"), "0 invoke txn [[append x 1] [append y 3]]\n1 invoke txn [[append x 2] [append y 4]]\n" +
		"0 ok txn [[append x 1] [append y 3]]\n1 ok txn [[append x 2] [append y 4]]\n2 asks txn [[r x [1 2]] [r y [4 3]]]", "G0"},
	{"G1a of lists, failed", ofTransactions(ListAppend, "read-committed"),
		"0 invoke txn [[append x 1]]\n0 fail txn [[append x 1]]\n1 asks txn [[r x [1]]]", "G1a"},
	{"G1a of lists, never written", ofTransactions(ListAppend, "read-committed"), "0 did txn [[append x 1]]\n1 asks txn [[r x [1 2]]]", "G1a"},
	{"G1a of lists, of another key", ofTransactions(ListAppend, "read-committed"), "0 did txn [[append x 1] [append y 2]]\n1 asks txn [[r x [1 2]]]", "G1a"},
	{"G1b of lists", ofTransactions(ListAppend, "read-committed"), "0 did txn [[append x 1] [append x 2]]\n1 asks txn [[r x [1]]]", "G1b"},
	{"G1c of lists", ofTransactions(ListAppend, "read-committed"),
		"0 invoke txn [[append x 1] [r y nil]]\n1 asks txn [[append y 2] [r x [1]]]\n0 ok txn [[append x 1] [r y [2]]]", "G1c"},
	{"G-single of lists", ofTransactions(ListAppend, "snapshot-isolation"), "0 invoke txn [[r x nil] [append x 1]]\n1 invoke txn [[r x nil] [append x 2]]\n" +
		"0 ok txn [[r x nil] [append x 1]]\n1 ok txn [[r x nil] [append x 2]]\n2 asks txn [[r x [1 2]]]", "G-single"},
	{"G-nonadjacent of lists", ofTransactions(ListAppend, "snapshot-isolation"), "0 invoke txn [[append x 1]]\n1 invoke txn [[append y 2]]\n" +
		"2 asks txn [[r x [1]] [r y nil]]\n3 asks txn [[r x nil] [r y [2]]]\n0 ok txn [[append x 1]]\n1 ok txn [[append y 2]]", "G-nonadjacent"},
	{"G2 of lists", ofTransactions(ListAppend, "serializable"), "0 invoke txn [[r x nil] [append y 1]]\n1 invoke txn [[r y nil] [append x 2]]\n" +
		"0 ok txn [[r x nil] [append y 1]]\n1 ok txn [[r y nil] [append x 2]]\n2 asks txn [[r x [2]] [r y [1]]]", "G2"},
	{"write skew is a snapshot", ofTransactions(ListAppend, "snapshot-isolation"),
		"0 invoke txn [[r x nil] [append y 1]]\n1 invoke txn [[r y nil] [append x 2]]\n" +
			"0 ok txn [[r x nil] [append y 1]]\n1 ok txn [[r y nil] [append x 2]]\n2 asks txn [[r x [2]] [r y [1]]]", ""},
	{"internal of lists", ofTransactions(ListAppend, "read-committed"), "0 asks txn [[append x 1] [r x [2]]]\n1 did txn [[append x 2]]", "internal"},
	{"incompatible orders", ofTransactions(ListAppend, "read-committed"),
		"0 did txn [[append x 1]]\n0 did txn [[append x 2]]\n1 asks txn [[r x [1 2]]]\n1 asks txn [[r x [2 1]]]", "incompatible order"},
	{"an element of a list twice", ofTransactions(ListAppend, "read-committed"), "0 did txn [[append x 1]]\n1 asks txn [[r x [1 1]]]", "incompatible order"},
	{"a cycle in time of lists", ofTransactions(ListAppend, "strict-serializable"), "0 did txn [[append x 1]]\n1 asks txn [[r x nil]]", "a cycle in time"},
	{"the past is serializable", ofTransactions(ListAppend, "serializable"), "0 did txn [[append x 1]]\n1 asks txn [[r x nil]]\n1 asks txn [[r x [1]]]", ""},

	{"registers", ofTransactions(RWRegister, "strict-serializable"), "0 did txn [[w x 1] [w y 2]]\n1 asks txn [[r x 1] [r y 2]]", ""},
	{"G1a of registers, failed", ofTransactions(RWRegister, "read-committed"), "0 invoke txn [[w x 1]]\n0 fail txn [[w x 1]]\n1 asks txn [[r x 1]]", "G1a"},
	{"G1a of registers, never written", ofTransactions(RWRegister, "read-committed"), "0 did txn [[w x 1]]\n1 asks txn [[r x 2]]", "G1a"},
	{"G1a of registers, of another key", ofTransactions(RWRegister, "read-committed"), "0 did txn [[w x 1] [w y 2]]\n1 asks txn [[r x 2]]", "G1a"},
	{"G1b of registers", ofTransactions(RWRegister, "read-committed"), "0 did txn [[w x 1] [w x 2]]\n1 asks txn [[r x 1]]", "G1b"},
	{"G1c of registers", ofTransactions(RWRegister, "read-committed"),
		"0 invoke txn [[w x 1] [r y nil]]\n1 asks txn [[w y 2] [r x 1]]\n0 ok txn [[w x 1] [r y 2]]", "G1c"},
	{"half a transaction of registers", ofTransactions(RWRegister, "read-atomic"),
		"0 did txn [[w x 1] [w y 2]]\n1 asks txn [[r x 1] [r y nil]]", "read-atomic"},
	{"an effect without its cause", ofTransactions(RWRegister, "causal"),
		"0 did txn [[w x 1]]\n1 asks txn [[r x 1]]\n1 did txn [[w y 2]]\n2 asks txn [[r y 2]]\n2 asks txn [[r x nil]]", "causal"},
	{"a lost update of registers", ofTransactions(RWRegister, "snapshot-isolation"), "0 invoke txn [[r x nil] [w x 1]]\n1 invoke txn [[r x nil] [w x 2]]\n" +
		"0 ok txn [[r x nil] [w x 1]]\n1 ok txn [[r x nil] [w x 2]]\n2 asks txn [[r x 2]]", "G-single"},
	{"write skew of registers", ofTransactions(RWRegister, "serializable"), "0 invoke txn [[r x nil] [w y 1]]\n1 invoke txn [[r y nil] [w x 2]]\n" +
		"0 ok txn [[r x nil] [w y 1]]\n1 ok txn [[r y nil] [w x 2]]\n2 asks txn [[r x 2] [r y 1]]", "G2"},
	{"a stale read of registers", ofTransactions(RWRegister, "strict-serializable"), "0 did txn [[w x 1]]\n1 asks txn [[r x nil]]", "a cycle in time"},
	{"internal of registers", ofTransactions(RWRegister, "read-committed"), "0 asks txn [[w x 1] [r x 2]]\n1 did txn [[w x 2]]", "internal"},
}

// word is a value in a language, for a word of a planted history.
func (l *language) word(r *rand.Rand, w string, as map[string]what) string {
	if literal, is := strings.CutPrefix(w, "'"); is {
		return literal
	}
	if w == "nil" {
		return l.null
	}
	v, known := as[w]
	for !known {
		v, known = l.few(r), true
		for _, other := range as {
			known = known && other != v
		}
	}
	as[w] = v
	return l.spelling(r, v)
}

// expression is a value with brackets in a language, for one of a planted history. In a transaction, the first word of an access is its kind.
func (l *language) expression(r *rand.Rand, text string, as map[string]what) string {
	tokens := strings.Fields(strings.NewReplacer("[", " [ ", "]", " ] ").Replace(text))
	at := 0
	var next func(depth int) string
	next = func(depth int) string {
		w := tokens[at]
		if at++; w != "[" {
			return l.word(r, w, as)
		}
		var items []string
		for tokens[at] != "]" {
			if w := tokens[at]; depth == 1 && len(items) == 0 && (w == "r" || w == "w" || w == "append") {
				items = append(items, l.kind(w))
				at++
				continue
			}
			items = append(items, next(depth+1))
		}
		at++
		return l.list(items)
	}
	return next(0)
}

// text is a planted history in a language.
func (p *planted) text(r *rand.Rand, l *language) string {
	as := map[string]what{}
	var b strings.Builder
	n := 0
	event := func(client, kind, f, key, value string) {
		n++
		fields := [][2]string{{"index", strconv.Itoa(n)}, {"process", client}, {"type", kind}, {"f", f}, {"value", value}}
		if key != "" {
			fields = append(fields, [2]string{"key", l.word(r, key, as)})
		}
		b.WriteString(l.event(fields))
	}
	for line := range strings.Lines(p.lines) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 4)
		client, kind := words[0], words[1]
		f, key, _ := strings.Cut(words[2], "@")
		value := func() string { return l.expression(r, words[3], as) }
		switch kind {
		case "did":
			event(client, "invoke", f, key, value())
			event(client, "ok", f, key, value())
		case "got":
			event(client, "invoke", f, key, l.null)
			event(client, "ok", f, key, value())
		case "asked": // about an element, with an answer
			element, answer, _ := strings.Cut(words[3], " ")
			event(client, "invoke", f, key, l.expression(r, element, as))
			event(client, "ok", f, key, l.expression(r, answer, as))
		case "asks": // with the values of its reads, which the invoke does not have
			event(client, "invoke", f, key, l.list(nil))
			event(client, "ok", f, key, value())
		default:
			event(client, kind, f, key, value())
		}
	}
	return l.open + b.String() + l.close
}

// TestPlantedViolations: each kind of violation is found and named, whatever the types of the values and keys are, and a history without one is not
// blamed.
func TestPlantedViolations(t *testing.T) {
	const times = 20
	for i := range plantedHistories {
		p := &plantedHistories[i]
		for _, l := range []*language{edn, jsonOfJepsen, records} {
			if l == records && !strings.Contains(p.lines, "txn") {
				continue
			}
			t.Run(p.name+" in "+l.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				for range times {
					text := p.text(r, l)
					events, err := l.read(text)
					if err != nil {
						t.Fatalf("%v\n%s", err, text)
					}
					property := &world.Property{Name: "p", Check: p.check}
					v := Paired(property, events, func(property *world.Property, ops []history.Operation) verdict.Verdict {
						if p.isWorkload() {
							return Workload(property, WorkloadLimits{}, ops)
						}
						return Typed(property, ops)
					})
					switch {
					case p.want == "" && v.Status == verdict.Violated, p.want != "" && v.Status != verdict.Violated, v.Status == verdict.Unknown && !v.Idle:
						t.Fatalf("%s, %s; want %q\n%s", v.Status, v.Reason, p.want, text)
					case p.want != "" && !strings.Contains(v.Reason, p.want):
						t.Fatalf("%s, without %q\n%s", v.Reason, p.want, text)
					}
				}
			})
		}
	}
}

func (p *planted) isWorkload() bool {
	switch p.check.Model {
	case SetFull, Comments, LongFork, Sequential:
		return true
	}
	return false
}

// TestPlantedBank: balances are integers, whatever names the accounts have.
func TestPlantedBank(t *testing.T) {
	for reads, want := range map[string]string{
		`{:a 10 "a" 0} {"a" 4 :a 6}`:  "",
		`{:a 10 "a" 0} {"a" 0 :b 10}`: "accounts",
		`{1 10 "1" 0} {"1" 10 1 0}`:   "",
		`{1 10 "1" 0} {1.0 10 "1" 0}`: "accounts",
		`{1 10M "1" 0M} {"1" 10 1 1}`: "add up to 11",
		`{1 10 2 nil} {1 10 2 0}`:     "no balance",
		`{1 10 2 0} {1 11 2 -1N}`:     "below zero",
	} {
		var b strings.Builder
		for i, read := range strings.SplitAfter(reads, "} ") {
			fmt.Fprintf(&b, "{:process %[1]d :type :invoke :f :read} {:process %[1]d :type :ok :f :read :value %[2]s}\n", i, read)
		}
		v := workloadVerdict(t, Bank, b.String(), WorkloadLimits{Total: big.NewInt(10)})
		if (v.Status == verdict.Violated) != (want != "") || !strings.Contains(v.Reason, want) {
			t.Errorf("%s: %s, %s; want %q", reads, v.Status, v.Reason, want)
		}
	}
}

// TestJoinedTexts: a register joins texts only, and one of lists is named by its model.
func TestJoinedTexts(t *testing.T) {
	for lines, want := range map[string]string{
		`write "1"; append "2"; read "12"`:     "",
		`append ""; append ":a"; read ":a"`:    "",
		`append "tr"; append "ue"; read true`:  "is not text",
		`append 1; read 1`:                     "is not text",
		`append :a; read nil`:                  "is not text",
		`append 1; append 2; read [1 2]`:       "model: append-list",
		`append "tr"; append "ue"; read "tr"`:  "no order",
		`append "tr"; append "ue"; read "tru"`: "no order",
	} {
		var b strings.Builder
		for i, op := range strings.Split(lines, "; ") {
			f, value, _ := strings.Cut(op, " ")
			fmt.Fprintf(&b, "{:process %[1]d :type :invoke :f :%[2]s :value %[3]s} {:process %[1]d :type :ok :f :%[2]s :value %[3]s}\n", i, f, value)
		}
		v := judgeTyped(t, edn, overRegisters, b.String())
		if (v.Status == verdict.Holds) != (want == "") || !strings.Contains(v.Reason, want) {
			t.Errorf("%s: %s, %s; want %q", lines, v.Status, v.Reason, want)
		}
	}
}

// TestTransactionsBesideRegisters: a transaction may have changed the register of its key, whatever type that has.
func TestTransactionsBesideRegisters(t *testing.T) {
	for _, l := range []*language{edn, jsonOfJepsen} {
		for v := range l.values {
			key := l.values[v][0]
			var b strings.Builder
			for i, op := range [][2]string{{"write", l.values[0][0]},
				{"txn", l.list([]string{l.list([]string{l.kind("w"), key, l.values[1][0]})})}, {"read", l.values[0][0]}} {
				for at, kind := range []string{"invoke", "ok"} {
					fields := [][2]string{{"index", strconv.Itoa(2*i + at)}, {"process", strconv.Itoa(i)}, {"type", kind}, {"f", op[0]}, {"value", op[1]}}
					if op[0] != "txn" {
						fields = append(fields, [2]string{"key", key})
					}
					b.WriteString(l.event(fields))
				}
			}
			text := l.open + b.String() + l.close
			if got := judgeTyped(t, l, overRegisters, text); got.Status != verdict.Unknown {
				t.Errorf("%s, although a transaction wrote key %s\n%s", got.Status, key, text)
			}
		}
	}
}
