package workload

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Range of keys of {random} and {zipf} without one of their own. It is small, so that clients meet on keys.
const (
	defaultLow  = 0
	defaultHigh = 99
)

// defaultKeyPattern is the key pattern of an operation that has none.
const defaultKeyPattern = "key-{random:0-9}"

// dice are the draws of one operation: a pure function of (seed, client, k), whatever other clients do, so that what
// one operation draws does not depend on which operations came before it elsewhere.
type dice struct{ state uint64 }

func newDice(seed uint64, client, k int) *dice {
	return &dice{mix(mix(mix(seed)+uint64(client)) + uint64(k))}
}

func mix(x uint64) uint64 { return splitmix.Mix(x + splitmix.Gamma) }

func (d *dice) next() uint64 {
	d.state += splitmix.Gamma
	return mix(d.state)
}

// below draws from [0, n).
func (d *dice) below(n uint64) uint64 {
	high, _ := bits.Mul64(d.next(), n)
	return high
}

// zipf draws a rank from [0, n) such that each doubling of the rank is equally likely: Zipf's law with exponent 1,
// in integers, so that every machine draws the same.
func (d *dice) zipf(n uint64) uint64 {
	octave := uint64(1) << d.below(uint64(bits.Len64(n)))
	rank := octave + d.below(octave) // 1, 2..3, 4..7, ...
	if rank > n {
		rank = octave + d.below(n-octave+1)
	}
	return rank - 1
}

func (d *dice) uuid() string {
	a, b := d.next(), d.next()
	a = a&^0xf000 | 0x4000 // version 4 (RFC 9562)
	b = b&^(3<<62) | 1<<63 // variant
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&(1<<48-1))
}

// pattern is a parsed key pattern.
type pattern []part

// part is literal text or, when what is set, a placeholder.
type part struct {
	text string
	what string // random, seq, client, uuid, zipf
	low  uint64
	size uint64 // of the range; 0 is no range (seq)
}

func parsePattern(s string) (pattern, error) {
	var p pattern
	rest := s
	for rest != "" {
		text, after, opened := strings.Cut(rest, "{")
		if text != "" {
			p = append(p, part{text: text})
		}
		if !opened {
			break
		}
		inside, tail, closed := strings.Cut(after, "}")
		if !closed {
			return nil, fmt.Errorf("key pattern %q: no } after {%s", s, inside)
		}
		q, err := parsePlaceholder(inside)
		if err != nil {
			return nil, fmt.Errorf("key pattern %q: %w", s, err)
		}
		p = append(p, q)
		rest = tail
	}
	if len(p) == 0 {
		return nil, errors.New("a key pattern is empty")
	}
	return p, nil
}

func parsePlaceholder(inside string) (part, error) {
	what, limits, hasRange := strings.Cut(inside, ":")
	p := part{what: what}
	switch what {
	case "random", "zipf":
		p.low, p.size = defaultLow, defaultHigh-defaultLow+1
	case "seq":
	case "client", "uuid":
		if hasRange {
			return p, fmt.Errorf("{%s} has no range", what)
		}
	default:
		return p, fmt.Errorf("unknown placeholder {%s}; placeholders are {random}, {random:a-b}, {seq}, "+
			"{seq:a-b}, {zipf:a-b}, {client}, {uuid}", inside)
	}
	if !hasRange {
		return p, nil
	}
	from, to, ok := strings.Cut(limits, "-")
	low, err1 := strconv.ParseUint(from, 10, 62)
	high, err2 := strconv.ParseUint(to, 10, 62)
	if !ok || err1 != nil || err2 != nil || low > high {
		return p, fmt.Errorf("{%s}: the range must be a-b with 0 <= a <= b", inside)
	}
	p.low, p.size = low, high-low+1
	return p, nil
}

// key fills in the pattern for one operation; nth counts the operations of this entry of the mix over all clients.
func (p pattern) key(d *dice, client int, nth uint64) string {
	var b strings.Builder
	for _, q := range p {
		switch q.what {
		case "":
			b.WriteString(q.text)
		case "random":
			b.WriteString(strconv.FormatUint(q.low+d.below(q.size), 10))
		case "zipf":
			b.WriteString(strconv.FormatUint(q.low+d.zipf(q.size), 10))
		case "seq":
			n := nth
			if q.size > 0 {
				n %= q.size
			}
			b.WriteString(strconv.FormatUint(q.low+n, 10))
		case "client":
			b.WriteString(strconv.Itoa(client))
		case "uuid":
			b.WriteString(d.uuid())
		}
	}
	return b.String()
}

// mix of operations, parsed.
type entry struct {
	world.Operation
	pattern pattern
	weight  uint64
	done    bool // of a workload that does each once: it has succeeded
}

// chooser chooses the operations of one client, in their order.
type chooser struct {
	seed    uint64
	client  int
	clients int
	name    string // of the client, without what follows an info; values start with it
	mix     []entry
	total   uint64            // weight
	counts  []uint64          // operations so far, by entry
	verb    string            // how transactions write: append or w
	known   map[string]string // values of keys, as the client last learned them, for cas
	special []string          // the special values of this run
	ppm     uint64            // how often they are taken
	turn    int               // of inTurn
}

