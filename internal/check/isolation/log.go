package isolation

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ListLog collects transactions over lists in little memory: what reads returned are beginnings of lists that are kept once.
type ListLog struct {
	keys     names
	clients  names
	values   values
	txns     []listTxn
	accesses []listAccess // of one transaction after the other
	lists    [][]value
	begun    int // where the accesses of the transaction begin that is being added
}

// listTxn is a transaction of a log. Its place may be empty: another operation had this number.
type listTxn struct {
	call, ret    uint64
	client       int32
	first, count int32 // of its accesses
	fate         Fate
	there        bool
}

// listAccess is an append of a value, or a read that returned the beginning of a list.
type listAccess struct {
	key    int32
	what   value // what was appended, or the number of the list
	length int32 // of the beginning; appending for an append
}

const (
	appending       = -1
	noList    value = math.MaxUint32 // of a read that returned nothing, which is -1 outside
)

// NewListLog returns an empty log with room for so many transactions.
func NewListLog(transactions int) *ListLog { return &ListLog{txns: make([]listTxn, 0, transactions)} }

// Key numbers a key.
func (l *ListLog) Key(name string) int32 { return l.keys.number(name) }

// NewList adds an empty list, of which reads may return beginnings, and gives its number.
func (l *ListLog) NewList() int32 {
	l.lists = append(l.lists, nil)
	return int32(len(l.lists) - 1)
}

// Extend adds a value to a list.
func (l *ListLog) Extend(list int32, v string) {
	l.lists[list] = append(l.lists[list], l.values.number(v))
}

// Begins reports whether a list begins with values, or they with the list.
func (l *ListLog) Begins(list int32, all []string) bool {
	for i, v := range l.lists[list][:min(len(l.lists[list]), len(all))] {
		if l.values.number(all[i]) != v {
			return false
		}
	}
	return true
}

// Length of a list.
func (l *ListLog) Length(list int32) int { return len(l.lists[list]) }

// Append adds an append to the accesses of the transaction that the next Add is about.
func (l *ListLog) Append(key int32, v string) {
	l.accesses = append(l.accesses, listAccess{key, l.values.number(v), appending})
}

// Read adds a read that returned so many values of a list. The list is -1 and the length 0 if it returned nothing.
func (l *ListLog) Read(key, list int32, length int) {
	l.accesses = append(l.accesses, listAccess{key, value(list), int32(length)})
}

// Drop forgets the accesses since the last Add.
func (l *ListLog) Drop() { l.accesses = l.accesses[:l.begun] }

// Add adds a transaction with the accesses since the last one. Transactions have numbers from 0 on in the order of their calls, and may come in
// any order.
func (l *ListLog) Add(number int, client string, fate Fate, call, ret uint64) {
	for len(l.txns) <= number {
		l.txns = append(l.txns, listTxn{})
	}
	l.txns[number] = listTxn{call: call, ret: ret, client: l.clients.number(client), first: int32(l.begun), count: int32(len(l.accesses) - l.begun),
		fate: fate, there: true}
	l.begun = len(l.accesses)
}

// ListAccess is an access of a transaction in a log: an append of a value, or a read of a list, which is nil if nothing was read.
type ListAccess struct {
	Key, Value string
	List       []string
	Append     bool
}

// Transaction gives the client of a transaction and when it was called and returned.
func (l *ListLog) Transaction(number int) (client string, call, ret uint64) {
	t := &l.txns[number]
	return l.clients.texts[t.client], t.call, t.ret
}

// Accesses calls a function for each access of a transaction.
func (l *ListLog) Accesses(number int, do func(ListAccess)) {
	for _, a := range l.accessesOf(number) {
		access := ListAccess{Key: l.keys.texts[a.key], Append: a.length == appending}
		switch {
		case access.Append:
			access.Value = l.values.text(a.what)
		case a.what != noList:
			access.List = l.texts(l.read(a))
		}
		do(access)
	}
}

// accessesOf returns the accesses of a transaction, in its order.
func (l *ListLog) accessesOf(number int) []listAccess {
	t := &l.txns[number]
	return l.accesses[t.first : t.first+t.count]
}

