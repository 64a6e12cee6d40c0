package formats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
	"github.com/bloodhound-dst/bloodhound/internal/values"
)

// ErrUnordered: the events of a file do not come in the order of their :index.
var ErrUnordered = errors.New("the events are not in the order of their indices")

// jepsen makes events of the maps in which Jepsen records them.
type jepsen struct {
	keyed   bool
	json    bool // the maps are objects of JSON, and errors name their fields so
	sorts   bool // events are kept, and made in the order of their indices at the end
	do      func(*history.Event) error
	nemesis func(NemesisEvent) error // may be nil
	line    int                      // of EDN, where the event begins
	count   int                      // events so far
	invoked map[string]string        // by client, the value of the operation in flight
	keys    map[string]string        // by client, of the operation in flight
	names   map[string]string        // clients and keys
	buf     []byte
	speller speller
	last    history.Event // here, so that none needs memory of its own
	named   bool          // events have a :process
	first   bool          // no event was read yet
	flying  []flying      // without :process: operations in flight
	refused bool          // the event is a cas that found another value
	missed  int           // events since the last one that quickTransaction read

	indexed   bool  // an event had an :index
	index     int64 // the last one
	unindexed bool  // an event that is kept has none
	unsorted  []indexedEvent
}

// indexedEvent is an event that waits for those of lower indices.
type indexedEvent struct {
	index  int64
	line   int
	fields fields
}

// fields are those of an event that are read.
type fields struct {
	process, kind, f, value, key, err, time, index ednForm

	hasValue bool // which may be nil
}

func fieldsOf(m ednMap) (f fields) {
	for i := 0; i+1 < len(m); i += 2 {
		name, _ := m[i].(ednKeyword)
		switch name {
		case "process":
			f.process = m[i+1]
		case "type":
			f.kind = m[i+1]
		case "f":
			f.f = m[i+1]
		case "value":
			f.value, f.hasValue = m[i+1], true
		case "key":
			f.key = m[i+1]
		case "error":
			f.err = m[i+1]
		case "time":
			f.time = m[i+1]
		case "index":
			f.index = m[i+1]
		}
	}
	return f
}

// NemesisEvent is an event of Jepsen's nemesis, which injects faults: a call of it, or the end of a call.
type NemesisEvent struct {
	Line   int
	TimeNs int64
	F      string
	Value  json.RawMessage // keywords as texts, sets as arrays, nil as null
}

type flying struct {
	client string
	op     string
	value  ednForm
}

func newJepsen(keyed bool, do func(*history.Event) error) *jepsen {
	return &jepsen{keyed: keyed, do: do, invoked: map[string]string{}, keys: map[string]string{}, names: map[string]string{}, first: true}
}

// placed is an error about the current event with its line, where it is EDN.
func (j *jepsen) placed(err error) error {
	if j.json {
		return err
	}
	return fmt.Errorf("line %d: %w", j.line, err)
}

// field is the name of a field, as the file spells it.
func (j *jepsen) field(name string) string {
	if j.json {
		return strconv.Quote(name)
	}
	return ":" + name
}

// add takes one event.
func (j *jepsen) add(form ednForm) error {
	m, ok := untagged(form).(ednMap)
	if strange, is := untagged(form).(ednStrange); is {
		return errors.New(strange.why)
	}
	if !ok && j.json {
		return errors.New(`not an object; each event is one, such as {"type": "invoke", "process": 0, "f": "read", "value": null}`)
	} else if !ok {
		return errors.New("not a map; each event is one, such as {:type :invoke, :process 0, :f :read, :value nil}")
	}
	f := fieldsOf(m)
	index, indexed, err := j.indexOf(f.index)
	switch {
	case err != nil:
		return err
	case j.sorts:
		if len(j.unsorted) > history.MaxEvents {
			return fmt.Errorf("the history has more than %d events, the limit", history.MaxEvents)
		}
		j.unindexed = j.unindexed || !indexed
		j.unsorted = append(j.unsorted, indexedEvent{index, j.line, f})
		return nil
	case indexed && j.indexed && index <= j.index:
		return ErrUnordered
	case indexed:
		j.indexed, j.index = true, index
	}
	return j.make(&f)
}

