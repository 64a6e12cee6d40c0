package histories

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Limits of judging one property for linearizability, which is NP-complete. Steps and bytes are counted, so that a
// history gets the same verdict on every machine; the wall time is there for what they do not foresee.
const (
	MaxSteps = 20_000_000
	MaxBytes = 512 << 20
	MaxWall  = 2 * time.Minute
	// maxEvidenceSteps bounds the search for the smallest conflict inside a history that is known to be violated.
	maxEvidenceSteps = 5_000_000
	// minOkPPM is the least share of judged operations that must have succeeded, in parts per million.
	minOkPPM = 10_000
)

const forever = math.MaxInt64

// linearizable judges the history of a run against a map of registers, key by key (linearizability is local:
// Herlihy and Wing, TOPLAS 1990, theorem 1).
func linearizable(p *world.Property, ops []history.Operation) verdict.Verdict {
	v := verdict.New(p)
	if !isRegister(p.Check.Model) {
		if ob := objects[p.Check.Model]; ob != nil {
			return objectsHold(p, ob, ops)
		}
		return verdict.Undecided(p, "%v", noModel(p.Check.Model))
	}
	h, reason := perKey(&p.Check, ops)
	if reason != "" {
		return verdict.Undecided(p, "%s", reason)
	}
	v.LeftOut = h.left.lines()
	budget := linear.NewBudget(MaxSteps, MaxBytes, MaxWall)
	var exhausted string
	for _, name := range bySize(h.keys) {
		switch search(h.keys[name], budget) {
		case linear.Illegal:
			return refuted(v, name, h.keys[name], h.failed)
		case linear.Undecided:
			exhausted = name
		}
	}
	switch {
	case exhausted != "":
		v.Reason = fmt.Sprintf("budget: could not order %d operations on key %q within %s; use more "+
			"keys, fewer clients or a shorter workload", len(h.keys[exhausted]), exhausted, budget.Reached)
		return v
	case h.left.unjudged(&p.Check, len(h.keys)) != "":
		v.Reason = h.left.unjudged(&p.Check, len(h.keys))
		return v
	}
	if reason := h.covered(p.Check.Operations, ops); reason != "" {
		v.Reason = reason
		h.left.blame(&v)
		return v
	}
	v.Status = verdict.Holds
	return v
}

// isRegister reports the models that are one: a map of registers.
func isRegister(model string) bool {
	switch model {
	case "", "kv", "key-value", "register", "cas-register":
		return true
	}
	return false
}

func noModel(name string) error {
	return fmt.Errorf("unknown model %q; use register, cas-register, key-value, %s", name, strings.Join(slices.Sorted(maps.Keys(objects)), ", "))
}

// Pair makes operations of events. Its errors say that the history is broken or buffered.
func Pair(events []history.Event) ([]history.Operation, error) {
	ops, err := history.Pair(events)
	if err != nil && !errors.Is(err, history.ErrBuffered) && !errors.Is(err, history.ErrBroken) {
		err = fmt.Errorf("%w: %w", history.ErrBroken, err)
	}
	return ops, err
}

// judged is the set of kinds whose results a property judges: all of them when it lists none.
func judged(list []string) (map[kind]bool, string) {
	set := map[kind]bool{}
	for _, op := range list {
		k := kindOf(op)
		if k == unmodelled {
			return nil, fmt.Sprintf("operation %q has no model; use put, get, delete, incr, cas, append and the names of "+
				"their redis commands", op)
		}
		set[k] = true
	}
	if len(list) == 0 {
		set = map[kind]bool{write: true, read: true, remove: true, incr: true, cas: true, grow: true}
	}
	return set, ""
}

// registers is a history in terms of the model, by key. failed are the operations that did nothing, for explanations.
type registers struct {
	keys   map[string][]placed
	failed []history.Operation
	left   leftOut
}

