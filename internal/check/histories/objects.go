package histories

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/values"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// verb is the effect of an operation on an object.
type verb uint8

const (
	foreign verb = iota
	put          // set: add an element; queue, append-list: put a value at the end; counter: add
	take         // set: remove an element; queue: take the first value; counter: subtract
	has          // set: is an element in it?
	look         // set, append-list: all elements; counter: the number
	acquire      // lock
	release      // lock
)

// object is a type of object with a sequential specification. Each key is one object, and starts empty.
type object struct {
	verbs map[string]verb
	// place reads what the operation asked and learned.
	place func(a *act) error
	// step is the specification. States are texts that only step understands; empty is the first one.
	step func(state string, a *act) (string, bool)
	// fast decides histories of one key without a search, or answers Undecided.
	fast func(acts []act, b *linear.Budget) (linear.Answer, conflict)
}

// act is an operation on an object.
type act struct {
	op       *history.Operation
	verb     verb
	from, to int64
	known    bool     // its result is known and judged
	value    string   // what it puts, takes, looks for, or who acquires; what a queue gave
	result   string   // set: "true", "false" or empty; counter: the number or empty; lock: "false" if it was taken
	items    []string // what a read of the whole object saw
	delta    int64    // counter
	none     bool     // queue: it was empty
}

// What may be wrong with an operation on an object: its name.
var (
	objectOrder = failure.Declare("object/no-order") // and what result it had
	neverPut    = failure.Declare("object/never-put-in")
	setBoth     = failure.Declare("set/contradiction") // of two reads
	setTwiceIn  = failure.Declare("set/twice")
	listTwice   = failure.Declare("list/twice")
	putBehind   = failure.Declare("object/behind") // the first operation, and the one that it is behind of
	queueEmpty  = failure.Declare("queue/empty")
	takenTwice  = failure.Declare("queue/taken-twice")
	takenEarly  = failure.Declare("queue/taken-early")
	passedOver  = failure.Declare("queue/passed-over")
	overtaken   = failure.Declare("queue/overtaken")
	lockTwice   = failure.Declare("lock/acquired-twice")
	lockHeld    = failure.Declare("lock/not-released")
	lockNotHeld = failure.Declare("lock/released-unheld")
	lockRefused = failure.Declare("lock/refused")
	lockBoth    = failure.Declare("lock/held-twice")
)

// conflict is why a history is illegal: in words, and the operations that show it.
type conflict struct {
	failure.Claim
	acts []int
}

var objects = map[string]*object{
	"set": {
		verbs: map[string]verb{"add": put, "insert": put, "remove": take, "delete": take, "del": take, "contains": has, "has": has,
			"read": look, "get": look, "members": look},
		place: placeSet, step: stepSet, fast: fastSet,
	},
	"queue": {
		verbs: map[string]verb{"enqueue": put, "push": put, "send": put, "dequeue": take, "pop": take, "receive": take},
		place: placeQueue, step: stepQueue, fast: fastQueue,
	},
	"lock": {
		verbs: map[string]verb{"acquire": acquire, "lock": acquire, "release": release, "unlock": release},
		place: placeLock, step: stepLock, fast: fastLock,
	},
	"counter": {
		verbs: map[string]verb{"add": put, "incr": put, "incrby": put, "decr": take, "decrby": take, "read": look, "get": look},
		place: placeCounter, step: stepCounter, fast: fastCounter,
	},
	"append-list": {
		verbs: map[string]verb{"append": put, "push": put, "read": look, "get": look},
		place: placeList, step: stepList, fast: fastList,
	},
}

// knows reports which operation of a property is none of the object's.
func (ob *object) knows(p *world.Property) error {
	for _, name := range p.Check.Operations {
		if ob.verbs[strings.ToLower(name)] == foreign {
			return fmt.Errorf("operation %q is not supported by a %s; use one of %s", name, p.Check.Model,
				strings.Join(slices.Sorted(maps.Keys(ob.verbs)), ", "))
		}
	}
	return nil
}

// objectsHold judges a history against a model of objects, key by key.
func objectsHold(p *world.Property, ob *object, ops []history.Operation) verdict.Verdict {
	if err := ob.knows(p); err != nil {
		return verdict.Undecided(p, "%v", err)
	}
	h := ob.read(&p.Check, ops)
	v := verdict.New(p)
	v.LeftOut = h.left.lines()
	budget := linear.NewBudget(MaxSteps, MaxBytes, MaxWall)
	exhausted := ""
	for _, key := range slices.Sorted(maps.Keys(h.keys)) {
		switch answer, c := ob.decide(h.keys[key], budget); answer {
		case linear.Illegal:
			return ob.refuted(v, key, h.keys[key], c)
		case linear.Undecided:
			exhausted = fmt.Sprintf("budget: could not order %d operations on %s %q within %s; use more keys, fewer clients or "+
				"a shorter workload", len(h.keys[key]), p.Check.Model, key, budget.Reached)
		}
	}
	unjudged := h.left.unjudged(&p.Check, len(h.keys))
	switch {
	case exhausted != "":
		v.Reason = exhausted
	case unjudged != "":
		v.Reason = unjudged
	default:
		if v.Reason = ob.thin(p, &h); v.Reason != "" {
			h.left.blame(&v)
			break
		}
		v.Status = verdict.Holds
	}
	return v
}

