package histories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/isolation"
	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/values"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Models of transactions.
const (
	ListAppend = "list-append" // transactions append to lists and read whole lists
	RWRegister = "rw-register" // transactions write registers and read them
)

// isolated judges the transactions of a history. Those are the operations named txn; input and output are JSON arrays of
// their accesses, [["append","x",1],["r","x",[1]]], as Jepsen writes them.
func isolated(p *world.Property, level isolation.Level, ops []history.Operation) verdict.Verdict {
	switch p.Check.Model {
	case "", ListAppend:
		return listsOf(ops).judge(p, level)
	case RWRegister:
	default:
		return verdict.Undecided(p, "%v", noTransactions(p.Check.Model))
	}
	txns, from, count, err := registersOf(ops)
	if err != nil {
		return verdict.Undecided(p, "%v", err)
	}
	f := isolation.Registers(txns, level, linear.NewBudget(MaxSteps, MaxBytes, MaxWall))
	return isolationVerdict(p, f, count, func(t int) (*history.Operation, string) { return from[t], accesses(from[t]) })
}

func listsOf(ops []history.Operation) *ListTransactions {
	t := NewListTransactions(len(ops))
	for i := range ops {
		t.Add(i, &ops[i])
	}
	return t
}

// registersOf gives the transactions over registers of a history, the operations that they are, and how many there are.
func registersOf(ops []history.Operation) (txns []isolation.Txn, from []*history.Operation, count counts, err error) {
	txns, from = make([]isolation.Txn, 0, len(ops)), make([]*history.Operation, 0, len(ops))
	for i := range ops {
		o := &ops[i]
		if !isTransaction(o) {
			continue
		}
		t, err := transaction(o)
		if err != nil {
			return nil, nil, count, brokenTransaction(o, err)
		}
		txns, from = append(txns, t), append(from, o)
		if count.all++; t.Fate != isolation.Committed {
			continue
		}
		count.committed++
		for _, a := range t.Accesses {
			if a.Write {
				count.writes++
			} else if a.Found {
				count.reads++
			}
		}
	}
	return txns, from, count, nil
}

// Cycle judges the transactions of a history again, for the cycle behind a verdict of isolation: its steps, and the transactions in it. There
// is none if the violation is of another kind.
func Cycle(p *world.Property, ops []history.Operation) (steps []isolation.Dependency, txns []history.Operation) {
	if p.Check.Type != world.Isolation {
		return nil, nil
	}
	level, budget := cmp.Or(isolation.Level(p.Check.Level), isolation.Serializable), linear.NewBudget(MaxSteps, MaxBytes, MaxWall)
	var f isolation.Finding
	var of func(number int) history.Operation
	if OverLists(p) {
		t := listsOf(ops)
		if t.broken != nil {
			return nil, nil
		}
		f, of = t.log.Judge(level, budget), func(number int) history.Operation { return ops[number] }
	} else {
		list, from, _, err := registersOf(ops)
		if err != nil {
			return nil, nil
		}
		f, of = isolation.Registers(list, level, budget), func(number int) history.Operation { return *from[number] }
	}
	if f.Answer != isolation.Violated {
		return nil, nil
	}
	for _, number := range f.Txns {
		txns = append(txns, of(number))
	}
	return f.Cycle, txns
}

// isTransaction reports whether an operation is a transaction.
func isTransaction(o *history.Operation) bool { return strings.EqualFold(o.Op, "txn") }

func brokenTransaction(o *history.Operation, err error) error {
	return fmt.Errorf("broken history: the transaction of client %s at event %d: %w", o.Client, o.Call, err)
}

// counts say how much there was to judge.
type counts struct {
	all, committed int
	reads, writes  int // of transactions that committed; reads of something
}

