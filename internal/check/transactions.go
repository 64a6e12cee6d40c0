package check

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/isolation"
	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
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
func isolated(p *world.Property, level isolation.Level, ops []history.Operation) Verdict {
	v := verdict(p)
	judge := isolation.Lists
	switch p.Check.Model {
	case "", ListAppend:
	case RWRegister:
		judge = isolation.Registers
	default:
		return unknown(p, "%v", noTransactions(p.Check.Model))
	}
	txns := make([]isolation.Txn, 0, len(ops))
	from := make([]*history.Operation, 0, len(ops))
	known := knownLists{}
	committed, reads, writes := 0, 0, 0
	for i := range ops {
		o := &ops[i]
		if !strings.EqualFold(o.Op, "txn") {
			continue
		}
		t, err := transaction(o, p.Check.Model != RWRegister, known)
		if err != nil {
			return unknown(p, "broken history: the transaction of client %s at event %d: %v", o.Client, o.Call, err)
		}
		txns, from = append(txns, t), append(from, o)
		if t.Fate != isolation.Committed {
			continue
		}
		committed++
		for _, a := range t.Accesses {
			if a.Write {
				writes++
			} else if a.Found || len(a.List) > 0 {
				reads++
			}
		}
	}
	f := judge(txns, level, linear.NewBudget(MaxSteps, MaxBytes, MaxWall))
	switch {
	case f.Answer == isolation.Violated:
		v.Status, v.Reason = Violated, f.Reason
		v.Evidence = f.Steps
		for i, t := range f.Txns {
			if from[t].Return != history.Pending && from[t].Return > v.Event {
				v.Event, v.TimeNs = from[t].Return, from[t].ReturnTimeNs
			}
			if i < maxEvidence {
				v.Evidence = append(v.Evidence, fmt.Sprintf("%s (event %d) client %s: %s", seconds(from[t].CallTimeNs), from[t].Call, from[t].Client, accesses(from[t])))
			}
		}
		return v
	case f.Answer == isolation.Undecided:
		return unknown(p, "%s", f.Reason)
	case len(txns) == 0:
		return idle(p, "no transaction was reported")
	case committed*1_000_000 < len(txns)*minOkPPM || committed == 0:
		return idle(p, "only %d of %d transactions committed", committed, len(txns))
	case reads == 0 || writes == 0:
		return idle(p, "the transactions that committed read %d values and wrote %d: no result could have been wrong", reads, writes)
	}
	v.Status = Holds
	return v
}

// InSessions judges transactions of a history that has the order of each client and no times. At every level that order
// counts, as in the tools that write such histories.
func InSessions(p *world.Property, ops []history.Operation) Verdict {
	level := isolation.Level(p.Check.Level)
	switch {
	case p.Check.Type != world.Isolation || level == isolation.StrictSerializable:
		return Untimed(p)
	case p.Check.Model == ListAppend:
		return unknown(p, "the transactions of this history are over registers; judge them with --model %s", RWRegister)
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
func Untimed(p *world.Property) Verdict {
	return unknown(p, "the history has sessions and no times, so it can be judged for isolation only, and not in real time: add --isolation with read-committed, "+
		"read-atomic, causal, snapshot-isolation or serializable")
}

func noTransactions(model string) error {
	return fmt.Errorf("no model %q of transactions; there are %s and %s", model, ListAppend, RWRegister)
}

// accesses is what a transaction did, as it was reported.
func accesses(o *history.Operation) string {
	const shown = 300
	text := o.Output
	if o.Type != history.Ok || text == "" {
		text = o.Input
	}
	if len(text) > shown {
		return text[:shown] + "..."
	}
	return text
}

// knownLists has the longest list of each key that was read so far. Most lists are the beginning of another one, and share its memory.
type knownLists map[string]knownList

type knownList struct {
	text  string
	items []string
}

// elements reads a list that was read from a key.
func (k knownLists) elements(key, text string) ([]string, error) {
	before := k[key]
	if strings.Contains(text, `"`) || len(text) < 2 {
		return listed(text) // a text may have commas of its own
	}
	if n := len(text) - 1; len(before.text) >= len(text) && before.text[:n] == text[:n] && (before.text[n] == ',' || before.text[n] == ']') {
		count := strings.Count(text, ",") + 1
		if text == "[]" {
			count = 0
		}
		return before.items[:count:count], nil
	}
	if n := len(before.text) - 1; n > 1 && len(text) > n && before.text[:n] == text[:n] && text[n] == ',' {
		if more, ok := plainElements("[" + text[n+1:]); ok {
			before = knownList{text, append(before.items, more...)}
			k[key] = before
			return before.items[:len(before.items):len(before.items)], nil
		}
	}
	list, ok := plainElements(text)
	if !ok {
		return listed(text)
	}
	if len(text) > len(before.text) {
		k[key] = knownList{text, list}
	}
	return list, nil
}

// transaction reads one transaction. Its reads are in its output, its writes in its input too.
func transaction(o *history.Operation, lists bool, known knownLists) (isolation.Txn, error) {
	t := isolation.Txn{Client: o.Client, Call: o.Call, Return: o.Return}
	text := o.Input
	switch o.Type {
	case history.Ok:
		text = o.Output
	case history.Fail:
		t.Fate = isolation.Aborted
	default:
		t.Fate = isolation.Unknown
	}
	if text == "" {
		text = o.Input
		if o.Type == history.Ok {
			return t, fmt.Errorf("no output; it repeats the accesses, with the values that were read")
		}
	}
	rows, err := accessRows(text)
	if err != nil {
		return t, err
	}
	if o.Type == history.Ok && o.Input != "" {
		asked, err := accessRows(o.Input)
		if err != nil {
			return t, err
		}
		// Writes that the output leaves out would look as if no transaction had made them.
		if len(asked) > 0 && len(asked) != len(rows) {
			return t, fmt.Errorf("the output has %d accesses and the input %d; repeat all of them", len(rows), len(asked))
		}
		for i, row := range asked {
			for k := range min(len(row), len(rows[i]), 3) {
				if row[k] != rows[i][k] && (k < 2 || plain(row[0]) != "r") && plain(row[k]) != plain(rows[i][k]) {
					return t, fmt.Errorf("access %d is %s in the input and %s in the output", i+1, row, rows[i])
				}
			}
		}
	}
	t.Accesses = make([]isolation.Access, 0, len(rows))
	for _, row := range rows {
		if len(row) < 2 || len(row) > 3 {
			return t, fmt.Errorf("an access has a kind, a key and a value")
		}
		kind, key := plain(row[0]), plain(row[1])
		a := isolation.Access{Key: key}
		value := ""
		if len(row) == 3 && row[2] != "null" {
			value = row[2]
		}
		switch {
		case kind == "r":
			if value == "" {
				break
			}
			if a.Found = true; !lists {
				a.Value = plain(value)
				break
			}
			var err error
			if a.List, err = known.elements(key, value); err != nil {
				return t, err
			}
		case kind == "append" && lists || kind == "w" && !lists:
			if value == "" {
				return t, fmt.Errorf("%s of key %q without a value", kind, key)
			}
			a.Write, a.Value = true, plain(value)
		default:
			return t, fmt.Errorf("access %q is none of this model: %s has r and append, %s has r and w", kind, ListAppend, RWRegister)
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
		return nil, fmt.Errorf("%s is no list of accesses such as [\"append\",\"x\",1]", shorten(text))
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