// thin is why a legal history proves too little, or nothing.
func (ob *object) thin(p *world.Property, h *objectHistory) string {
	switch {
	case h.total == 0:
		return fmt.Sprintf("no operation of a %s was reported", p.Check.Model)
	case h.succeeded == 0 || h.succeeded*1_000_000 < h.total*minOkPPM:
		return fmt.Sprintf("only %d of %d operations succeeded", h.succeeded, h.total)
	}
	for _, name := range p.Check.Operations {
		if !h.okOf[ob.verbs[strings.ToLower(name)]] {
			return fmt.Sprintf("no %s succeeded", name)
		}
	}
	for _, acts := range h.keys {
		if tested(acts) {
			return ""
		}
	}
	return "nothing was read after it was changed, so no result could have been wrong"
}

// objectHistory is a history in terms of a model of objects.
type objectHistory struct {
	keys             map[string][]act
	left             leftOut
	total, succeeded int           // operations that are judged, and those of them that succeeded
	okOf             map[verb]bool // that succeeded
}

// read puts operations in terms of the model. Keys on which that cannot be done are left out.
func (ob *object) read(c *world.Check, ops []history.Operation) objectHistory {
	judges := map[verb]bool{}
	for _, name := range c.Operations {
		judges[ob.verbs[strings.ToLower(name)]] = true
	}
	all := len(c.Operations) == 0
	h := objectHistory{keys: map[string][]act{}, left: newLeftOut(), okOf: map[verb]bool{}}
	sizes := sizeOfKeys(ops)
	strange := map[string]*history.Operation{}
	null, empty := map[string]*history.Operation{}, map[string]*history.Operation{} // of a queue, by key: null was put in, and a take found nothing
	for i := range ops {
		o := &ops[i]
		w := ob.verbs[strings.ToLower(o.Op)]
		if w == foreign {
			switch {
			case o.Type == history.Fail:
			case !all:
				h.left.otherOps[o.Op]++
			case strange[o.Key] == nil:
				strange[o.Key] = o
			}
			continue
		}
		if !h.left.chooses(c, o) || h.left.keys[o.Key].reason != "" {
			continue
		}
		looks := w == look || w == has
		if o.Type == history.Fail || looks && (o.Type != history.Ok || !all && !judges[w]) {
			continue
		}
		a := act{op: o, verb: w, from: int64(o.Call), to: linear.Forever, value: o.Input}
		if o.Return != history.Pending {
			// The value that a queue gave is part of the operation, not only of its result.
			a.to, a.known = int64(o.Return), all || judges[w] || ob == objects["queue"]
		}
		if err := ob.place(&a); err != nil {
			h.left.keys[o.Key] = broken(o, err, sizes[o.Key])
			continue
		}
		if ob == objects["queue"] && w == put && o.NoInput {
			null[o.Key] = o
		}
		if a.none {
			empty[o.Key] = o
		}
		if h.keys[o.Key] == nil {
			h.keys[o.Key] = make([]act, 0, sizes[o.Key])
		}
		h.keys[o.Key] = append(h.keys[o.Key], a)
	}
	for key, put := range null {
		if took := empty[key]; took != nil {
			h.left.keys[key] = omission{"null was enqueued, so a dequeue may have returned it or found the queue empty",
				fmt.Sprintf("null was enqueued at event %d, so the %s at event %d may have returned it or found the queue empty",
					put.Call, took.Op, took.Call), sizes[key]}
		}
	}
	h.left.foreign(c, strange, sizes, "operation %q is not supported by a "+c.Model, func(key string) bool { return h.keys[key] != nil })
	for key := range h.left.keys {
		delete(h.keys, key)
	}
	for i := range ops {
		o := &ops[i]
		if w := ob.verbs[strings.ToLower(o.Op)]; w != foreign && (all || judges[w]) && h.left.judges(o.Key) {
			h.total++
			if o.Type == history.Ok {
				h.succeeded++
				h.okOf[w] = true
			}
		}
	}
	return h
}

// putIn is the value that an operation puts into a set, list or queue, takes or looks for. Null is a value too.
func putIn(o *history.Operation) string {
	if o.NoInput {
		return values.Null
	}
	return o.Input
}