// isolationVerdict is the verdict of a finding. describe gives a transaction, of which the clients and times count, and its accesses in words.
func isolationVerdict(p *world.Property, f isolation.Finding, count counts, describe func(txn int) (*history.Operation, string)) verdict.Verdict {
	v := verdict.New(p)
	switch {
	case f.Answer == isolation.Violated:
		v.Violate(0, 0, failure.Claim{Cause: f.Cause, Words: f.Reason})
		v.Evidence = f.Steps
		for i, t := range f.Txns {
			o, words := describe(t)
			if o.Return != history.Pending && o.Return > v.Event {
				v.Event, v.TimeNs = o.Return, o.ReturnTimeNs
			}
			if i < verdict.MaxEvidence {
				v.Evidence = append(v.Evidence, fmt.Sprintf("%s (event %d) client %s: %s", verdict.Seconds(o.CallTimeNs), o.Call, o.Client, words))
			}
		}
		return v
	case f.Answer == isolation.Undecided:
		return verdict.Undecided(p, "%s", f.Reason)
	case count.all == 0:
		return verdict.Idle(p, "no transaction was reported")
	case count.committed*1_000_000 < count.all*minOkPPM || count.committed == 0:
		return verdict.Idle(p, "only %d of %d transactions committed", count.committed, count.all)
	case count.reads == 0 || count.writes == 0:
		return verdict.Idle(p, "the committed transactions read %d values and wrote %d, so no result could have been wrong", count.reads, count.writes)
	}
	v.Status = verdict.Holds
	return v
}

// InSessions judges transactions of a history that has the order of each client and no times. At every level that order
// counts, as in the tools that write such histories.
func InSessions(p *world.Property, ops []history.Operation) verdict.Verdict {
	level := isolation.Level(p.Check.Level)
	switch {
	case p.Check.Type != world.Isolation || level == isolation.StrictSerializable:
		return Untimed(p)
	case p.Check.Model == ListAppend:
		return verdict.Undecided(p, "the transactions of this history use registers; judge them with --model %s", RWRegister)
	case level == isolation.SnapshotIsolation:
		level = isolation.SessionSnapshotIsolation
	case level == isolation.Serializable || level == "":
		level = isolation.SessionSerializable
	}
	registers := *p
	registers.Check.Model = RWRegister
	return isolated(&registers, level, ops)
}

// Untimed is the verdict of a check that asks when operations of different clients were under way.
func Untimed(p *world.Property) verdict.Verdict {
	return verdict.Undecided(p, "the history has sessions and no times, so it can be judged for isolation only, and not in real time: add "+
		"--isolation with read-committed, "+
		"read-atomic, causal, snapshot-isolation or serializable")
}

func noTransactions(model string) error {
	return fmt.Errorf("unknown model %q of transactions; use %s or %s", model, ListAppend, RWRegister)
}

// accesses returns the text of a transaction's reads and writes as it was reported, cut after shownOfAccesses bytes.
func accesses(o *history.Operation) string {
	text := o.Output
	if o.Type != history.Ok || text == "" {
		text = o.Input
	}
	if len(text) > shownOfAccesses {
		return text[:shownOfAccesses] + "..."
	}
	return text
}

// shownOfAccesses bounds the bytes of a transaction's accesses that evidence has.
const shownOfAccesses = 300

// fateOf is the fate of a transaction, and the text that has its accesses: its reads are in its output, its writes in its input too.
func fateOf(o *history.Operation) (fate isolation.Fate, text string, err error) {
	text = o.Input
	switch o.Type {
	case history.Ok:
		text = o.Output
	case history.Fail:
		fate = isolation.Aborted
	default:
		fate = isolation.Unknown
	}
	if text == "" {
		text = o.Input
		if o.Type == history.Ok {
			err = fmt.Errorf("no output; it must repeat the accesses, with the values that were read")
		}
	}
	return fate, text, err
}

// sameAccesses returns why an output does not repeat the accesses of an input, where those are given. Writes that the output leaves out would look as if
// no transaction had made them.
func sameAccesses(asked, rows [][]string) error {
	if len(asked) > 0 && len(asked) != len(rows) {
		return fmt.Errorf("the output has %d accesses and the input %d; repeat all of them", len(rows), len(asked))
	}
	for i, row := range asked {
		for k := range min(len(row), len(rows[i]), 3) {
			if row[k] != rows[i][k] && (k < 2 || plain(row[0]) != "r") && plain(row[k]) != plain(rows[i][k]) {
				return fmt.Errorf("access %d is %s in the input and %s in the output", i+1, row, rows[i])
			}
		}
	}
	return nil
}

