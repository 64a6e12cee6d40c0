package histories

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/isolation"
)

// TestListTransactions: transactions that share memory are those that were reported, whatever their spelling, also after lists grew. What they are is
// what encoding/json reads.
func TestListTransactions(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	words := []string{"1", "2", "12", "-3", "null", "true", `"a"`, `"a,b"`, `"a]"`, `"x\"y"`, "1.5", "3000000000", "007", `"7"`, "[1,2]"}
	word := func() string { return words[min(r.IntN(len(words)), r.IntN(len(words)))] }
	all := NewListTransactions(0)
	var want []string
	grown := map[string][]string{}
	quick := 0
	for number := range 20_000 {
		var asked, got []string
		for range r.IntN(4) {
			key := []string{"1", `"1"`, `"k"`, `"a\"b"`, "[2]"}[min(r.IntN(5), r.IntN(5))]
			comma := []string{",", ",", ",", ", "}[r.IntN(4)]
			switch {
			case r.IntN(40) == 0:
				grown[key] = nil
			case r.IntN(2) == 0:
				grown[key] = append(grown[key], word())
			}
			if r.IntN(3) == 0 {
				access := fmt.Sprintf(`["append"%s%s,%s]`, comma, key, word())
				asked, got = append(asked, access), append(got, access)
				continue
			}
			list := slices.Clone(grown[key][:r.IntN(len(grown[key])+1)])
			if len(list) > 0 && r.IntN(10) == 0 {
				list[r.IntN(len(list))] = "8"
			}
			asked = append(asked, fmt.Sprintf(`["r",%s,null]`, key))
			got = append(got, fmt.Sprintf(`["r",%s,%s[%s]]`, key, comma[1:], strings.Join(list, comma)))
			if r.IntN(20) == 0 {
				got[len(got)-1] = fmt.Sprintf(`["r",%s]`, key)
			}
		}
		o := history.Operation{Client: "c", Op: "txn", Type: history.Ok, Call: uint64(2 * number), Return: uint64(2*number + 1),
			Input: "[" + strings.Join(asked, ",") + "]", Output: "[" + strings.Join(got, ",") + "]"}
		switch r.IntN(30) {
		case 0:
			o.Input = ""
		case 1:
			o.Input = "[]"
		case 2:
			o.Input = strings.Replace(o.Input, "1", "2", 1)
		case 3:
			o.Output = strings.Replace(o.Output, "]", "", 1)
		}
		n, ok := all.plain(o.Output)
		all.log.Drop()
		if ok {
			quick++
		}
		readsBefore, writesBefore := all.count.reads, all.count.writes
		err := all.add(number, &o)
		slow := NewListTransactions(0)
		m, slowErr := slow.rows(&o)
		if fmt.Sprint(err) != fmt.Sprint(slowErr) {
			t.Fatalf("%s -> %s: %v, want %v", o.Input, o.Output, err, slowErr)
		}
		if err != nil {
			all.log.Drop()
			want = append(want, "")
			continue
		}
		if ok && n != m || all.count.reads-readsBefore != m.reads || all.count.writes-writesBefore != m.writes {
			t.Fatalf("%s: %+v, want %+v", o.Output, n, m)
		}
		slow.log.Add(0, "c", isolation.Committed, 0, 1)
		want = append(want, allOf(slow.log, 0))
	}
	for number, text := range want {
		if text == "" {
			continue
		}
		if got := allOf(all.log, number); got != text {
			t.Fatalf("transaction %d became %s, want %s", number, got, text)
		}
	}
	if quick < 5000 {
		t.Fatalf("only %d texts were read quickly", quick)
	}
}

// allOf are the accesses of a transaction.
func allOf(log *isolation.ListLog, number int) string {
	var all []isolation.ListAccess
	log.Accesses(number, func(a isolation.ListAccess) { all = append(all, a) })
	return fmt.Sprintf("%#v", all)
}

// TestWordsOfTransactions: evidence has accesses as they are reported.
func TestWordsOfTransactions(t *testing.T) {
	for _, text := range []string{
		`[["append","x",1],["r","x",[1]]]`,
		`[["r",5,null],["r","a\"b",[]],["append",5,"v"]]`,
		`[["r","k",[1,2,3,"a,b",true]]]`,
	} {
		all := NewListTransactions(1)
		all.Add(0, &history.Operation{Client: "c", Op: "txn", Type: history.Ok, Output: text})
		if got := all.words(0); all.broken != nil || got != text {
			t.Errorf("%s became %s: %v", text, got, all.broken)
		}
	}
}

// TestPlainRows: what the quick way reads, encoding/json reads alike.
func TestPlainRows(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	pieces := []string{"[", "]", ",", " ", `"r"`, `"append"`, "1", "-2", "0", "01", "-", "null", "nul", "true", `"a\n"`, "{", "1.5", "[1,2]", `["x",[`, "[["}
	quick := 0
	for range 300_000 {
		var b strings.Builder
		b.WriteString("[[")
		for range r.IntN(9) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		b.WriteString("]]")
		text := b.String()
		got, ok := plainRows(text)
		if !ok {
			continue
		}
		quick++
		var raw [][]json.RawMessage
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatalf("%s became %q: %v", text, got, err)
		}
		if want := fmt.Sprintf("%s", raw); want != fmt.Sprintf("%s", got) || len(raw) != len(got) {
			t.Fatalf("%s became %s, want %s", text, got, want)
		}
		for i := range raw {
			if len(raw[i]) != len(got[i]) {
				t.Fatalf("%s became %q", text, got)
			}
		}
	}
	if quick < 1000 {
		t.Fatalf("only %d texts were read quickly", quick)
	}
}