// tested reports whether some result could have been wrong because of another operation that changed the key.
func tested(acts []act) bool {
	first, second := int64(linear.Forever), int64(linear.Forever) // the earliest starts of changes
	for i := range acts {
		switch a := &acts[i]; {
		case a.verb == look || a.verb == has || a.none:
		case a.from < first:
			first, second = a.from, first
		case a.from < second:
			second = a.from
		}
	}
	for i := range acts {
		a, other := &acts[i], first
		if a.from == first {
			other = second
		}
		tells := a.verb == look || a.verb == has || a.verb == acquire || a.verb == take && (a.value != "" || a.none) || a.result != ""
		if a.known && tells && other < a.to {
			return true
		}
	}
	return false
}

// decide asks whether the operations of one key have a legal order.
func (ob *object) decide(acts []act, b *linear.Budget) (linear.Answer, conflict) {
	if ob.fast != nil {
		if answer, c := ob.fast(acts, b); answer != linear.Undecided || b.Reached != "" {
			return answer, c
		}
	}
	return ob.search(acts, b)
}

func (ob *object) search(acts []act, b *linear.Budget) (linear.Answer, conflict) {
	type class struct {
		verb                 verb
		known, none          bool
		delta                int64
		value, result, items string
	}
	number := map[class]int32{}
	var classes []*act
	ops := make([]linear.Op, len(acts))
	for i := range acts {
		a := &acts[i]
		same := class{a.verb, a.known, a.none, a.delta, a.value, a.result, join(a.items)}
		c, seen := number[same]
		if !seen {
			c = int32(len(classes))
			number[same], classes = c, append(classes, a)
		}
		ops[i] = linear.Op{Call: a.from, Return: a.to, Class: c, ReadOnly: a.verb == look || a.verb == has || a.none || a.result == "false"}
	}
	answer, culprit := linear.Search(ops, linear.Spec[string]{
		Step:  func(s string, c int32) (string, bool) { return ob.step(s, classes[c]) },
		Bytes: func(s string) int64 { return int64(len(s)) },
	}, b)
	if answer != linear.Illegal {
		return answer, conflict{}
	}
	if culprit < 0 {
		return answer, conflict{Claim: objectOrder.Cause().Claim("no order of the operations explains all their results")}
	}
	by := &acts[culprit]
	c := conflict{objectOrder.Cause(by.op.Op, by.sortOfOutcome()).Claim("no order of the operations explains %s", by.outcome()), []int{culprit}}
	// What it conflicts with is among those that were there before it returned; the last ones show most.
	for i := len(acts) - 1; i >= 0 && len(c.acts) < verdict.MaxEvidence; i-- {
		if i != culprit && acts[i].from < acts[culprit].to {
			c.acts = append(c.acts, i)
		}
	}
	return answer, c
}

func (ob *object) refuted(v verdict.Verdict, key string, acts []act, c conflict) verdict.Verdict {
	v.Violate(0, 0, c.Cause.Claim("not linearizable: key %q: %s", key, c.Words))
	slices.SortFunc(c.acts, func(i, j int) int { return int(acts[i].from - acts[j].from) })
	for _, i := range c.acts {
		a := &acts[i]
		if a.op.Return != history.Pending && a.op.Return > v.Event {
			v.Event, v.TimeNs = a.op.Return, a.op.ReturnTimeNs
		}
		v.Evidence = append(v.Evidence, describe(*a.op, a.outcome(), false))
	}
	return v
}

// outcome is an operation with its result in words.
func (a *act) outcome() string {
	text := a.op.Op
	if a.op.Input != "" {
		text += " " + verdict.Shorten(a.op.Input)
	}
	switch {
	case a.op.Type != history.Ok:
	case a.none:
		text += " -> nothing"
	case a.op.Output != "":
		text += " -> " + verdict.Shorten(a.op.Output)
	}
	return text
}

// sortOfOutcome tells operations by what result they had.
func (a *act) sortOfOutcome() string {
	switch {
	case a.op.Type != history.Ok:
		return "none"
	case a.none:
		return "nothing"
	case a.op.Output != "":
		return "value"
	}
	return "none"
}

// elements reads a list of values: a JSON array, or a set or a tagged list of EDN. Its texts and numbers are values as drivers write them: a text
// is the value that is spelt so.
func elements(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if text[0] == '#' {
		text = untagged(text)
	}
	var raw []json.RawMessage
	if list, ok := scanElements(text, unquoted); ok {
		return list, nil
	} else if json.Unmarshal([]byte(text), &raw) != nil {
		return nil, noList(text)
	}
	list := make([]string, len(raw))
	for i, r := range raw {
		if r[0] == '"' {
			if err := json.Unmarshal(r, &list[i]); err != nil {
				return nil, err
			}
			continue
		}
		var b bytes.Buffer
		if err := json.Compact(&b, r); err != nil {
			return nil, err
		}
		list[i] = b.String()
	}
	return list, nil
}