// indexOf is the index of an event, if it has one. An index by which events cannot be sorted is an error: their order would be another one.
func (j *jepsen) indexOf(form ednForm) (index int64, indexed bool, err error) {
	if form == nil {
		return 0, false, nil
	}
	if text, ok := form.(ednNumber); ok {
		if index, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return index, true, nil
		}
		const exact = 1 << 53 // below which a float has each whole number
		if v, err := strconv.ParseFloat(string(text), 64); err == nil && v == math.Trunc(v) && math.Abs(v) < exact {
			return int64(v), true, nil
		}
	}
	return 0, false, fmt.Errorf("%s must be a 64-bit integer, since it orders the events", j.field("index"))
}

// end makes the events that were kept. Where some have no index, they stay in the order of the file.
func (j *jepsen) end() error {
	if !j.unindexed {
		slices.SortStableFunc(j.unsorted, func(x, y indexedEvent) int { return cmp.Compare(x.index, y.index) })
	}
	for i := range j.unsorted {
		e := &j.unsorted[i]
		j.line = e.line
		if i > 0 && e.index == j.unsorted[i-1].index && !j.unindexed {
			return j.placed(fmt.Errorf("two events have the %s %d", j.field("index"), e.index))
		}
		if err := j.make(&e.fields); err != nil {
			return j.placed(err)
		}
	}
	return nil
}

// make makes one event.
func (j *jepsen) make(f *fields) error {
	e, skip, err := j.event(f)
	if err == nil {
		err = j.speller.err
	}
	if err != nil || skip {
		return err
	}
	return j.emitEvent(e)
}

// emitEvent numbers an event and passes it on.
func (j *jepsen) emitEvent(e history.Event) error {
	if j.count++; j.count > history.MaxEvents {
		return fmt.Errorf("the history has more than %d events, the limit", history.MaxEvents)
	}
	e.Number = uint64(j.count)
	j.last = e
	return j.do(&j.last)
}

func (j *jepsen) event(f *fields) (e history.Event, skip bool, err error) {
	process, value := f.process, f.value
	at, timed := timeOf(f.time)
	if j.nemesis != nil && (!timed || at < 0) {
		return e, false, fmt.Errorf("%s is %s; it must be a number of nanoseconds, at least 0 and below 2^63", j.field("time"), cmp.Or(word(f.time), "missing"))
	}
	if word(process) == "nemesis" {
		if j.nemesis != nil {
			err = j.nemesis(NemesisEvent{j.line, at, word(f.f), appendPlain(nil, value)})
		}
		return e, true, err
	}
	if j.first {
		j.named, j.first = process != nil, false
	}
	if j.named != (process != nil) {
		return e, false, fmt.Errorf("some events have a %s and others do not", j.field("process"))
	}
	e.Client = j.name(process)
	kind, _ := f.kind.(ednKeyword)
	e.Type = history.Type(kind)
	switch e.Type {
	case history.Invoke, history.Ok, history.Fail, history.Info:
	default:
		types := ":invoke, :ok, :fail, :info"
		if j.json {
			types = `"invoke", "ok", "fail", "info"`
		}
		return e, false, fmt.Errorf("%s is %s, not one of %s", j.field("type"), cmp.Or(word(f.kind), "missing"), types)
	}
	op, ok := f.f.(ednKeyword)
	switch {
	case ok && op != "":
		e.Op = string(op)
	case f.f == nil && isTransaction(value):
		e.Op = "txn"
	case f.f != nil || e.Type == history.Invoke || !j.named:
		return e, false, fmt.Errorf("no %s, the kind of operation", j.field("f"))
	}
	e.TimeNs = at
	if f.err != nil {
		e.Error = word(f.err)
	}
	if key := f.key; key != nil {
		e.Key = j.name(key)
	}
	if j.keyed && value != nil {
		if value, err = j.unkeyed(&e, value); err != nil {
			return e, false, err
		}
	}
	if !j.named {
		if err := j.find(&e, value); err != nil {
			return e, false, err
		}
	}
	if e.Op == "cas" {
		return e, false, j.swap(&e, value)
	}
	text := ""
	if value != nil {
		text = j.value(e.Op, value)
	}
	if e.Type == history.Invoke {
		j.invoked[e.Client] = text
		e.Input, e.NoInput = text, value == nil && f.hasValue && !history.IsRead(e.Op)
		return e, false, nil
	}
	before := j.invoked[e.Client]
	delete(j.invoked, e.Client)
	if e.Type == history.Ok && (answers(e.Op) || text != before) {
		e.Output, e.Found = text, value != nil
	}
	if e.Type != history.Ok && j.keyed && value == nil {
		e.Key = "" // the invoke names it
	}
	return e, false, nil
}

