package history

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestQuickRecords: what the quick way reads, encoding/json reads alike. Records are put together of pieces that fit and of pieces that do not.
func TestQuickRecords(t *testing.T) {
	names := []string{"number", "time_ns", "client", "type", "op", "key", "input", "expect", "output", "found", "error", "node",
		"Key", "other", `ke\u0079`, `k\/ey`}
	values := []string{`"invoke"`, `"ok"`, `"fail"`, `"info"`, `"broken"`, `"x"`, `"c1"`, `"get"`, `"put"`, `""`, `"a\"b\\c\/\n"`,
		`"\u00e9"`, `"é"`, `"\ud800"`, `"\x"`,
		"\"\xff\"", "\"a\tb\"", "0", "7", "-7", "-0", "01", "-", "1.5", "1e3", "18446744073709551615", "18446744073709551616", "9223372036854775807",
		"-9223372036854775808", "1234567890123456789", "true", "false", "null", "nul", "[]", "{}", "[1]", `"unclosed`, ""}
	fitting := map[string][]string{"number": {"1", "0"}, "time_ns": {"5", "-5"}, "type": values[:4], "found": {"true", "false"}}
	pick := func(r *rand.Rand, of []string) string { return of[r.IntN(len(of))] }
	r := rand.New(rand.NewPCG(1, 2))
	d := decoder{many: true}
	quick, same := 0, 0
	for range 300_000 {
		var b strings.Builder
		space := func() { b.WriteString(pick(r, []string{"", "", "", "", "", " ", "\t", "\r"})) }
		space()
		b.WriteString("{")
		fields := r.IntN(8)
		for i := range fields {
			name := pick(r, names)
			if i < 3 && r.IntN(4) > 0 {
				name = []string{"client", "type", "op"}[i]
			}
			value := pick(r, values)
			if of := fitting[name]; of != nil && r.IntN(8) > 0 {
				value = pick(r, of)
			}
			if i > 0 && r.IntN(50) > 0 {
				b.WriteString(",")
			}
			space()
			b.WriteString(`"` + name + `"`)
			space()
			b.WriteString(":")
			space()
			b.WriteString(value)
			space()
		}
		b.WriteString(pick(r, []string{"}", "}", "}", "}", "}", "}", "}", "", "}}", "} {", "},"}))
		line := []byte(b.String())
		got, numbered, ok := d.quick(line)
		if !ok {
			continue
		}
		quick++
		want, wantNumbered, err := parseRecord(line)
		if err != nil || got != want || numbered != wantNumbered {
			t.Fatalf("%s\nquick: %+v %v\njson:  %+v %v %v", line, got, numbered, want, wantNumbered, err)
		}
		if again, err := json.Marshal(&got); err == nil {
			if e, _, ok := d.quick(again); ok && e == got {
				same++
			}
		}
	}
	if quick < 5000 || same < 5000 {
		t.Fatalf("only %d records were read quickly, %d of them again", quick, same)
	}
}

// TestPairing: events that come one after the other make the operations that they make together, and errors alike.
func TestPairing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	types := []Type{Invoke, Ok, Invoke, Ok, Fail, Info, Broken}
	whole, wrong, unordered := 0, 0, 0
	for range 20_000 {
		var events []Event
		number := uint64(0)
		open := map[string]bool{}
		for range r.IntN(12) {
			number += uint64(min(1, r.IntN(40)))
			if r.IntN(60) == 0 && number > 2 {
				number -= 2
			}
			e := Event{Number: number, TimeNs: int64(number) * 7, Client: string(rune('a' + r.IntN(4))), Op: "get", Key: "k"}
			e.Type = Invoke
			if open[e.Client] {
				e.Type = Ok
			}
			if r.IntN(30) == 0 {
				e.Type = types[r.IntN(len(types))]
			}
			open[e.Client] = e.Type == Invoke
			events = append(events, e)
		}
		p := NewPairing(0)
		for i := range events {
			p.Add(&events[i])
		}
		got, err := p.Operations()
		want, wantErr := Pair(events)
		switch {
		case p.unordered != nil:
			unordered++
		case (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error():
			t.Fatalf("%+v: %v, want %v", events, err, wantErr)
		case len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want):
			t.Fatalf("%+v: %+v, want %+v", events, got, want)
		case err != nil:
			wrong++
		default:
			whole++
		}
	}
	if whole < 1000 || wrong < 1000 || unordered < 100 {
		t.Fatalf("%d were whole, %d wrong and %d out of order", whole, wrong, unordered)
	}
}