func noList(text string) error {
	return fmt.Errorf("output %s is not a list; write it as [1,2]", verdict.Shorten(text))
}

// untagged is a list of EDN without its tag: #{1,2}, a set, and #queue [1,2] are [1,2].
func untagged(text string) string {
	if rest, isSet := strings.CutPrefix(text, "#{"); isSet && strings.HasSuffix(rest, "}") {
		return "[" + rest[:len(rest)-1] + "]"
	}
	if _, list, ok := strings.Cut(text, " "); ok && list != "" && (list[0] == '[' || list[0] == '#') {
		if list[0] == '#' {
			return untagged(list)
		}
		return list
	}
	return text
}

// unquoted is a value of JSON without the quotes of a text, which has no escapes.
func unquoted(raw string) string {
	if raw[0] == '"' {
		return raw[1 : len(raw)-1]
	}
	return raw
}

// plainElements are the values of an array, each spelt as plain spells it, if all are plain.
func plainElements(text string) (list []string, ok bool) { return scanElements(text, plain) }

// scanElements reads an array of plain values, as nearly all are, in one pass. It answers no where it is not sure.
func scanElements(text string, spell func(raw string) string) (list []string, ok bool) {
	s := plainScan{text: text}
	list = make([]string, 0, strings.Count(text, ",")+1)
	ok = s.array(func() bool {
		from := s.at
		if !s.value() {
			return false
		}
		list = append(list, spell(text[from:s.at]))
		return true
	})
	return list, ok && s.at == len(text)
}

// plainScan goes through JSON that is plain: arrays of texts without escapes, of integers, and of true, false and null.
type plainScan struct {
	text string
	at   int
}