// answers reports whether an operation has a result, which may be the very value that it asked with.
func answers(op string) bool {
	switch op {
	case "txn", "contains", "has":
		return true
	}
	return history.IsRead(op)
}

// unkeyed takes the key of a pair of a key and a value.
func (j *jepsen) unkeyed(e *history.Event, value ednForm) (ednForm, error) {
	pair, ok := untagged(value).(ednList)
	ok = ok && len(pair) == 2
	if key, named := j.keys[e.Client]; !ok && named && j.named && e.Type == history.Ok && history.IsRead(e.Op) {
		e.Key = key // a read of the key that its invoke names
		return value, nil
	}
	if !ok {
		return nil, fmt.Errorf("value %s is not a pair of key and value", shown(value))
	}
	if e.Key = j.name(pair[0]); e.Type == history.Invoke {
		j.keys[e.Client] = e.Key
	}
	return pair[1], nil
}

// swap reads the value of a cas.
func (j *jepsen) swap(e *history.Event, value ednForm) error {
	pair, ok := untagged(value).(ednList)
	if ok && len(pair) == 2 {
		if e.NoExpect = pair[0] == nil; !e.NoExpect {
			e.Expect = j.spelled(pair[0])
		}
		if e.NoInput = pair[1] == nil; !e.NoInput {
			e.Input = j.spelled(pair[1])
		}
	} else if e.Type == history.Invoke {
		return fmt.Errorf("the value of a cas must be [old new], not %s", shown(value))
	}
	if e.Type == history.Ok {
		e.Output = strconv.FormatBool(!j.refused)
	}
	return nil
}

// timeOf is the :time of an event, and whether it has one that can be read.
func timeOf(f ednForm) (ns int64, ok bool) {
	n, ok := f.(ednNumber)
	if !ok {
		return 0, false
	}
	ns, err := strconv.ParseInt(string(n), 10, 64)
	return ns, err == nil
}

// spelled is the spelling of a form that may be seen by checks.
func (j *jepsen) spelled(f ednForm) string {
	switch v := f.(type) { // as nearly all are
	case ednNumber:
		return string(v)
	case string:
		return values.TextOfEDN(v)
	}
	j.buf = j.speller.append(j.buf[:0], f)
	return string(j.buf)
}

// value is the spelling of an operation's value.
func (j *jepsen) value(op string, f ednForm) string {
	if op != "txn" {
		return j.spelled(f)
	}
	j.buf = j.speller.transaction(j.buf[:0], f)
	return string(j.buf)
}

// name is the spelling of a form that may occur again.
func (j *jepsen) name(f ednForm) string {
	if n, is := f.(ednNumber); is {
		return string(n)
	}
	j.buf = j.speller.append(j.buf[:0], f)
	return j.shared(j.buf)
}

// shared is the text of a name that may occur again.
func (j *jepsen) shared(text []byte) string {
	name, known := j.names[string(text)]
	if !known {
		name = string(text)
		if len(j.names) < maxAtoms {
			j.names[name] = name
		}
	}
	return name
}

// find finds whose event it is where none has a :process. Each operation is a client of its own, since it is not known which of
// them one client did.
func (j *jepsen) find(e *history.Event, value ednForm) error {
	if e.Type == history.Invoke {
		e.Client = fmt.Sprintf("operation %d", j.count+1)
		j.flying = append(j.flying, flying{e.Client, e.Op + " " + e.Key, value})
		return nil
	}
	found := -1
	for i, f := range j.flying {
		if f.op != e.Op+" "+e.Key || !completes(f.value, value, e.Type) {
			continue
		}
		if found >= 0 {
			return fmt.Errorf("this %s may complete %s or %s: give all events a %s", e.Op, j.flying[found].client, f.client, j.field("process"))
		}
		found = i
	}
	if found < 0 {
		return fmt.Errorf("this %s completes no invoked operation", e.Op)
	}
	e.Client = j.flying[found].client
	j.flying = slices.Delete(j.flying, found, found+1)
	return nil
}

