package formats

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/bloodhound-dst/bloodhound/history"
)

// randomEDN writes events of EDN, mostly transactions in the usual form.
type randomEDN struct {
	r     *rand.Rand
	odd   int // of a hundred choices, those that may be unusual
	index int
}

// pick prefers the first.
func (g *randomEDN) pick(choices ...string) string {
	if g.r.IntN(100) >= g.odd {
		return choices[0]
	}
	return choices[g.r.IntN(len(choices))]
}

// any picks each with the same probability.
func (g *randomEDN) any(choices ...string) string {
	return choices[g.r.IntN(len(choices))]
}

// value is any value of EDN, or text that is none.
func (g *randomEDN) value() string {
	switch g.r.IntN(7) {
	case 0:
		return g.any(strange...)
	case 1:
		return g.any("nill", "-5", "00", "3x", "#_3 4", "12345678901234567890", `"a"1`, `"a"]`, "\"\x01\"", `"a b"`, `"<"`, `"é"`, `"-"`, `"1.5"`, `"'"`,
			":é", ":<", ":x?", "::y", ":a'", ":a#", "1:", `\]`, "#{[1] :x}", "^{:a 1} 5", "#tag 5", "1;", "\n", "}")
	case 2:
		return "[" + g.value() + " " + g.value() + "]"
	case 3:
		return strings.Repeat("[", g.r.IntN(12)) + g.value() + strings.Repeat("]", g.r.IntN(12))
	case 4:
		deep := g.r.IntN(maxEDNDepth + 10)
		return strings.Repeat("[", deep) + "1" + strings.Repeat("]", deep)
	}
	equals := oneOf[g.r.IntN(len(oneOf))]
	return g.any(equals...)
}

func (g *randomEDN) element() string {
	switch {
	case g.r.IntN(100) < g.odd:
		return g.value()
	case g.r.IntN(8) == 0:
		return g.any(":x", ":a/b", "nil", "true", `"a"`, `"a b"`, `"1"`, `"true"`, `"null"`, `"nil"`, `""`, `"-1"`, "[]", "[:r 1]")
	}
	return fmt.Sprint(g.r.IntN(300))
}

func (g *randomEDN) list() string {
	var b strings.Builder
	for range g.r.IntN(6) {
		b.WriteString(g.element() + g.pick(" ", ", ", "", "\t", ",\r "))
	}
	return g.pick("[", "(", "#{", "{", "") + b.String() + g.pick("]", ")", "}", "")
}

func (g *randomEDN) access() string {
	kind := g.pick(g.any(":r", ":append", ":w"), ":read", ":write", `"r"`, `"read"`, "r", "", "1", "nil", "[:r]", ":x/y", ":")
	return "[" + kind + g.pick(" ", "", ",") + g.element() + " " + g.any("nil", g.list(), g.list(), g.element()) + g.pick("]", " ]", "")
}

func (g *randomEDN) transaction() string {
	accesses := make([]string, g.r.IntN(4))
	for i := range accesses {
		accesses[i] = g.access()
		if g.r.IntN(100) < g.odd {
			accesses[i] = g.element()
		}
	}
	return g.pick("[", "", "(") + strings.Join(accesses, g.pick(" ", ", ", "")) + g.pick("]", "]]", ")", "")
}

func (g *randomEDN) event() string {
	g.index += 1 + g.r.IntN(3)
	index := fmt.Sprint(g.index)
	f, value := ":txn", g.transaction()
	if g.r.IntN(4) == 0 { // a write may have the value of a transaction before it
		f, value = g.any(":txn", ":write"), g.any("[[:r 1 nil]]", `[["r" 1 nil]]`)
	}
	fields := []string{
		":type " + g.pick(g.any(":invoke", ":ok", ":fail", ":info"), ":maybe", "ok", `"ok"`),
		":f " + g.pick(f, ":read", ":write", "txn", ":cas", "nil"),
		":value " + g.pick(value, value, "nil", g.value()),
		":process " + g.pick(g.any("0", "1"), "0", "03", ":nemesis", "-1", "x", "nil", "0N", `"0"`, g.value()),
		":time " + g.pick("17", "123456789012345678", "1234567890123456789", "12345678901234567890", "nil", "-3", "1.5", "017", g.value()),
		":index " + g.pick(index, index, "0", fmt.Sprint(g.index-2), "x", "nil", index+"N", index+".0", "-1", "12345678901234567890", g.value()),
	}
	if g.r.IntN(100) < g.odd {
		fields = append(fields, g.any(":error ", ":key ", ":other ", `"type" `, "1 ", "")+g.value())
	}
	g.r.Shuffle(len(fields), func(a, b int) { fields[a], fields[b] = fields[b], fields[a] })
	fields = fields[:len(fields)-g.r.IntN(6)/5]
	if g.r.IntN(100) < g.odd/4 {
		fields = append(fields, fields[0])
	}
	return g.pick("{", "{ ", "#jepsen.history.Op{", "^{:a 1} {", "#_") + strings.Join(fields, g.pick(", ", " ", "", "\n")) +
		g.pick("}", "", " } ", "} {", "} ; comment", "}}", "},")
}

