package formats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/keys"
)

// jepsen makes events of the maps in which Jepsen records them.
type jepsen struct {
	keyed   bool
	do      func(*history.Event) error
	nemesis func(NemesisEvent) error // may be nil
	line    int                      // of EDN, where the event begins
	count   int                      // events so far
	invoked map[string]ednForm       // by client, the value of the operation in flight
	buf     []byte
	keys    map[string]string // by client, of the operation in flight
	last    history.Event     // here, so that none needs memory of its own
	named   bool              // events have a :process
	first   bool              // no event was read yet
	flying  []flying          // without :process: operations in flight
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
	return &jepsen{keyed: keyed, do: do, invoked: map[string]ednForm{}, keys: map[string]string{}, first: true}
}

// add takes one event.
func (j *jepsen) add(form ednForm) error {
	m, ok := form.(ednMap)
	if !ok {
		return errors.New("not a map; each event is one, such as {:type :invoke, :process 0, :f :read, :value nil}")
	}
	e, skip, err := j.event(m)
	if err != nil || skip {
		return err
	}
	if j.count++; j.count > history.MaxEvents {
		return fmt.Errorf("more than %d events, the limit of a history", history.MaxEvents)
	}
	e.Number = uint64(j.count)
	j.last = e
	return j.do(&j.last)
}

func (j *jepsen) event(m ednMap) (e history.Event, skip bool, err error) {
	process := m.get("process")
	at, timed := timeOf(m)
	if j.nemesis != nil && (!timed || at < 0) {
		return e, false, fmt.Errorf(":time is %s; it is a number of nanoseconds from 0 on, of less than 2^63", cmp.Or(ednText(m.get("time")), "nil"))
	}
	if ednText(process) == "nemesis" {
		if j.nemesis != nil {
			err = j.nemesis(NemesisEvent{j.line, at, ednText(m.get("f")), appendJSON(nil, m.get("value"))})
		}
		return e, true, err
	}
	if j.first {
		j.named, j.first = process != nil, false
	}
	if j.named != (process != nil) {
		return e, false, errors.New("some events have a :process and others have none")
	}
	e.Client = ednText(process)
	kind, _ := m.get("type").(ednKeyword)
	e.Type = history.Type(kind)
	switch e.Type {
	case history.Invoke, history.Ok, history.Fail, history.Info:
	default:
		return e, false, fmt.Errorf(":type is %s, not one of :invoke, :ok, :fail, :info", ednText(m.get("type")))
	}
	value := m.get("value")
	op, ok := m.get("f").(ednKeyword)
	switch {
	case ok && op != "":
		e.Op = string(op)
	case m.get("f") == nil && isTransaction(value):
		e.Op = "txn"
	case m.get("f") != nil || e.Type == history.Invoke || !j.named:
		return e, false, errors.New("no :f, the kind of operation")
	}
	e.TimeNs = at
	if m.get("error") != nil {
		e.Error = ednText(m.get("error"))
	}
	e.Key = ednText(m.get("key"))
	if j.keyed && value != nil {
		pair, ok := value.(ednList)
		ok = ok && len(pair) == 2
		if key, named := j.keys[e.Client]; !ok && named && j.named && e.Type == history.Ok && history.IsRead(e.Op) {
			pair, ok = ednList{ednKeyword(key), value}, true // a read of the key that its invoke names
		}
		if !ok {
			return e, false, fmt.Errorf("value %s is no pair of key and value", excerpt([]byte(ednText(value))))
		}
		e.Key, value = ednText(pair[0]), pair[1]
		if e.Type == history.Invoke {
			j.keys[e.Client] = e.Key
		}
	}
	if !j.named {
		if err := j.name(&e, value); err != nil {
			return e, false, err
		}
	}
	if e.Op == "cas" {
		pair, ok := value.(ednList)
		if ok && len(pair) == 2 {
			e.Expect, e.Input = ednText(pair[0]), ednText(pair[1])
		} else if e.Type == history.Invoke {
			return e, false, fmt.Errorf("the value of a cas is [old new], not %s", excerpt([]byte(ednText(value))))
		}
		if e.Type == history.Ok {
			e.Output = "true"
		}
		return e, false, nil
	}
	text := j.text(value)
	if e.Type == history.Invoke {
		j.invoked[e.Client] = value
		e.Input = text
		return e, false, nil
	}
	before := j.invoked[e.Client]
	delete(j.invoked, e.Client)
	if e.Type == history.Ok && (e.Op == "txn" || history.IsRead(e.Op) || text != ednText(before)) {
		e.Output, e.Found = text, value != nil
	}
	if e.Type != history.Ok && j.keyed && value == nil {
		e.Key = "" // the invoke names it
	}
	return e, false, nil
}

