package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/big"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
)

// viperLogs are the files of a folder that Viper reads: of its own bench, and of Jepsen's clients.
const viperLogs = "J*.log"

// readViper reads the logs of a folder as Viper reads them: a session each, a transaction a line, in JSON or EDN. Beside r and w they have i and d, an
// insert and a delete, which read and then write, and range, which reads all keys from one to another: those that it does not return had no
// value. What a delete wrote is a value, as Viper has it. A transaction that is initial has the values at first.
func readViper(folder fs.FS) ([]history.Event, error) {
	names, err := fs.Glob(folder, viperLogs)
	if err != nil {
		return nil, err
	}
	v := &viper{initial: map[string]string{}, keys: map[string]*big.Int{}}
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, err
		}
		err = eachLine(bytes.NewReader(text), func(line string) error {
			if line == "" {
				return nil
			}
			return v.line(strings.TrimSuffix(name, ".log"), line)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return v.events()
}

type viper struct {
	txns    []viperTxn
	initial map[string]string
	keys    map[string]*big.Int // all, by their spelling
}

type viperTxn struct {
	session  string
	accesses []viperAccess
}

// viperAccess is an access, or a read of all keys of a range, of which none is those that were returned.
type viperAccess struct {
	access
	isRange  bool
	from, to *big.Int // nil: without a bound
	found    []access
}

func (v *viper) line(session, line string) error {
	var form ednForm
	var err error
	if json.Valid([]byte(line)) {
		form, err = formOf(json.RawMessage(line))
	} else {
		form, err = formOfEDN(line)
	}
	if err != nil {
		return err
	}
	m, ok := untagged(form).(ednMap)
	if !ok {
		return fmt.Errorf("%s is not a transaction", shown(form))
	}
	var value ednForm
	initial := false
	for i := 0; i+1 < len(m); i += 2 {
		switch word(m[i]) {
		case "value":
			value = m[i+1]
		case "type":
			if kind := word(m[i+1]); kind != string(history.Ok) {
				return nil // Viper judges what committed
			}
		case "isInitial":
			initial = m[i+1] == true
		}
	}
	rows, ok := value.(ednList)
	if !ok {
		return fmt.Errorf("the value of a transaction is %s, not a list of accesses", shown(value))
	}
	t := viperTxn{session: session}
	for _, row := range rows {
		fields, ok := row.(ednList)
		if !ok || len(fields) < 3 {
			return fmt.Errorf("%s is not an access", shown(row))
		}
		if err := v.access(&t, fields); err != nil {
			return fmt.Errorf("%s: %w", shown(row), err)
		}
	}
	if !initial {
		v.txns = append(v.txns, t)
		return nil
	}
	for _, a := range t.accesses {
		for _, a := range append(a.found, a.access) {
			if a.key != "" {
				v.initial[a.key] = a.value
			}
		}
	}
	return nil
}

// access adds an access to a transaction.
func (v *viper) access(t *viperTxn, fields ednList) error {
	kind := word(fields[0])
	if kind == "range" {
		return v.ranges(t, fields)
	}
	key, err := v.key(fields[1])
	if err != nil {
		return err
	}
	add := func(write bool, value ednForm) error {
		text, err := viperValue(value)
		if err == nil && write && text == "" {
			err = fmt.Errorf("a write without a value")
		}
		t.accesses = append(t.accesses, viperAccess{access: access{write, key, text}})
		return err
	}
	switch {
	case kind == "r":
		return add(false, fields[2])
	case kind == "w" && (len(fields) == 3 || fields[3] == true):
		return add(true, fields[2])
	case kind == "w": // it did not succeed
		return nil
	case (kind == "i" || kind == "d") && len(fields) >= 6:
		if err := add(false, fields[3]); err != nil || fields[5] != true {
			return err
		}
		return add(true, fields[2])
	}
	return fmt.Errorf("an access must be r, w, range, or an i or d with what it read and whether it succeeded")
}

// ranges adds a read of the keys of a range.
func (v *viper) ranges(t *viperTxn, fields ednList) error {
	a := viperAccess{isRange: true}
	for i, bound := range []**big.Int{&a.from, &a.to} {
		if f := fields[i+1]; f == nil || word(f) == "nil" {
			continue
		}
		key, err := v.key(fields[i+1])
		if err != nil {
			return err
		}
		*bound = v.keys[key]
	}
	for _, list := range fields[3:min(len(fields), 5)] {
		rows, ok := list.(ednList)
		if !ok {
			return fmt.Errorf("%s is not a list of a range's results", shown(list))
		}
		for _, row := range rows {
			m, ok := untagged(row).(ednMap)
			if !ok {
				return fmt.Errorf("%s has no id and val", shown(row))
			}
			var found access
			var err error
			for i := 0; i+1 < len(m) && err == nil; i += 2 {
				switch word(m[i]) {
				case "id":
					found.key, err = v.key(m[i+1])
				case "val":
					found.value, err = viperValue(m[i+1])
				}
			}
			if err != nil || found.key == "" {
				return fmt.Errorf("%s has no id and val", shown(row))
			}
			a.found = append(a.found, found)
		}
	}
	t.accesses = append(t.accesses, a)
	return nil
}

// key is the spelling of a key, which is an integer.
func (v *viper) key(f ednForm) (string, error) {
	n, ok := new(big.Int).SetString(word(f), 10)
	if _, number := f.(ednNumber); !number || !ok {
		return "", fmt.Errorf("the key %s is not an integer", shown(f))
	}
	v.keys[n.String()] = n
	return n.String(), nil
}

// viperValue is a value as JSON, or nothing for nil.
func viperValue(f ednForm) (string, error) {
	if f == nil || word(f) == "nil" {
		return "", nil
	}
	var s speller
	return string(s.inside(nil, f)), s.err
}

// unseen stands for no value where there was one at first: nobody wrote it.
const unseen = `"no value, although there was one at first"`

// events are the transactions, with each range as reads of its keys.
func (v *viper) events() ([]history.Event, error) {
	order := make([]string, 0, len(v.keys))
	for key := range v.keys {
		order = append(order, key)
	}
	slices.SortFunc(order, func(x, y string) int { return v.keys[x].Cmp(v.keys[y]) })
	s := &sessions{at: map[string]int{}}
	for i := range v.txns {
		t, err := s.addTransaction(v.txns[i].session, history.Ok)
		if err != nil {
			return nil, err
		}
		for _, a := range v.txns[i].accesses {
			if !a.isRange {
				t.accesses = append(t.accesses, v.since(a.access))
				continue
			}
			there := map[string]bool{}
			for _, found := range a.found {
				there[found.key] = true
				t.accesses = append(t.accesses, v.since(found))
			}
			for _, key := range order {
				n := v.keys[key]
				if !there[key] && (a.from == nil || n.Cmp(a.from) >= 0) && (a.to == nil || n.Cmp(a.to) <= 0) {
					t.accesses = append(t.accesses, v.since(access{key: key}))
				}
			}
		}
	}
	return s.events(false)
}

// since is an access where what there was at first is nothing.
func (v *viper) since(a access) access {
	first, known := v.initial[a.key]
	switch {
	case a.write || !known:
	case a.value == first:
		a.value = ""
	case a.value == "":
		a.value = unseen
	}
	return a
}