// next is the byte that is looked at, 0 at the end.
func (s *plainScan) next() byte {
	if s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

func (s *plainScan) space() {
	for s.next() == ' ' {
		s.at++
	}
}

// end goes over space and then the given byte, if it is next.
func (s *plainScan) end(c byte) bool {
	if s.space(); s.next() != c {
		return false
	}
	s.at++
	return true
}

// word goes over a word, if it is next.
func (s *plainScan) word(w string) bool {
	if !strings.HasPrefix(s.text[s.at:], w) {
		return false
	}
	s.at += len(w)
	return true
}

// array reads an array, each item by the function.
func (s *plainScan) array(item func() bool) bool {
	if s.next() != '[' {
		return false
	}
	s.at++
	if s.space(); s.next() == ']' {
		s.at++
		return true
	}
	for {
		if !item() {
			return false
		}
		s.space()
		end := s.next() == ']'
		if !end && s.next() != ',' {
			return false
		}
		if s.at++; end {
			return true
		}
		s.space()
	}
}

// value reads a value that is no array.
func (s *plainScan) value() bool {
	from := s.at
	switch c := s.next(); {
	case c == '"':
		for s.at++; s.next() != '"'; s.at++ {
			if s.next() == '\\' || s.next() < ' ' {
				return false
			}
		}
		s.at++
		return true
	case c == '-' || c >= '0' && c <= '9':
		if c == '-' {
			s.at++
		}
		digits := s.at
		for s.next() >= '0' && s.next() <= '9' {
			s.at++
		}
		if s.at == digits || s.text[digits] == '0' && s.at > digits+1 {
			return false
		}
		return c != '-' || s.text[digits] != '0' // -0 is 0
	}
	for _, word := range [...]string{"null", "true", "false"} {
		if strings.HasPrefix(s.text[from:], word) {
			s.at += len(word)
			return true
		}
	}
	return false
}

// A state that is a list of values is written as their quoted forms, one after the other.
func join(list []string) string {
	var b strings.Builder
	for _, v := range list {
		b.WriteString(strconv.Quote(v))
	}
	return b.String()
}

func split(state string) []string {
	var list []string
	for state != "" {
		quoted, err := strconv.QuotedPrefix(state)
		if err != nil {
			panic("check: no list of values: " + state)
		}
		v, _ := strconv.Unquote(quoted)
		list = append(list, v)
		state = state[len(quoted):]
	}
	return list
}

// yesNo reads a result that may be left out.
func yesNo(output string) (string, error) {
	switch strings.ToLower(output) {
	case "":
		return "", nil
	case "true", "1":
		return "true", nil
	case "false", "0":
		return "false", nil
	}
	return "", fmt.Errorf("output %s is not true or false", verdict.Shorten(output))
}

func placeSet(a *act) (err error) {
	a.value = putIn(a.op)
	if !a.known {
		return nil
	}
	if a.verb != look {
		a.result, err = yesNo(a.op.Output)
		if err == nil && a.verb == has && a.result == "" {
			err = fmt.Errorf("no output; it must be true or false")
		}
		return err
	}
	a.items, err = elements(a.op.Output)
	slices.Sort(a.items)
	return err
}

func stepSet(s string, a *act) (string, bool) {
	if a.verb == look {
		return s, s == join(a.items)
	}
	list := split(s)
	at, in := slices.BinarySearch(list, a.value)
	told := a.known && a.result != ""
	switch {
	case a.verb == has:
		return s, !told || a.result == strconv.FormatBool(in)
	case told && a.result != strconv.FormatBool(in == (a.verb == take)):
		return s, false
	case a.verb == put && !in:
		return join(slices.Insert(list, at, a.value)), true
	case a.verb == take && in:
		return join(slices.Delete(list, at, at+1)), true
	}
	return s, true
}

// fastSet decides sets that no operation reads as a whole, element by element, and sets that only grow, by their levels.
func fastSet(acts []act, b *linear.Budget) (linear.Answer, conflict) {
	looks, grows := false, true
	byElement := map[string][]int{}
	for i, a := range acts {
		looks = looks || a.verb == look
		grows = grows && (a.verb == look || a.verb == put && a.result != "false")
		if a.verb != look {
			byElement[a.value] = append(byElement[a.value], i)
		}
	}
	if looks && grows {
		return fastGrowing(acts, byElement, b, false)
	}
	if looks {
		return linear.Undecided, conflict{}
	}
	result := linear.Legal
	for _, element := range slices.Sorted(maps.Keys(byElement)) {
		part := make([]act, 0, len(byElement[element]))
		for _, i := range byElement[element] {
			part = append(part, acts[i])
		}
		answer, c := (&object{step: stepSet}).search(part, b)
		if answer == linear.Illegal {
			for k := range c.acts {
				c.acts[k] = byElement[element][c.acts[k]]
			}
			return answer, c
		}
		if answer == linear.Undecided {
			result = answer
		}
	}
	return result, conflict{}
}

// fastGrowing decides sets and lists into which each value is put once and from which nothing is taken: what was seen
// of them must be a chain, and returns for each value between which looks it was put in.
func fastGrowing(acts []act, byElement map[string][]int, b *linear.Budget, ordered bool) (linear.Answer, conflict) {
	var looks []int
	size := len(acts)
	for i, a := range acts {
		switch {
		case a.verb == look:
			looks = append(looks, i)
			size += len(a.items)
		case len(byElement[a.value]) > 1:
			return linear.Undecided, conflict{}
		}
	}
	if !b.SpendAll(size) {
		return linear.Undecided, conflict{}
	}
	slices.SortStableFunc(looks, func(i, j int) int { return len(acts[i].items) - len(acts[j].items) })
	level := map[string]int{} // of what was seen
	const last = 1 << 60
	var steps []linear.Step
	var from []int // the act of each step
	prev := -1
	for k, i := range looks {
		a := &acts[i]
		if prev >= 0 && !contains(a.items, acts[prev].items, ordered) {
			return linear.Illegal, conflict{setBoth.Cause(acts[prev].op.Op, a.op.Op).Claim("%s and %s cannot both be right: neither can come before the other",
				acts[prev].outcome(), a.outcome()), []int{prev, i}}
		}
		fresh := 0
		if ordered {
			fresh = lenOf(acts, prev) // what comes before was seen
		}
		for at, v := range a.items[fresh:] {
			if !ordered && at > 0 && a.items[at-1] == v {
				return linear.Illegal, conflict{setTwiceIn.Cause(a.op.Op).Claim("%s holds %s twice", a.outcome(), verdict.Shorten(v)), []int{i}}
			}
			if _, seen := level[v]; seen && !ordered {
				continue
			} else if seen {
				return linear.Illegal, conflict{
					listTwice.Cause(a.op.Op).Claim("%s holds %s twice, which was put in once", a.outcome(), verdict.Shorten(v)), []int{i}}
			}
			put, ok := byElement[v]
			if !ok {
				return linear.Illegal, conflict{neverPut.Cause(a.op.Op).Claim("%s holds %s, which was never put in", a.outcome(), verdict.Shorten(v)),
					[]int{i}}
			}
			level[v] = 2 * k
			if ordered {
				level[v] = 2 * (fresh + at)
			}
			steps, from = append(steps, linear.Step{Level: level[v], Call: acts[put[0]].from, Return: acts[put[0]].to}), append(from, put[0])
		}
		at := 2*k + 1
		if ordered {
			at = 2*len(a.items) - 1
		} else if prev >= 0 && len(acts[prev].items) == len(a.items) {
			at = steps[len(steps)-1].Level // the same set as before
		}
		steps, from = append(steps, linear.Step{Level: at, Call: a.from, Return: a.to}), append(from, i)
		prev = i
	}
	for i, a := range acts {
		if _, seen := level[a.value]; a.verb == put && !seen && a.to != linear.Forever {
			steps, from = append(steps, linear.Step{Level: last, Call: a.from, Return: a.to}), append(from, i)
		}
	}
	answer, pair := linear.Levels(steps)
	if answer == linear.Legal {
		return answer, conflict{}
	}
	lower, higher := from[pair[0]], from[pair[1]]
	return answer, conflict{putBehind.Cause(acts[higher].op.Op,
		acts[lower].op.Op).Claim("%s returned before %s began, but the results put it later", acts[higher].outcome(),
		acts[lower].outcome()), []int{lower, higher}}
}

func lenOf(acts []act, i int) int {
	if i < 0 {
		return 0
	}
	return len(acts[i].items)
}

// contains reports whether big begins with small, or, for sets in order, has all of its items.
func contains(big, small []string, ordered bool) bool {
	if ordered {
		return len(big) >= len(small) && slices.Equal(big[:len(small)], small)
	}
	for len(small) > 0 && len(big) >= len(small) {
		switch {
		case big[0] == small[0]:
			small = small[1:]
		case big[0] > small[0]:
			return false
		}
		big = big[1:]
	}
	return len(small) == 0
}

func placeQueue(a *act) error {
	switch {
	case a.verb == put:
		a.value = putIn(a.op)
		return nil
	case a.op.Type != history.Ok:
		return nil
	case a.op.Output == "" && !a.op.Found:
		a.value, a.none = "", true
		return nil
	}
	a.value = a.op.Output
	return nil
}

func stepQueue(s string, a *act) (string, bool) {
	list := split(s)
	switch {
	case a.verb == put:
		return join(append(list, a.value)), true
	case a.none:
		return s, len(list) == 0
	case !a.known: // it took what was first, or found nothing
		return join(list[min(1, len(list)):]), true
	case len(list) == 0 || list[0] != a.value:
		return s, false
	}
	return join(list[1:]), true
}

// fastQueue decides queues into which each value is put once. A take of unknown outcome may have taken any one value.
func fastQueue(acts []act, b *linear.Budget) (linear.Answer, conflict) {
	if !b.SpendAll(len(acts)) {
		return linear.Undecided, conflict{}
	}
	ways := map[string]*way{}
	var values []string
	var empties []linear.Span
	var emptyActs []int
	var unknown []int64 // the calls of takes of unknown outcome
	for i, a := range acts {
		if a.verb == put {
			if ways[a.value] != nil {
				return linear.Undecided, conflict{}
			}
			ways[a.value] = &way{i, -1}
			values = append(values, a.value)
		}
	}
	for i, a := range acts {
		switch {
		case a.verb == put:
		case !a.known:
			unknown = append(unknown, a.from)
		case a.none:
			empties, emptyActs = append(empties, linear.Span{Call: a.from, Return: a.to}), append(emptyActs, i)
		case ways[a.value] == nil:
			return linear.Illegal, conflict{neverPut.Cause(a.op.Op).Claim("%s: that was never put in", a.outcome()), []int{i}}
		case ways[a.value].out >= 0:
			return linear.Illegal, conflict{takenTwice.Cause().Claim("%s was taken twice and put in once", verdict.Shorten(a.value)),
				[]int{ways[a.value].in, ways[a.value].out, i}}
		default:
			ways[a.value].out = i
		}
	}
	var passages []linear.Passage
	var names []*way
	for _, v := range values {
		w := ways[v]
		in := acts[w.in]
		p := linear.Passage{In: linear.Span{Call: in.from, Return: in.to}}
		if w.out >= 0 {
			p.Out = &linear.Span{Call: acts[w.out].from, Return: acts[w.out].to}
		} else if in.to == linear.Forever {
			continue // it may as well never have been put in
		}
		passages, names = append(passages, p), append(names, w)
	}
	answer, pair, empty := linear.Queue(passages, empties)
	if answer == linear.Legal {
		return answer, conflict{}
	}
	if len(unknown) > 0 {
		if answer = withUnknown(passages, empties, unknown); answer != linear.Illegal {
			return answer, conflict{}
		}
	}
	c := queueConflict(acts, names, pair)
	if len(pair) == 0 {
		e := empties[empty]
		c.acts = append(c.acts, emptyActs[empty])
		for k, p := range passages {
			if len(c.acts) < verdict.MaxEvidence && p.In.Return < e.Return && (p.Out == nil || p.Out.Call > e.Call) {
				c.acts = names[k].appendTo(c.acts)
			}
		}
	}
	return linear.Illegal, c
}

// way is a value's way through a queue: the acts that put it in and took it out, the latter -1 if it is still there.
type way struct{ in, out int }

func (w *way) appendTo(acts []int) []int {
	if acts = append(acts, w.in); w.out >= 0 {
		acts = append(acts, w.out)
	}
	return acts
}

// queueConflict explains an illegal queue by one value or two that contradict it; without any it was found empty.
func queueConflict(acts []act, names []*way, pair []int) conflict {
	c := conflict{Claim: queueEmpty.Cause().Claim("the queue was found empty, although something was in it all the time")}
	for _, k := range pair {
		c.acts = names[k].appendTo(c.acts)
	}
	in := func(k int) string { return verdict.Shorten(acts[names[pair[k]].in].value) }
	switch {
	case len(pair) == 1:
		c.Claim = takenEarly.Cause().Claim("%s was taken before it was put in", in(0))
	case len(pair) == 2 && names[pair[0]].out < 0:
		c.Claim = passedOver.Cause().Claim("%s was taken, but %s, which was put in before it, was not", in(1), in(0))
	case len(pair) == 2:
		c.Claim = overtaken.Cause().Claim("%s was taken before %s, which was put in before it", in(1), in(0))
	}
	return c
}

// withUnknown decides a queue of which takes of unknown outcome may have taken what no other take took. A value must have
// been taken so if one that was put in behind it was taken; the takes that were called first go to the values that
// must be out first.
func withUnknown(passages []linear.Passage, empties []linear.Span, calls []int64) linear.Answer {
	const ever = linear.Forever - 1
	slices.Sort(calls)
	// Whatever is still there may have been taken at any time: if that is illegal, all else is.
	free := slices.Clone(passages)
	for i, p := range free {
		if p.Out == nil {
			free[i].Out = &linear.Span{Call: max(p.In.Call, calls[0]), Return: ever}
		}
	}
	if answer, _, _ := linear.Queue(free, empties); answer == linear.Illegal {
		return answer
	}
	// By when each value must have been taken: before the first of those behind it was out.
	type debt struct {
		at int
		by int64
	}
	byCall := slices.Clone(passages)
	slices.SortFunc(byCall, func(x, y linear.Passage) int { return compare(x.In.Call, y.In.Call) })
	earliest := make([]int64, len(byCall)+1)
	earliest[len(byCall)] = linear.Forever
	for i := len(byCall) - 1; i >= 0; i-- {
		earliest[i] = earliest[i+1]
		if out := byCall[i].Out; out != nil {
			earliest[i] = min(earliest[i], out.Return)
		}
	}
	var debts []debt
	var rest []int
	for i, p := range passages {
		if p.Out != nil {
			continue
		}
		k := sort.Search(len(byCall), func(k int) bool { return byCall[k].In.Call > p.In.Return })
		if earliest[k] == linear.Forever {
			rest = append(rest, i)
			continue
		}
		debts = append(debts, debt{i, earliest[k]})
	}
	if len(debts) > len(calls) {
		return linear.Illegal
	}
	slices.SortFunc(debts, func(x, y debt) int { return compare(x.by, y.by) })
	paid := slices.Clone(passages)
	for i, d := range debts {
		if calls[i] >= d.by {
			return linear.Illegal
		}
		paid[d.at].Out = &linear.Span{Call: calls[i], Return: ever}
	}
	if answer, _, _ := linear.Queue(paid, empties); answer == linear.Legal {
		return answer
	}
	// Some empty queue asks for more. Values that went in first are the first to be out.
	slices.SortFunc(rest, func(i, j int) int { return compare(passages[i].In.Return, passages[j].In.Return) })
	for k, i := range rest[:min(len(rest), len(calls)-len(debts))] {
		paid[i].Out = &linear.Span{Call: calls[len(debts)+k], Return: ever}
	}
	if answer, _, _ := linear.Queue(paid, empties); answer == linear.Legal {
		return answer
	}
	return linear.Undecided
}

func compare(x, y int64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func placeLock(a *act) (err error) {
	if a.value == "" {
		a.value = a.op.Client
	}
	if a.known {
		a.result, err = yesNo(a.op.Output)
	}
	return err
}

func stepLock(s string, a *act) (string, bool) {
	owner := strconv.Quote(a.value)
	if a.verb == acquire {
		switch {
		case a.result == "false":
			return s, s != ""
		case s == "":
			return owner, true
		}
		return s, !a.known // without an outcome it may have been refused
	}
	switch {
	case a.result == "false":
		return s, s != owner
	case s == owner:
		return "", true
	}
	return s, !a.known
}

// fastLock decides locks whose owners do one thing after another and know its outcome.
func fastLock(acts []act, b *linear.Budget) (linear.Answer, conflict) {
	busy := map[string]int64{} // by owner, when the last operation had returned
	for i := range acts {
		a := &acts[i]
		if until, seen := busy[a.value]; !a.known || seen && until >= a.from {
			return linear.Undecided, conflict{}
		}
		busy[a.value] = a.to
	}
	if !b.SpendAll(len(acts)) {
		return linear.Undecided, conflict{}
	}
	type way struct{ in, out int }
	holds := map[string]int{} // by owner, the passage that is not over
	var ways []way
	var passages []linear.Passage
	var refusals []linear.Span
	var refusedActs []int
	for i := range acts {
		a := &acts[i]
		span := linear.Span{Call: a.from, Return: a.to}
		k, held := holds[a.value]
		switch {
		case a.verb == acquire && a.result == "false":
			refusals, refusedActs = append(refusals, span), append(refusedActs, i)
		case a.verb == acquire && held:
			return linear.Illegal, conflict{lockTwice.Cause().Claim("%s acquired the lock twice without releasing it in between",
				verdict.Shorten(a.value)), []int{ways[k].in, i}}
		case a.verb == acquire:
			holds[a.value] = len(ways)
			ways, passages = append(ways, way{i, -1}), append(passages, linear.Passage{In: span})
		case a.result == "false" && held:
			return linear.Illegal, conflict{
				lockHeld.Cause().Claim("%s could not release the lock, although it held it", verdict.Shorten(a.value)), []int{ways[k].in, i}}
		case a.result == "false":
		case !held:
			return linear.Illegal, conflict{lockNotHeld.Cause().Claim("%s released the lock, although it did not hold it", verdict.Shorten(a.value)), []int{i}}
		default:
			ways[k].out, passages[k].Out = i, &span
			delete(holds, a.value)
		}
	}
	answer, pair, refused := linear.Lock(passages, refusals)
	if answer == linear.Legal {
		return answer, conflict{}
	}
	if refused >= 0 {
		a := &acts[refusedActs[refused]]
		return answer, conflict{lockRefused.Cause().Claim("%s was refused the lock, although it was free", verdict.Shorten(a.value)),
			[]int{refusedActs[refused]}}
	}
	c := conflict{Claim: lockBoth.Cause().Claim("%s and %s held the lock at once",
		verdict.Shorten(acts[ways[pair[0]].in].value), verdict.Shorten(acts[ways[pair[1]].in].value))}
	for _, k := range pair {
		c.acts = append(c.acts, ways[k].in)
		if ways[k].out >= 0 {
			c.acts = append(c.acts, ways[k].out)
		}
	}
	return answer, c
}

func placeCounter(a *act) error {
	number := func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s is not an integer", verdict.Shorten(text))
		}
		return n, nil
	}
	if a.verb == look {
		a.result = a.op.Output
		if a.result == "" {
			a.result = "0"
		}
		_, err := number(a.result)
		return err
	}
	a.delta = 1
	if a.value != "" {
		n, err := number(a.value)
		if err != nil {
			return err
		}
		a.delta, a.value = n, ""
	}
	if a.verb == take {
		a.delta = -a.delta
	}
	if a.known && a.op.Output != "" {
		a.result = a.op.Output
		_, err := number(a.result)
		return err
	}
	return nil
}