// timeOf is the :time of an event, and whether it has one that can be read.
func timeOf(m ednMap) (ns int64, ok bool) {
	n, ok := m.get("time").(ednNumber)
	if !ok {
		return 0, false
	}
	ns, err := strconv.ParseInt(string(n), 10, 64)
	return ns, err == nil
}

// text is ednText without memory of its own for what is put together.
func (j *jepsen) text(f ednForm) string {
	if _, is := f.(ednList); !is {
		return ednText(f)
	}
	j.buf = appendJSON(j.buf[:0], f)
	return string(j.buf)
}

// name finds whose event it is where none has a :process. Each operation is a client of its own, since it is not known which of
// them one client did.
func (j *jepsen) name(e *history.Event, value ednForm) error {
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
			return fmt.Errorf("this %s may complete %s or %s: give all events a :process", e.Op, j.flying[found].client, f.client)
		}
		found = i
	}
	if found < 0 {
		return fmt.Errorf("this %s completes nothing that was invoked", e.Op)
	}
	e.Client = j.flying[found].client
	j.flying = slices.Delete(j.flying, found, found+1)
	return nil
}

// completes reports whether a completion with a value can be that of an invoke: it repeats the value, has one where there was none
// to repeat, or fills in what a transaction read.
func completes(asked, got ednForm, t history.Type) bool {
	if asked == nil || got == nil && t != history.Ok || ednText(asked) == ednText(got) {
		return true
	}
	if !isTransaction(asked) || !isTransaction(got) {
		return false
	}
	a, g := asked.(ednList), got.(ednList)
	return slices.EqualFunc(a, g, func(x, y ednForm) bool {
		a, g := x.(ednList), y.(ednList)
		return ednText(a[0]) == ednText(g[0]) && ednText(a[1]) == ednText(g[1]) && (ednText(a[0]) == "r" || ednText(a[2:]) == ednText(g[2:]))
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
		switch ednText(row[0]) {
		case "r", "w", "append":
		default:
			return false
		}
	}
	return true
}

// JSONKind is what the elements of a file of JSON are.
type JSONKind uint8

const (
	NoJSON     JSONKind = iota
	Records             // records that history.Read reads
	JepsenJSON          // maps as of Jepsen, one after the other or as one array
)

// JSONOf recognises by a file's beginning what it holds.
func JSONOf(start []byte) JSONKind {
	d := json.NewDecoder(bytes.NewReader(start))
	list := false
	for depth := 0; ; {
		t, err := d.Token()
		if err != nil {
			return NoJSON
		}
		switch t {
		case json.Delim('['):
			if list {
				return NoJSON
			}
			list = true
			continue
		case json.Delim('{'):
			depth++
		case json.Delim(']'):
			return NoJSON
		}
		if depth != 1 {
			return NoJSON
		}
		for d.More() {
			name, err := d.Token()
			switch {
			case err != nil:
				return NoJSON
			case name == "process" || name == "f" || name == "value":
				return JepsenJSON
			case name == "client" || name == "op":
				return Records
			}
			var skip json.RawMessage
			if d.Decode(&skip) != nil {
				return NoJSON
			}
		}
		return NoJSON
	}
}

// ReadJepsenJSON reads a history as ReadEDN does, of maps in JSON: one array, or one map after the other.
func ReadJepsenJSON(r io.Reader, keyed bool, do func(*history.Event) error) error {
	j := newJepsen(keyed, do)
	return keys.Elements(r, history.MaxRecordBytes, func(raw json.RawMessage) error {
		form, err := formOf(raw)
		if err != nil {
			return err
		}
		if m, ok := form.(ednMap); ok {
			for i := 0; i < len(m); i += 2 {
				name := ednKeyword(m[i].(string))
				m[i] = name
				if text, ok := m[i+1].(string); ok && (name == "type" || name == "f") {
					m[i+1] = ednKeyword(text)
				}
			}
		}
		return j.add(form)
	})
}

// formOf is a value of JSON as one of EDN.
func formOf(raw json.RawMessage) (ednForm, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value func(t json.Token) (ednForm, error)
	value = func(t json.Token) (ednForm, error) {
		switch v := t.(type) {
		case json.Number:
			return atom(v.String())
		case json.Delim:
			list := ednList{}
			for d.More() {
				t, err := d.Token()
				if err != nil {
					return nil, err
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
				return mapOf(list)
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
