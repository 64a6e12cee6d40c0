package workload

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Models of transactions, as checks name them.
const (
	listAppend = "list-append"
	rwRegister = "rw-register"
)

// maxAccesses bounds the accesses of a transaction.
const maxAccesses = 4

// access is one access of a transaction, as histories write it: ["append", "x", 1], ["w", "x", 1], ["r", "x", null].
type access struct {
	verb  string
	key   string
	write bool
	value int
	read  json.RawMessage
}

// transaction draws the accesses of a transaction: one to maxAccesses, each a read or a write of a value that no other
// transaction of the run writes.
func (c *chooser) transaction(d *dice, p pattern, nth uint64, k int) string {
	list := make([]access, 1+d.below(maxAccesses))
	for i := range list {
		a := &list[i]
		a.verb, a.key = "r", p.key(d, c.client, nth)
		if a.write = d.below(2) == 1; a.write {
			a.verb, a.value = c.verb, (k*c.clients+c.client)*maxAccesses+i+1
		}
	}
	return formatAccesses(list)
}

func formatAccesses(list []access) string {
	var b strings.Builder
	for i, a := range list {
		key, _ := json.Marshal(a.key)
		value := string(a.read)
		switch {
		case a.write:
			value = fmt.Sprint(a.value)
		case value == "":
			value = "null"
		}
		fmt.Fprintf(&b, `%c["%s",%s,%s]`, "[,"[min(i, 1)], a.verb, key, value)
	}
	return b.String() + "]"
}

func parseAccesses(text string) ([]access, error) {
	var rows [][3]any
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("no accesses: %w", err)
	}
	list := make([]access, len(rows))
	for i, row := range rows {
		a := &list[i]
		a.verb, _ = row[0].(string)
		a.key, _ = row[1].(string)
		if a.write = a.verb != "r"; a.write {
			number, _ := row[2].(float64)
			a.value = int(number)
		}
	}
	return list, nil
}