// perKey puts the operations in terms of the model. An operation that certainly did nothing is left out, and so is a
// read whose result is unknown or not judged. What changes a key is always in, judged or not. A key that an operation
// without a model may have changed is left out as a whole: keys are independent of each other, the operations on one
// are not. Only the user can say that such an operation changes nothing, by the list of operations.
func perKey(c *world.Check, ops []history.Operation) (h registers, reason string) {
	set, reason := judged(c.Operations)
	if reason != "" {
		return h, reason
	}
	h.keys, h.left = map[string][]placed{}, newLeftOut()
	sizes := sizeOfKeys(ops)
	strange := map[string]*history.Operation{} // the first operation without a model, by key
	for i := range ops {
		o := &ops[i]
		k := kindOf(o.Op)
		if k == unmodelled {
			switch {
			case o.Type == history.Fail:
				h.failed = append(h.failed, *o)
			case len(c.Operations) > 0:
				h.left.otherOps[o.Op]++
			default:
				notice(strange, o)
			}
			continue
		}
		if !h.left.chooses(c, o) {
			continue
		}
		if o.Type == history.Fail {
			h.failed = append(h.failed, *o)
			continue
		}
		if k == read && (o.Type != history.Ok || !set[read]) {
			continue
		}
		if _, left := h.left.keys[o.Key]; left {
			continue
		}
		p, err := place(o, set[k])
		if err != nil {
			h.left.keys[o.Key] = broken(o, err, sizes[o.Key])
			continue
		}
		if h.keys[o.Key] == nil {
			h.keys[o.Key] = make([]placed, 0, sizes[o.Key])
		}
		h.keys[o.Key] = append(h.keys[o.Key], p)
	}
	for key, ops := range h.keys {
		if reason := holdsList(key, ops); reason != "" {
			h.left.keys[key] = omission{"it holds a list, which needs `model: append-list`", reason, sizes[key]}
		}
	}
	h.left.foreign(c, strange, sizes, "operation %q has no model", func(key string) bool { return h.keys[key] != nil })
	for key := range h.left.keys {
		delete(h.keys, key)
	}
	return h, ""
}

// holdsList explains that a key holds a list, if it does: it was appended to, and a read returned a JSON array. The model of
// this check appends text to text.
func holdsList(key string, ops []placed) string {
	isArray := func(text string) bool { return strings.HasPrefix(text, "[") && json.Valid([]byte(text)) }
	grows, array, text := false, "", false
	for i := range ops {
		switch p := &ops[i]; {
		case p.call.kind == grow || p.call.kind == write:
			grows = grows || p.call.kind == grow
			text = text || strings.HasPrefix(p.call.value, "[")
		case p.reply.known && isArray(p.reply.value):
			array = p.reply.value
		}
	}
	if !grows || array == "" || text {
		return ""
	}
	return fmt.Sprintf("key %q is appended to, and a read returned the list %s; use `model: append-list`, since this model joins texts",
		key, verdict.Shorten(array))
}

// sizeOfKeys counts operations by key. Long histories are judged much faster where nothing has to grow.
func sizeOfKeys(ops []history.Operation) map[string]int {
	sizes := map[string]int{}
	for i := range ops {
		sizes[ops[i].Key]++
	}
	return sizes
}

// touched are the keys that an operation without a model may have changed; an empty one stands for all.
func touched(o history.Operation) []string {
	switch strings.ToLower(o.Op) {
	case "compact": // takes away the past, and changes no key
		return nil
	case "txn":
		text := o.Input
		if text == "" {
			text = o.Output
		}
		rows, err := accessRows(text)
		if err != nil {
			break
		}
		var keys []string
		for _, row := range rows {
			if len(row) < 2 {
				return []string{""}
			}
			keys = append(keys, asKey(row[1]))
		}
		return keys
	}
	return []string{o.Key}
}

func place(o *history.Operation, isJudged bool) (placed, error) {
	p := placed{op: o, from: int64(o.Call), to: forever, call: call{kind: changeOf(o), value: o.Input, expect: o.Expect,
		noValue: o.NoInput, noExpect: o.NoExpect}}
	if o.Return != history.Pending {
		p.to = int64(o.Return)
		if isJudged {
			p.reply = reply{known: true, found: o.Found, value: o.Output}
		}
	}
	switch p.call.kind {
	case incr:
		p.call.delta = 1
		if o.Input != "" {
			n, err := strconv.ParseInt(o.Input, 10, 64)
			if err != nil {
				return p, fmt.Errorf("input %q is not an integer", o.Input)
			}
			p.call.delta = n
		}
	case cas:
		if p.reply.known && o.Output != "true" && o.Output != "false" {
			return p, fmt.Errorf(`output %q; the output of a cas must be "true" (it swapped) or "false" (the value was another)`, o.Output)
		}
	case remove:
		if kindOf(o.Op) == write { // of null
			p.reply.value = ""
		}
		if p.reply.value != "" && p.reply.value != "0" && p.reply.value != "1" {
			return p, fmt.Errorf(`output %q; the output of a delete must be empty, "0" (the key did not exist) or "1"`, o.Output)
		}
	}
	p.simple = p.call.kind == write || p.call.kind == read ||
		p.call.kind == remove && (!p.reply.known || p.reply.value == "")
	return p, nil
}

