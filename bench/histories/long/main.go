// Command long writes a long history that holds, for measurements: operations of twenty clients at once, on a thousand registers or, as
// transactions, on lists that change every hundred transactions.
//
//	go run ./bench/histories/long -model register -format records -operations 1000000 >long.jsonl
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
)

const clients = 20

func main() {
	model := flag.String("model", "register", "what the operations are on: register or list-append")
	format := flag.String("format", "records", "of the events: records or edn")
	operations := flag.Int("operations", 1_000_000, "how many there are")
	flag.Parse()
	g := generator{r: rand.New(rand.NewPCG(1, 1)), registers: map[string]string{}, lists: map[int][]int{}}
	begin, end := g.access, g.accessed
	if *model == "list-append" {
		begin, end = g.transaction, g.committed
	}
	out := bufio.NewWriter(os.Stdout)
	write := func(e *history.Event) error { return history.Write(out, []history.Event{*e}) }
	if *format == "edn" {
		write = func(e *history.Event) error { return edn(out, e) }
	}
	var open [clients]*history.Event
	for number, begun, under := uint64(1), 0, 0; begun < *operations || under > 0; {
		c := g.r.IntN(clients)
		e := open[c]
		switch {
		case e != nil:
			open[c], e.Type = nil, history.Ok
			end(e)
			under--
		case begun < *operations:
			e = &history.Event{Client: strconv.Itoa(c), Type: history.Invoke}
			begin(e)
			open[c] = e
			begun++
			under++
		default:
			continue
		}
		e.Number, e.TimeNs = number, int64(number)*1000
		number++
		if err := write(e); err != nil {
			fmt.Fprintln(os.Stderr, "long:", err)
			os.Exit(1)
		}
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "long:", err)
		os.Exit(1)
	}
}

// generator has what the operations are on. Each takes effect when it returns.
type generator struct {
	r         *rand.Rand
	written   int // values; each is another one
	begun     int // transactions
	registers map[string]string
	lists     map[int][]int
}

func (g *generator) access(e *history.Event) {
	e.Op, e.Key = "read", "k"+strconv.Itoa(g.r.IntN(1000))
	if g.r.IntN(2) == 0 {
		g.written++
		e.Op, e.Input = "write", strconv.Itoa(g.written)
	}
}

func (g *generator) accessed(e *history.Event) {
	if e.Op == "write" {
		g.registers[e.Key] = e.Input
		return
	}
	e.Output, e.Found = g.registers[e.Key], g.registers[e.Key] != ""
}

func (g *generator) transaction(e *history.Event) {
	const changed, keys = 100, 20
	g.begun++
	var accesses []string
	for range 1 + g.r.IntN(3) {
		key := g.begun/changed*5 + g.r.IntN(keys)
		if g.r.IntN(2) == 0 {
			accesses = append(accesses, fmt.Sprintf(`["r",%d,null]`, key))
			continue
		}
		g.written++
		accesses = append(accesses, fmt.Sprintf(`["append",%d,%d]`, key, g.written))
	}
	e.Op, e.Input = "txn", "["+strings.Join(accesses, ",")+"]"
}

func (g *generator) committed(e *history.Event) {
	accesses := strings.Split(strings.TrimSuffix(strings.TrimPrefix(e.Input, "[["), "]]"), "],[")
	for i, a := range accesses {
		fields := strings.Split(a, ",")
		key, _ := strconv.Atoi(fields[1]) // transaction wrote it
		if fields[0] == `"append"` {
			value, _ := strconv.Atoi(fields[2]) // the same
			g.lists[key] = append(slices.Clip(g.lists[key]), value)
			continue
		}
		fields[2] = strings.ReplaceAll(fmt.Sprint(g.lists[key]), " ", ",")
		accesses[i] = strings.Join(fields, ",")
	}
	e.Input, e.Output = "", "[["+strings.Join(accesses, "],[")+"]]"
}

// edn writes an event as Jepsen does.
func edn(out *bufio.Writer, e *history.Event) error {
	value := strings.NewReplacer(`"r"`, ":r", `"append"`, ":append", ",", " ", "null", "nil").Replace(e.Input + e.Output)
	if value == "" {
		value = "nil"
	}
	key := ""
	if e.Key != "" {
		key = " :key " + e.Key + ","
	}
	_, err := fmt.Fprintf(out, "{:type :%s, :f :%s, :value %s,%s :process %s, :time %d, :index %d}\n", e.Type, e.Op, value, key, e.Client, e.TimeNs, e.Number)
	return err
}
