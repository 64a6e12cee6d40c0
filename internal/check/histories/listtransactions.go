package histories

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/isolation"
	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// ListTransactions collects the transactions over lists of a history, operation by operation, without keeping their texts, and judges them.
type ListTransactions struct {
	log      *isolation.ListLog
	known    map[string]*knownList // by key, as it is spelt
	times    []txnTimes            // by number
	count    counts
	broken   error // of the first transaction that cannot be read
	brokenAt int   // its number

	accesses []listAccess // of the transaction that is read
}

type txnTimes struct{ callNs, returnNs int64 }

// knownList is the longest list of a key that was read so far. Most lists are the beginning of another one.
type knownList struct {
	key  int32
	list int32
	// text is the list's text without its end, and ends are where its elements end there; nothing while it is not known how its elements are spelt.
	text []byte
	ends []int32
}

// NewListTransactions has room for so many transactions.
func NewListTransactions(transactions int) *ListTransactions {
	return &ListTransactions{log: isolation.NewListLog(transactions), known: map[string]*knownList{}, times: make([]txnTimes, 0, transactions)}
}

// Add takes in an operation and its number, from 0 on in the order of the calls. Operations may come in any order; those that are no transactions do not
// count.
func (t *ListTransactions) Add(number int, o *history.Operation) {
	if !isTransaction(o) {
		return
	}
	if err := t.add(number, o); err != nil && (t.broken == nil || number < t.brokenAt) {
		t.broken, t.brokenAt = brokenTransaction(o, err), number
		t.log.Drop()
	}
}

func (t *ListTransactions) add(number int, o *history.Operation) error {
	fate, text, err := fateOf(o)
	if err != nil {
		return err
	}
	n, ok := t.plain(text)
	if ok && o.Type == history.Ok && o.Input != "" {
		ok = t.repeats(o.Input)
	}
	if !ok {
		t.log.Drop()
		if n, err = t.rows(o); err != nil {
			return err
		}
	}
	t.log.Add(number, o.Client, fate, o.Call, o.Return)
	for len(t.times) <= number {
		t.times = append(t.times, txnTimes{})
	}
	t.times[number] = txnTimes{o.CallTimeNs, o.ReturnTimeNs}
	if t.count.all++; fate == isolation.Committed {
		t.count.committed++
		t.count.reads += n.reads
		t.count.writes += n.writes
	}
	return nil
}

// notRead is the list of a read that found nothing.
const notRead = -1

// rows takes in a transaction as transactions are defined, whatever its spelling.
func (t *ListTransactions) rows(o *history.Operation) (n counts, err error) {
	_, rows, err := rowsOf(o)
	if err != nil {
		return n, err
	}
	for _, row := range rows {
		kind, key, value, err := fieldsOf(row)
		if err != nil {
			return n, err
		}
		known := t.listOf(key)
		switch {
		case kind == "append" && value == "":
			return n, withoutValue(kind, key)
		case kind == "append":
			t.log.Append(known.key, plain(value))
			n.writes++
		case kind != "r":
			return n, noAccess(kind)
		case value == "":
			t.log.Read(known.key, notRead, 0)
		default:
			list, err := listed(value)
			if err != nil {
				return n, err
			}
			t.log.Read(known.key, t.extended(known, list), len(list))
			n.reads++
		}
	}
	return n, nil
}

// listOf returns the list of a key, and begins an empty one for a new key.
func (t *ListTransactions) listOf(key string) *knownList {
	k := t.known[key]
	if k == nil {
		k = &knownList{key: t.log.Key(plain(key)), list: t.log.NewList(), text: []byte("[")}
		t.known[strings.Clone(key)] = k
	}
	return k
}

// extended is the number of a list that begins with these elements.
func (t *ListTransactions) extended(k *knownList, all []string) int32 {
	list, before := k.list, t.log.Length(k.list)
	if !t.log.Begins(list, all) {
		list, before = t.log.NewList(), 0
		if len(all) > t.log.Length(k.list) {
			k.list, k.text = list, nil
		}
	}
	for _, v := range all[min(before, len(all)):] {
		t.log.Extend(list, v)
		if list == k.list {
			k.text = nil
		}
	}
	return list
}

// plain takes in the accesses of a text that is spelt as nearly all are. It answers no where it is not sure; then some may be taken in.
func (t *ListTransactions) plain(text string) (n counts, ok bool) {
	t.accesses = t.accesses[:0]
	s := plainScan{text: text}
	ok = s.array(func() bool { return t.access(&s, &n) })
	return n, ok && s.at == len(text)
}

// listAccess is an access as it is spelt. The value is an append's.
type listAccess struct{ kind, key, value string }

const (
	plainRead   = `"r"`
	plainAppend = `"append"`
)

// access takes in an access.
func (t *ListTransactions) access(s *plainScan, n *counts) bool {
	a, more := plainAccess(s)
	switch {
	case a.kind == plainRead && !more || a.kind == plainRead && s.word("null"):
		t.log.Read(t.listOf(a.key).key, notRead, 0)
	case a.kind == plainRead:
		list, length, ok := t.list(s, t.listOf(a.key))
		if !ok {
			return false
		}
		t.log.Read(t.listOf(a.key).key, list, length)
		n.reads++
	case a.kind == plainAppend && more:
		from := s.at
		if !s.value() || s.text[from:s.at] == "null" {
			return false
		}
		a.value = s.text[from:s.at]
		t.log.Append(t.listOf(a.key).key, plain(a.value))
		n.writes++
	default:
		return false
	}
	t.accesses = append(t.accesses, a)
	return s.end(']')
}