// rowsOf are the accesses of a transaction, as they are spelt.
func rowsOf(o *history.Operation) (fate isolation.Fate, rows [][]string, err error) {
	fate, text, err := fateOf(o)
	if err != nil {
		return fate, nil, err
	}
	if rows, err = accessRows(text); err != nil {
		return fate, nil, err
	}
	if o.Type == history.Ok && o.Input != "" {
		asked, err := accessRows(o.Input)
		if err == nil {
			err = sameAccesses(asked, rows)
		}
		if err != nil {
			return fate, nil, err
		}
	}
	return fate, rows, nil
}

// fieldsOf are the kind, the key and the value of an access; the value is empty where it is nothing.
func fieldsOf(row []string) (kind, key, value string, err error) {
	if len(row) < 2 || len(row) > 3 {
		return "", "", "", fmt.Errorf("an access has a kind, a key and a value")
	}
	if len(row) == 3 && row[2] != "null" {
		value = row[2]
	}
	return plain(row[0]), row[1], value, nil
}

func withoutValue(kind, key string) error {
	return fmt.Errorf("%s of key %q without a value", kind, plain(key))
}

func noAccess(kind string) error {
	return fmt.Errorf("access %q is not in this model: %s has r and append, %s has r and w", kind, ListAppend, RWRegister)
}

// transaction reads one transaction over registers.
func transaction(o *history.Operation) (isolation.Txn, error) {
	t := isolation.Txn{Client: o.Client, Call: o.Call, Return: o.Return}
	fate, rows, err := rowsOf(o)
	if err != nil {
		return t, err
	}
	t.Fate = fate
	t.Accesses = make([]isolation.Access, 0, len(rows))
	for _, row := range rows {
		kind, key, value, err := fieldsOf(row)
		if err != nil {
			return t, err
		}
		a := isolation.Access{Key: plain(key)}
		switch kind {
		case "r":
			if a.Found = value != ""; a.Found {
				a.Value = plain(value)
			}
		case "w":
			if value == "" {
				return t, withoutValue(kind, key)
			}
			a.Write, a.Value = true, plain(value)
		default:
			return t, noAccess(kind)
		}
		t.Accesses = append(t.Accesses, a)
	}
	return t, nil
}

// accessRows reads the accesses of a transaction: the fields of each, as they are spelt.
func accessRows(text string) (rows [][]string, err error) {
	if rows, ok := plainRows(text); ok {
		return rows, nil
	}
	var raw [][]json.RawMessage
	if json.Unmarshal([]byte(text), &raw) != nil {
		return nil, fmt.Errorf("%s is not a list of accesses such as [\"append\",\"x\",1]", verdict.Shorten(text))
	}
	for _, fields := range raw {
		row := make([]string, len(fields))
		for i := range fields {
			row[i] = string(fields[i])
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// plainRows reads rows of plain values and of arrays of them, as nearly all are, in one pass. It answers no where it is not sure.
func plainRows(text string) (rows [][]string, ok bool) {
	const usual = 3 // fields
	s := plainScan{text: text}
	rows = make([][]string, 0, 4)
	ok = s.array(func() bool {
		row := make([]string, 0, usual)
		ok := s.array(func() bool {
			from, read := s.at, s.value
			if s.next() == '[' {
				read = func() bool { return s.array(s.value) }
			}
			if !read() {
				return false
			}
			row = append(row, text[from:s.at])
			return true
		})
		rows = append(rows, row)
		return ok
	})
	return rows, ok && s.at == len(text)
}

// plain is the spelling by which a JSON value is compared: a text that can be taken for nothing else is itself.
func plain(raw string) string { return values.OfJSON(raw) }

// asKey is the key of an access as other operations name it, which have texts for keys.
func asKey(raw string) string {
	var text string
	if raw[0] == '"' && json.Unmarshal([]byte(raw), &text) == nil {
		return text
	}
	return plain(raw)
}

// listed are the values of a JSON array, each spelt as plain spells it.
func listed(text string) ([]string, error) {
	if list, ok := plainElements(text); ok {
		return list, nil
	}
	var raw []json.RawMessage
	if json.Unmarshal([]byte(text), &raw) != nil {
		return nil, noList(text)
	}
	list := make([]string, len(raw))
	for i, r := range raw {
		list[i] = plain(string(r))
	}
	return list, nil
}