// tighten makes writes of unknown outcome cheap to judge without changing the answer. It works on keys that are only
// written, read and deleted. A write of unknown outcome whose value no read returned may as well never have happened:
// were it in a legal order, no read could stand between it and the next write. A write whose value only it wrote, and
// that a read returned, took effect before that read ended.
func tighten(ops []placed) []placed {
	simple, unknown := true, false
	for i := range ops {
		simple = simple && ops[i].simple
		unknown = unknown || ops[i].call.kind == write && ops[i].to == forever
	}
	if !simple || !unknown {
		return ops
	}
	writers := map[string]int{}
	firstRead := map[string]int64{}
	for i := range ops {
		switch p := &ops[i]; {
		case p.call.kind == write:
			writers[p.call.value]++
		case p.call.kind == read && p.reply.found:
			if at, seen := firstRead[p.reply.value]; !seen || p.to < at {
				firstRead[p.reply.value] = p.to
			}
		}
	}
	out := make([]placed, 0, len(ops))
	for _, p := range ops {
		if p.call.kind == write && p.to == forever {
			at, seen := firstRead[p.call.value]
			if !seen {
				continue
			}
			// A read that ended before the write began is a violation already; the interval must stay one.
			if writers[p.call.value] == 1 && at > p.from {
				p.to = at
			}
		}
		out = append(out, p)
	}
	return out
}

// bySize orders keys by the number of their operations: the smallest conflict is found first.
func bySize(keys map[string][]placed) []string {
	return slices.SortedFunc(maps.Keys(keys), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(keys[a]), len(keys[b])), cmp.Compare(a, b))
	})
}

// search asks whether the operations of one key have a legal order.
func search(ops []placed, b *linear.Budget) linear.Answer {
	ops = tighten(ops)
	if answer, ok := unambiguous(ops, b); ok {
		return answer
	}
	// Preparing a long history is work too, and the search for evidence does it again and again.
	if !b.SpendAll(len(ops)) {
		return linear.Undecided
	}
	list, classes := asOps(ops)
	answer, _ := linear.Search(list, modelOf(step, classes), b)
	return answer
}

// unambiguous decides keys that are only written and read, each value being written once.
func unambiguous(ops []placed, b *linear.Budget) (linear.Answer, bool) {
	accesses, count, ok := asAccesses(ops)
	if !ok {
		return linear.Undecided, false
	}
	answer, _, ok := linear.Zones(accesses, count)
	if ok && !b.SpendAll(len(ops)) {
		return linear.Undecided, true
	}
	return answer, ok
}

// asAccesses puts the operations of a key that is only written and read in terms of values, which it counts.
func asAccesses(ops []placed) (accesses []linear.Access, count int, ok bool) {
	for i := range ops {
		if !ops[i].simple || ops[i].call.kind == remove {
			return nil, 0, false
		}
	}
	values := map[string]int32{}
	accesses = make([]linear.Access, len(ops))
	for i := range ops {
		p := &ops[i]
		a := linear.Access{Write: p.call.kind == write, Call: p.from, Return: p.to}
		value := p.call.value
		if !a.Write {
			value = p.reply.value
		}
		if a.Write || p.reply.found {
			v, seen := values[value]
			if !seen {
				v = int32(len(values) + 1)
				values[value] = v
			}
			a.Value = v
		}
		accesses[i] = a
	}
	return accesses, len(values) + 1, true
}

type stepFunc func(state, call, reply) (bool, state)

// modelOf is the specification of one key for a search. Operations of one class do the same, and classes has one of each.
func modelOf(step stepFunc, classes []*placed) linear.Spec[state] {
	spec := linear.Spec[state]{
		Step: func(s state, c int32) (state, bool) {
			ok, next := step(s, classes[c].call, classes[c].reply)
			return next, ok
		},
		Bytes: func(s state) int64 { return int64(len(s.value)) },
	}
	if growing(classes) {
		return forgetful(spec, classes)
	}
	return spec
}

// growing reports whether a key is only read, written and appended to.
func growing(classes []*placed) bool {
	grows := false
	for _, c := range classes {
		switch c.call.kind {
		case grow:
			grows = true
		case read, write:
		default:
			return false
		}
	}
	return grows
}

// unread is the state of a growing key that is certainly not read before the next write.
var unread = state{found: false, value: "unread"}

// forgetful makes one state of all those that are no beginning of a value that was read: whatever is appended to them,
// no client can read the key before it is written again. It leaves answers as they are, and few states.
func forgetful(spec linear.Spec[state], classes []*placed) linear.Spec[state] {
	var values []string
	for _, c := range classes {
		if c.call.kind == read && c.reply.found {
			values = append(values, c.reply.value)
		}
	}
	slices.Sort(values)
	step := spec.Step
	spec.Step = func(s state, c int32) (state, bool) {
		if s == unread {
			switch classes[c].call.kind {
			case read:
				return s, !classes[c].reply.known
			case grow:
				return s, true
			}
		}
		next, ok := step(s, c)
		if next.found {
			// Of all values with this beginning, the first in order is the first that does not come before it.
			if i, _ := slices.BinarySearch(values, next.value); i == len(values) || !strings.HasPrefix(values[i], next.value) {
				next = unread
			}
		}
		return next, ok
	}
	return spec
}

