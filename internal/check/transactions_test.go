package check

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestKnownLists: lists that share memory are those that stand there, also after others grew.
func TestKnownLists(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	words := []string{"1", "2", "12", "-3", "null", "true", `"a"`, `"a,b"`, `"x\"y"`, "1.5"}
	known := knownLists{}
	type read struct {
		text string
		got  []string
	}
	var reads []read
	grown := []string{}
	for range 20_000 {
		switch {
		case r.IntN(40) == 0:
			grown = nil
		case r.IntN(2) == 0:
			grown = append(grown, words[min(r.IntN(len(words)), r.IntN(len(words)))])
		}
		list := slices.Clone(grown[:r.IntN(len(grown)+1)])
		if len(list) > 0 && r.IntN(10) == 0 {
			list[r.IntN(len(list))] = "7"
		}
		text := "[" + strings.Join(list, []string{",", ",", ", "}[r.IntN(3)]) + "]"
		got, err := known.elements("k", text)
		if err != nil {
			t.Fatal(err)
		}
		reads = append(reads, read{text, got})
	}
	for _, x := range reads {
		want, err := elements(x.text)
		if err != nil || len(want) != len(x.got) || len(want) > 0 && !reflect.DeepEqual(want, x.got) {
			t.Fatalf("%s became %q, want %q: %v", x.text, x.got, want, err)
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