// completes reports whether a completion with a value can be that of an invoke: it repeats the value, has one where there was none
// to repeat, or fills in what a transaction read.
func completes(asked, got ednForm, t history.Type) bool {
	if asked == nil || got == nil && t != history.Ok || equal(asked, got) {
		return true
	}
	if !isTransaction(asked) || !isTransaction(got) {
		return false
	}
	return slices.EqualFunc(asked.(ednList), got.(ednList), func(x, y ednForm) bool {
		a, g := x.(ednList), y.(ednList)
		if word(a[0]) != word(g[0]) || !equal(a[1], g[1]) {
			return false
		}
		return word(a[0]) == "r" || equal(a[2:], g[2:])
	})
}

// isTransaction reports whether a value is a list of accesses such as [:append x 1].
func isTransaction(value ednForm) bool {
	list, ok := value.(ednList)
	if !ok || len(list) == 0 {
		return false
	}
	for _, f := range list {
		row, ok := f.(ednList)
		if !ok || len(row) < 2 || len(row) > 3 {
			return false
		}
		switch word(row[0]) {
		case "r", "w", "append":
		default:
			return false
		}
	}
	return true
}

// jsonOf recognises JSON by a file's beginning, as Records or JepsenJSON; it is empty for others.
func jsonOf(start []byte) Format {
	d := json.NewDecoder(bytes.NewReader(start))
	list := false
	for depth := 0; ; {
		t, err := d.Token()
		if err != nil {
			return ""
		}
		switch t {
		case json.Delim('['):
			if list {
				return ""
			}
			list = true
			continue
		case json.Delim('{'):
			depth++
		case json.Delim(']'):
			return ""
		}
		if depth != 1 {
			return ""
		}
		for d.More() {
			name, err := d.Token()
			switch {
			case err != nil:
				return ""
			case name == "process" || name == "f" || name == "value":
				return JepsenJSON
			case name == "client" || name == "op":
				return Records
			}
			var skip json.RawMessage
			if d.Decode(&skip) != nil {
				return ""
			}
		}
		return ""
	}
}

// ReadJepsenJSON reads a history as ReadEDN does, of maps in JSON: one array, or one map after the other. Values are equal as package values has it for JSON.
func ReadJepsenJSON(r io.Reader, keyed bool, do func(*history.Event) error) error {
	return readJepsenJSON(r, newJepsen(keyed, do))
}

// ReadJepsenJSONInOrder reads a history as ReadJepsenJSON does, and sorts its events by "index" first.
func ReadJepsenJSONInOrder(r io.Reader, keyed bool, do func(*history.Event) error) error {
	j := newJepsen(keyed, do)
	j.sorts = true
	return readJepsenJSON(r, j)
}

func readJepsenJSON(r io.Reader, j *jepsen) error {
	j.json = true
	keywords := map[string]ednForm{} // of which long histories have few
	keyword := func(name string) ednForm {
		f, known := keywords[name]
		if !known {
			f = ednKeyword(name)
			if len(keywords) < maxAtoms {
				keywords[name] = f
			}
		}
		return f
	}
	err := strictjson.Elements(r, history.MaxRecordBytes, func(raw json.RawMessage) error {
		form, err := formOf(raw)
		if err != nil {
			return err
		}
		if m, ok := form.(ednMap); ok {
			for i := 0; i < len(m); i += 2 {
				name := string(m[i].(ednName))
				m[i] = keyword(name)
				if text, ok := m[i+1].(string); ok && (name == "type" || name == "f") {
					m[i+1] = keyword(text)
				}
			}
		}
		return j.add(form)
	})
	if err != nil {
		return err
	}
	return j.end()
}

// formOf is a value of JSON as one of EDN.
func formOf(raw json.RawMessage) (ednForm, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value func(t json.Token) (ednForm, error)
	value = func(t json.Token) (ednForm, error) {
		switch v := t.(type) {
		case json.Number:
			return ednNumber(values.Number(v.String())), nil
		case json.Delim:
			list := ednList{}
			for d.More() {
				t, err := d.Token()
				if err != nil {
					return nil, err
				}
				if name, is := t.(string); is && v == '{' && len(list)%2 == 0 {
					list = append(list, ednName(name))
					continue
				}
				f, err := value(t)
				if err != nil {
					return nil, err
				}
				list = append(list, f)
			}
			if _, err := d.Token(); err != nil {
				return nil, err
			}
			if v == '{' {
				return ednMap(list), nil // strictjson.Elements has looked for a key that stands twice
			}
			return list, nil
		}
		return t, nil // nil, a bool or a text
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	return value(t)
}