// readAll reads a text and gives its events, the number of those that were read in one pass, and the error.
func readAll(text string, set func(*jepsen)) (events []string, quick int, err error) {
	var j *jepsen
	j = newJepsen(false, func(e *history.Event) error {
		if j.missed == 0 {
			quick++
		}
		events = append(events, fmt.Sprintf("line %d: %+v", j.line, *e))
		return nil
	})
	set(j)
	err = readEDN(strings.NewReader(text), j)
	return events, quick, err
}

// TestQuickTransactions: with quickTransaction and without it a file has the same events, on the same lines, and the same error.
func TestQuickTransactions(t *testing.T) {
	g := &randomEDN{r: rand.New(rand.NewPCG(5, 6))}
	total := 0
	for range 20_000 {
		g.odd, g.index = []int{0, 2, 15}[g.r.IntN(3)], 0
		lines := []string{"{:type :invoke, :f :txn, :value [[:r 1 nil] [:r 2 nil]]" + g.pick(", :process 3", "") + "}"}
		for range 1 + g.r.IntN(7) {
			lines = append(lines, g.event())
		}
		text := g.pick("", "[", "(") + strings.Join(lines, "\n") + g.pick("\n", "", "\n]", "]")
		keyed, sorts, nemesis := g.r.IntN(10) == 0, g.r.IntN(10) == 0, g.r.IntN(10) == 0
		options := func(j *jepsen) {
			j.keyed, j.sorts = keyed, sorts || nemesis
			if nemesis {
				j.nemesis = func(NemesisEvent) error { return nil }
			}
		}
		got, quick, err := readAll(text, options)
		want, never, wantErr := readAll(text, func(j *jepsen) {
			options(j)
			j.missed = mostMissed
		})
		if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) ||
			errors.Is(err, ErrUnordered) != errors.Is(wantErr, ErrUnordered) {
			t.Fatalf("keyed %v, sorts %v, nemesis %v: %q\n%q\n%v\nwant\n%q\n%v", keyed, sorts, nemesis, text, got, err, want, wantErr)
		}
		if never > 0 {
			t.Fatal("the parser of all EDN was not compared")
		}
		total += quick
	}
	if total < 20_000 {
		t.Errorf("only %d events were read in one pass", total)
	}
}

// TestQuickTransactionsAmongOthers: each transaction is read in one pass until many events in a row are none.
func TestQuickTransactionsAmongOthers(t *testing.T) {
	const transaction, other = "{:type :invoke, :f :txn, :value [[:r 1 nil]], :process 3}\n", "{:type :info, :f :txn, :value nil, :process 3}\n"
	for others, want := range map[int]int{0: 2, mostMissed - 1: 2, mostMissed: 1} {
		text := other + transaction + strings.Repeat(other, others) + transaction
		if _, quick, err := readAll(text, func(*jepsen) {}); err != nil || quick != want {
			t.Errorf("%d events between transactions: %d transactions were read in one pass, want %d; %v", others, quick, want, err)
		}
	}
}

// TestLongLines: lines that are too long to be read in one pass lose nothing.
func TestLongLines(t *testing.T) {
	const first = "{:type :invoke, :f :txn, :value [], :process 3}\n"
	for _, elements := range []int{quickBytes/2 - 50, quickBytes/2 - 20, quickBytes / 2, quickBytes} {
		text := first + "{:type :ok, :f :txn, :process 3, :value [[:r 1 [" + strings.Repeat("1 ", elements) + "]]]}\n" +
			strings.ReplaceAll(first, "3", "4")
		events, err := gather(ReadEDN, iotest.HalfReader(strings.NewReader(text)), false)
		if err != nil || len(events) != 3 || strings.Count(events[1].Output, "1") != elements+1 || events[2].Client != "4" {
			t.Errorf("%d elements: %d events, %v", elements, len(events), err)
		}
	}
}

// TestReadersThatFailOnce: an error of a reader ends the history, even if the reader could go on.
func TestReadersThatFailOnce(t *testing.T) {
	const event = "{:type :invoke, :f :txn, :value [], :process 3}\n"
	for cut := range len(event) {
		r := io.MultiReader(strings.NewReader(event+event[:cut]), strings.NewReader(event[cut:]))
		if _, err := gather(ReadEDN, iotest.TimeoutReader(r), false); !errors.Is(err, iotest.ErrTimeout) {
			t.Errorf("after %q: %v", event[:cut], err)
		}
	}
}