// plainAccess reads an access up to its value, and whether there is one.
func plainAccess(s *plainScan) (a listAccess, more bool) {
	if !s.end('[') {
		return a, false
	}
	s.space()
	from := s.at
	if !s.value() {
		return a, false
	}
	kind := s.text[from:s.at]
	if !s.end(',') {
		return a, false
	}
	s.space()
	if from = s.at; !s.value() {
		return a, false
	}
	a.kind, a.key = kind, s.text[from:s.at]
	s.space()
	if s.next() != ',' {
		return a, false
	}
	s.at++
	s.space()
	return a, true
}

// list reads a list that was read, as the beginning of another one.
func (t *ListTransactions) list(s *plainScan, k *knownList) (list int32, length int, ok bool) {
	rest, known := s.text[s.at:], len(k.text)
	switch {
	case known == 0:
	case len(rest) > known && rest[:known] == string(k.text):
		if rest[known] == ']' {
			s.at += known + 1
			return k.list, len(k.ends), true
		}
		if len(k.ends) == 0 || rest[known] == ',' {
			return t.extension(s, k)
		}
	default:
		if end := strings.IndexByte(rest, ']'); end > 0 && end < known && rest[:end] == string(k.text[:end]) {
			if at, whole := slices.BinarySearch(k.ends, int32(end)); whole || end == 1 {
				s.at += end + 1
				if whole {
					at++
				}
				return k.list, at, true
			}
		}
	}
	from := s.at
	if s.next() != '[' || !s.array(s.value) {
		return 0, 0, false
	}
	all, ok := plainElements(s.text[from:s.at])
	return t.extended(k, all), len(all), ok
}

// extension reads a list that begins as the known one, and goes on.
func (t *ListTransactions) extension(s *plainScan, k *knownList) (list int32, length int, ok bool) {
	begin := s.at
	s.at += len(k.text)
	for first := len(k.ends) == 0; first || !s.end(']'); first = false {
		if !first && !s.end(',') {
			return 0, 0, false
		}
		s.space()
		from := s.at
		if !s.value() {
			return 0, 0, false
		}
		t.log.Extend(k.list, plain(s.text[from:s.at]))
		k.text = append(k.text, s.text[begin+len(k.text):s.at]...)
		k.ends = append(k.ends, int32(len(k.text)))
	}
	return k.list, len(k.ends), true
}

// repeats reports whether an input is spelt as nearly all are and has the accesses that were taken in.
func (t *ListTransactions) repeats(input string) bool {
	s, i := plainScan{text: input}, 0
	same := s.array(func() bool {
		a, more := plainAccess(&s)
		if i == len(t.accesses) || a.kind != t.accesses[i].kind || a.key != t.accesses[i].key {
			return false
		}
		from := s.at
		if more && !s.value() || a.kind == plainAppend && s.text[from:s.at] != t.accesses[i].value {
			return false
		}
		i++
		return s.end(']')
	})
	return same && s.at == len(input) && (i == 0 || i == len(t.accesses))
}

// OverLists reports whether a property judges transactions over lists, and nothing else.
func OverLists(p *world.Property) bool {
	return p.Check.Type == world.Isolation && (p.Check.Model == "" || p.Check.Model == ListAppend)
}

// Judge judges the transactions by a property that is OverLists.
func (t *ListTransactions) Judge(p *world.Property) verdict.Verdict {
	return t.judge(p, cmp.Or(isolation.Level(p.Check.Level), isolation.Serializable))
}

func (t *ListTransactions) judge(p *world.Property, level isolation.Level) verdict.Verdict {
	if t.broken != nil {
		return verdict.Undecided(p, "%v", t.broken)
	}
	f := t.log.Judge(level, linear.NewBudget(MaxSteps, MaxBytes, MaxWall))
	return isolationVerdict(p, f, t.count, func(number int) (*history.Operation, string) {
		client, call, ret := t.log.Transaction(number)
		at := t.times[number]
		return &history.Operation{Client: client, Call: call, Return: ret, CallTimeNs: at.callNs, ReturnTimeNs: at.returnNs}, t.words(number)
	})
}

// words spells the reads and writes of a transaction as reports do.
func (t *ListTransactions) words(number int) string {
	b := []byte{'['}
	t.log.Accesses(number, func(a isolation.ListAccess) {
		if len(b) > shownOfAccesses {
			return
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		if a.Append {
			b = append(b, `["append",`...)
			b = append(append(appendPlain(b, a.Key), ','), appendPlain(nil, a.Value)...)
			b = append(b, ']')
			return
		}
		b = append(appendPlain(append(b, `["r",`...), a.Key), ',')
		if a.List == nil {
			b = append(b, "null"...)
		} else {
			b = append(b, '[')
			for i, v := range a.List {
				if i > 0 {
					b = append(b, ',')
				}
				b = appendPlain(b, v)
			}
			b = append(b, ']')
		}
		b = append(b, ']')
	})
	if b = append(b, ']'); len(b) > shownOfAccesses {
		return string(b[:shownOfAccesses]) + "..."
	}
	return string(b)
}

// appendPlain appends the JSON of a value that plain has spelt.
func appendPlain(b []byte, text string) []byte {
	if json.Valid([]byte(text)) {
		return append(b, text...)
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic("check: a text that is no JSON: " + err.Error()) // Marshal takes every text
	}
	return append(b, quoted...)
}