// read returns the elements of the list that a read returned.
func (l *ListLog) read(a listAccess) []value {
	if a.length == 0 {
		return nil
	}
	return l.lists[a.what][:a.length]
}

func (l *ListLog) texts(list []value) []string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = l.values.text(v)
	}
	return texts
}

// words names a transaction.
func (l *ListLog) words(number int) string {
	t := &l.txns[number]
	return fmt.Sprintf("the transaction of client %s at event %d", l.clients.texts[t.client], t.call)
}

// logOf is a log of transactions.
func logOf(txns []Txn) *ListLog {
	type known struct {
		list   int32
		values []string
	}
	l := NewListLog(len(txns))
	longest := map[string]*known{}
	for i := range txns {
		t := &txns[i]
		for k := range t.Accesses {
			a := &t.Accesses[k]
			key := l.Key(a.Key)
			if a.Write {
				l.Append(key, a.Value)
				continue
			}
			was := longest[a.Key]
			if was == nil || !beginAlike(was.values, a.List) {
				was = &known{list: l.NewList()}
				longest[a.Key] = was
			}
			for _, v := range a.List[min(len(was.values), len(a.List)):] {
				l.Extend(was.list, v)
			}
			if len(a.List) > len(was.values) {
				was.values = a.List
			}
			l.Read(key, was.list, len(a.List))
		}
		l.Add(i, t.Client, t.Fate, t.Call, t.Return)
	}
	return l
}

// beginAlike reports whether one of two lists begins with the other.
func beginAlike(a, b []string) bool {
	n := min(len(a), len(b))
	return n == 0 || &a[0] == &b[0] || slices.Equal(a[:n], b[:n])
}

// names numbers texts.
type names struct {
	numbers map[string]int32
	texts   []string
}

func (n *names) number(text string) int32 {
	k, known := n.numbers[text]
	if !known {
		if n.numbers == nil {
			n.numbers = map[string]int32{}
		}
		k = int32(len(n.texts))
		text = strings.Clone(text) // it may be part of a longer one
		n.numbers[text] = k
		n.texts = append(n.texts, text)
	}
	return k
}

// value stands for a text: an integer below namedValue for its digits, others for one of names.
type value uint32

const namedValue value = 1 << 31

type values struct{ named names }

func (n *values) number(text string) value {
	if v, ok := digits(text); ok {
		return v
	}
	return namedValue + value(n.named.number(text))
}

func (n *values) text(v value) string {
	if v < namedValue {
		return strconv.Itoa(int(v))
	}
	return n.named.texts[v-namedValue]
}

// digits is the value of a text that is a short integer as strconv writes it.
func digits(text string) (value, bool) {
	const most = 9 // fewer than namedValue
	if len(text) == 0 || len(text) > most || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	v := value(0)
	for i := range len(text) {
		c := text[i] - '0'
		if c > 9 {
			return 0, false
		}
		v = 10*v + value(c)
	}
	return v, true
}

// appendTable finds appends by their key and value. It is an open hash table.
type appendTable struct {
	slots []appendSlot
	count int
}

type appendSlot struct {
	key  int32
	what value
	next int32 // the number of the append, plus one; 0: nothing is here
}

// newAppendTable has room for so many appends.
func newAppendTable(appends int) *appendTable {
	size := 16
	for size < 2*appends {
		size *= 2
	}
	return &appendTable{slots: make([]appendSlot, size)}
}

// slot is where an append is, or would be. Neighbouring values of a key, which are accessed together, have neighbouring slots.
func (t *appendTable) slot(key int32, v value) *appendSlot {
	const near = 3 // bits
	h := (uint64(uint32(key))<<32 | uint64(v>>near)) * 0x9e3779b97f4a7c15
	mask := uint64(len(t.slots) - 1)
	for i := (h>>32<<near | uint64(v&(1<<near-1))) & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.next == 0 || s.key == key && s.what == v {
			return s
		}
	}
}

// find is the number of an append, or -1.
func (t *appendTable) find(key int32, v value) int32 { return t.slot(key, v).next - 1 }