// operation is one that a client shall do.
type operation struct {
	entry *entry
	key   string
	value string // of a put, set or cas; the accesses of a txn; empty for others
	// expect is the value that a cas may replace: the last one that the client knows of its key.
	expect string
}

// next chooses operation k; k must count up from 0.
func (c *chooser) next(k int) operation {
	d := newDice(c.seed, c.client, k)
	r := d.below(c.total)
	i := 0
	for r >= c.mix[i].weight {
		r -= c.mix[i].weight
		i++
	}
	return c.makeOperation(i, k, d)
}

// inTurn is the next entry of the mix that has not succeeded yet; one without an entry if all have.
func (c *chooser) inTurn(k int) operation {
	for range c.mix {
		i := c.turn % len(c.mix)
		c.turn++
		if !c.mix[i].done {
			return c.makeOperation(i, k, newDice(c.seed, c.client, k))
		}
	}
	return operation{}
}

// succeeded takes note that an entry is done. What was changed is read again.
func (c *chooser) succeeded(o *operation) {
	o.entry.done = true
	for i := range c.mix {
		if e := &c.mix[i]; !history.IsRead(o.entry.Kind) && history.IsRead(e.Kind) && e.KeyPattern == o.entry.KeyPattern {
			e.done = false
		}
	}
}

// makeOperation makes operation k, of the i-th entry.
func (c *chooser) makeOperation(i, k int, d *dice) operation {
	e := &c.mix[i]
	nth := c.counts[i]*uint64(c.clients) + uint64(c.client)
	c.counts[i]++
	switch e.Kind {
	case "compact":
		return operation{entry: e}
	case "txn":
		return operation{entry: e, value: c.transaction(d, e.pattern, nth, k)}
	}
	o := operation{entry: e, key: e.pattern.key(d, c.client, nth)}
	if len(c.special) > 0 && d.below(1e6) < c.ppm {
		o.key = c.special[d.below(uint64(len(c.special)))]
	}
	if writes(e.Kind) {
		o.value = c.value(d, e, k)
	}
	if e.Kind == "cas" {
		o.expect = c.known[o.key]
	}
	return o
}

// maxKnown bounds the keys whose values a client remembers.
const maxKnown = 1000

// learn takes in the result of an operation that was ok.
func (c *chooser) learn(o *operation, r result) {
	value := o.value
	switch strings.ToLower(o.entry.Kind) {
	case "get":
		value = r.output
	case "put", "set", "range_put", "lease_put":
	case "cas":
		if r.output != "true" {
			delete(c.known, o.key) // the next one asks for what no client wrote, unless a read comes first
			return
		}
	default:
		return
	}
	if c.known == nil {
		c.known = map[string]string{}
	}
	if len(c.known) < maxKnown || c.known[o.key] != "" {
		c.known[o.key] = value
	}
}

// value draws what an operation writes.
func (c *chooser) value(d *dice, e *entry, k int) string {
	size := e.ValueSizeBytes
	if e.MaxValueBytes > 0 {
		size = d.size(e.ValueSizeBytes, e.MaxValueBytes)
	}
	v := value(c.name, k, size)
	if e.MaxValueBytes > 0 && size < len(v) {
		v = v[len(v)-size:] // a small size was asked for: such values may repeat
	}
	if len(c.special) > 0 && d.below(1e6) < c.ppm {
		if s := c.special[d.below(uint64(len(c.special)))]; len(v)+len(s) < maxValueBytes {
			v += " " + s // after what makes it unique
		}
	}
	return v
}

// sizes around which buffers, pages and length fields end.
func boundaries(low, high int) []int {
	all := []int{low, high}
	for power := 1; power <= 2*high; power *= 2 {
		all = append(all, power-1, power, power+1)
	}
	all = append(all, high-1)
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(n int) bool { return n < low || n > high })
}

// size draws from [low, high]: every second time a boundary.
func (d *dice) size(low, high int) int {
	if d.below(2) == 0 {
		all := boundaries(low, high)
		return all[d.below(uint64(len(all)))]
	}
	return low + int(d.below(uint64(high-low)+1))
}

// specialsOfRun is how many special values a run uses: few, so that clients meet on them.
const specialsOfRun = 6

// specials takes the special values of a run.
func specials(seed uint64, dictionary []string) ([]string, error) {
	d := newDice(seed, -1, 0)
	var all []string
	for range min(specialsOfRun, len(dictionary)) {
		text, err := world.Special(dictionary[d.below(uint64(len(dictionary)))])
		if err != nil {
			return nil, fmt.Errorf("dictionary: %w", err)
		}
		all = append(all, text)
	}
	return all, nil
}

func writes(kind string) bool {
	switch strings.ToLower(kind) {
	case "put", "set", "cas", "range_put", "lease_put", "send", "publish", "produce":
		return true
	}
	return false
}

// value is one that no other operation of the run writes, padded to the size asked for. A size that is too small for
// that gives way: without unique values a lost write could hide behind another.
func value(client string, k, sizeBytes int) string {
	v := client + "-" + strconv.Itoa(k)
	if pad := sizeBytes - len(v); pad > 0 {
		v += strings.Repeat(".", pad)
	}
	return v
}