func stepCounter(s string, a *act) (string, bool) {
	n, _ := strconv.ParseInt(s, 10, 64)
	if a.verb == look {
		return s, a.result == strconv.FormatInt(n, 10)
	}
	if a.delta > 0 && n > math.MaxInt64-a.delta || a.delta < 0 && n < math.MinInt64-a.delta {
		return s, !a.known // the server answers with an error and changes nothing
	}
	sum := strconv.FormatInt(n+a.delta, 10)
	return sum, !a.known || a.result == "" || a.result == sum
}

func placeList(a *act) (err error) {
	if a.verb == look {
		a.items, err = elements(a.op.Output)
	} else {
		a.value = putIn(a.op)
	}
	return err
}

func stepList(s string, a *act) (string, bool) {
	if a.verb == look {
		return s, s == join(a.items)
	}
	return s + strconv.Quote(a.value), true
}

func fastList(acts []act, b *linear.Budget) (linear.Answer, conflict) {
	byElement := map[string][]int{}
	for i, a := range acts {
		if a.verb == put {
			byElement[a.value] = append(byElement[a.value], i)
		}
	}
	return fastGrowing(acts, byElement, b, true)
}

// Reads reports whether operations of a name say what is stored. What fails of them shows nothing.
func Reads(name string) bool {
	if kindOf(name) == read || name == "txn" || objects["queue"].verbs[name] == take {
		return true
	}
	for _, ob := range objects {
		if v := ob.verbs[name]; v == look || v == has {
			return true
		}
	}
	return false
}