// brief says what sets an operation's class apart, with texts as numbers. It is found much faster than its texts are.
type brief struct {
	what                 uint32 // kind, and what is known
	value, expect, reply int32
	delta                int64
}

func (b brief) hash() uint64 {
	const golden = 0x9e3779b97f4a7c15
	h := (uint64(b.what)<<32 | uint64(uint32(b.value))) * golden
	h = (h ^ h>>32 ^ (uint64(uint32(b.expect))<<32 | uint64(uint32(b.reply)))) * golden
	h = (h ^ h>>32 ^ uint64(b.delta)) * golden
	return h ^ h>>32
}

// asOps puts operations in terms of a search, and lists the first one of each class.
func asOps(ops []placed) ([]linear.Op, []*placed) {
	texts := map[string]int32{}
	number := func(text string) int32 {
		if text == "" {
			return -1
		}
		n, seen := texts[text]
		if !seen {
			n = int32(len(texts))
			texts[text] = n
		}
		return n
	}
	few := min(len(ops), 64)
	classes, briefs := make([]*placed, 0, few), make([]brief, 0, few) // by class
	// The class at each hash, or none; at most half of the table is used.
	const none = 0
	index := make([]int32, 2<<bits.Len(uint(len(ops))))
	mask := uint64(len(index) - 1)
	out := make([]linear.Op, len(ops))
	for i := range ops {
		c, r := &ops[i].call, &ops[i].reply
		b := brief{uint32(c.kind), number(c.value), number(c.expect), number(r.value), c.delta}
		if r.known {
			b.what |= 1 << 8
		}
		if r.found {
			b.what |= 1 << 9
		}
		if c.noValue {
			b.what |= 1 << 10
		}
		if c.noExpect {
			b.what |= 1 << 11
		}
		at := b.hash() & mask
		for index[at] != none && briefs[index[at]-1] != b {
			at = (at + 1) & mask
		}
		if index[at] == none {
			classes, briefs = append(classes, &ops[i]), append(briefs, b)
			index[at] = int32(len(classes))
		}
		out[i] = linear.Op{Call: ops[i].from, Return: ops[i].to, Class: index[at] - 1, ReadOnly: c.kind == read ||
			r.known && (c.kind == cas && r.value == "false" || c.kind == remove && r.value == "0")}
	}
	return out, classes
}

// covered checks what a verdict of "holds" rests on; it returns the reason why the history proves too little.
func (h *registers) covered(list []string, ops []history.Operation) string {
	set, _ := judged(list)
	var total, ok uint64
	succeeded := map[kind]bool{}
	for i := range ops {
		o := &ops[i]
		k := kindOf(o.Op)
		if !set[k] || !h.left.judges(o.Key) {
			continue
		}
		total++
		if o.Type == history.Ok {
			ok++
			succeeded[k] = true
		}
	}
	switch {
	case total == 0 && len(list) > 0:
		return "no operation of " + strings.Join(list, ", ") + " was reported"
	case total == 0:
		return "no operation was reported"
	case ok*1_000_000 < total*minOkPPM || ok == 0:
		return fmt.Sprintf("only %d of %d operations succeeded", ok, total)
	}
	for _, op := range list {
		if !succeeded[kindOf(op)] {
			return fmt.Sprintf("no %s succeeded", op)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(h.keys)) {
		if exercised(tighten(h.keys[key])) {
			return ""
		}
	}
	return "no key was written and then read, so no result could have been wrong"
}

// exercised reports whether a judged result on this key came after something else that may have changed the key.
func exercised(ops []placed) bool {
	first, second := int64(forever), int64(forever) // the two earliest starts of operations that are not reads
	for i := range ops {
		switch p := &ops[i]; {
		case p.call.kind == read:
		case p.from < first:
			first, second = p.from, first
		case p.from < second:
			second = p.from
		}
	}
	for i := range ops {
		p, other := &ops[i], first
		if p.from == first {
			other = second
		}
		writes := p.call.kind == write || p.call.kind == grow || (p.call.kind == remove || p.call.kind == incr) && p.reply.value == ""
		if p.reply.known && !writes && other < p.to {
			return true
		}
	}
	return false
}
