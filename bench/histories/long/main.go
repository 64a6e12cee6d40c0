// Command long writes a long history that holds, for measurements: operations of many clients at once, on a thousand registers or, as
// transactions, on lists. As in Elle's generator, a list retires after so many appends and another key replaces it; one transaction in a
// hundred fails, and the outcome of one in two hundred is unknown, after which its client continues under another name.
//
//	go -C bench run ./histories/long -model register -format records -operations 1000000 >long.jsonl
//	go -C bench run ./histories/long -model list-append -format edn -appends 200 -operations 1000000 >long.edn
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
)

func main() {
	model := flag.String("model", "register", "what the operations are on: register or list-append")
	format := flag.String("format", "records", "of the events: records or edn")
	operations := flag.Int("operations", 1_000_000, "how many there are")
	clients := flag.Int("clients", 20, "how many there are at once")
	appends := flag.Int("appends", 50, "list-append: after how many of them a list retires")
	flag.Parse()
	g := generator{r: rand.New(rand.NewPCG(1, 1)), registers: map[string]string{}, lists: map[int][]byte{}, appends: *appends}
	begin, end := g.access, g.accessed
	if *model == "list-append" {
		begin, end = g.transaction, g.committed
	}
	out := bufio.NewWriter(os.Stdout)
	write := func(e *history.Event) error { return history.Write(out, []history.Event{*e}) }
	if *format == "edn" {
		write = func(e *history.Event) error { return edn(out, e) }
	}
	open := make([]*history.Event, *clients)
	names := make([]int, *clients)
	for c := range names {
		names[c] = c
	}
	for number, begun, under := uint64(1), 0, 0; begun < *operations || under > 0; {
		c := g.r.IntN(*clients)
		e := open[c]
		switch {
		case e != nil:
			open[c], e.Type = nil, history.Ok
			end(e)
			if e.Type == history.Info {
				names[c] += *clients
			}
			under--
		case begun < *operations:
			e = &history.Event{Client: strconv.Itoa(names[c]), Type: history.Invoke}
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
	written   int // values of registers; each is another one
	registers map[string]string
	appends   int            // after which a list retires
	live      [10]list       // those that transactions access
	named     int            // lists so far
	lists     map[int][]byte // by key, the elements and commas between them
}

// list is one that transactions access.
type list struct {
	key      int
	appended int // values so far, of transactions that were begun
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
	const most = 5 // accesses
	b := []byte("[")
	for i := range 1 + g.r.IntN(most) {
		if i > 0 {
			b = append(b, ',')
		}
		l := &g.live[g.r.IntN(len(g.live))]
		if l.key == 0 || l.appended == g.appends {
			g.named++
			*l = list{key: g.named}
		}
		if g.r.IntN(2) == 0 {
			b = fmt.Appendf(b, `["r",%d,null]`, l.key)
			continue
		}
		l.appended++
		b = fmt.Appendf(b, `["append",%d,%d]`, l.key, l.appended)
	}
	e.Op, e.Input = "txn", string(append(b, ']'))
}

func (g *generator) committed(e *history.Event) {
	switch n := g.r.IntN(200); {
	case n == 0:
		if e.Type = history.Info; g.r.IntN(2) == 0 {
			return
		}
	case n < 3:
		e.Type = history.Fail
		return
	}
	accesses := strings.Split(strings.TrimSuffix(strings.TrimPrefix(e.Input, "[["), "]]"), "],[")
	for i, a := range accesses {
		fields := strings.Split(a, ",")
		key, _ := strconv.Atoi(fields[1]) // transaction wrote it
		l := g.lists[key]
		if fields[0] == `"append"` {
			if len(l) > 0 {
				l = append(l, ',')
			}
			g.lists[key] = append(l, fields[2]...)
			continue
		}
		accesses[i] = fmt.Sprintf(`%s,%s,[%s]`, fields[0], fields[1], l)
	}
	if e.Type == history.Ok {
		e.Input, e.Output = "", "[["+strings.Join(accesses, "],[")+"]]"
	}
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
