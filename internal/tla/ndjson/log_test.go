package ndjson

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// What is written with a point or an exponent is an integer only if no digit is lost.
func TestNumbersOfALog(t *testing.T) {
	r := &Log{File: "log.ndjson"}
	for text, want := range map[string]int64{"4": 4, "-0": 0, "4.0": 4, "40e-1": 4, "1.5e3": 1500,
		"9223372036854775807": 9223372036854775807, "9007199254740993.0": 9007199254740993} {
		if n, err := r.number(json.Number(text), 1); err != nil || n != value.Value(value.Int(want)) {
			t.Errorf("%s is %v, %v", text, n, err)
		}
	}
	for _, text := range []string{"4.5", "-0.1", "1e-3", "4.00000000000000000001"} {
		n, err := r.number(json.Number(text), 7)
		if _, ok := n.(*value.Fraction); !ok || err != nil || value.Short(n) != text+" of log.ndjson:7" {
			t.Errorf("%s is %v, %v", text, n, err)
		}
	}
	for _, text := range []string{"9223372036854775808", "1e19", "1e999999999", "1e-999999999"} {
		if n, err := r.number(json.Number(text), 1); err == nil {
			t.Errorf("%s is taken for %v", text, n)
		}
	}
}

// A key that an object has twice is a mistake of the log, with its place: of its two values one would be taken in silence.
func TestKeysTwiceInALog(t *testing.T) {
	read := func(text string) (mistake string) {
		defer func() {
			if p := recover(); p != nil {
				mistake = fmt.Sprint(p)
			}
		}()
		readJSON("log.ndjson", []byte(text))
		return ""
	}
	if mistake := read("{\"a\":1}\n{\"a\":{\"b\":1}, \"b\":2}\n"); mistake != "" {
		t.Error(mistake)
	}
	if mistake := read("{\"a\":1}\n{\"a\":{\"b\":1, \"b\":2}}\n"); !strings.Contains(mistake, `"b" stands twice`) ||
		!strings.Contains(mistake, "log.ndjson:2:14") {
		t.Errorf("%q", mistake)
	}
}

// A fraction is carried along. Nothing but another one can be compared with it.
func TestFractions(t *testing.T) {
	r := &Log{File: "log.ndjson"}
	of := func(text string) value.Value {
		n, err := r.number(json.Number(text), 1)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	half := of("4.5")
	if !value.Equal(half, of("45e-1")) || half.Fingerprint() != of("4.50").Fingerprint() || value.Equal(half, of("4.25")) ||
		value.Compare(half, of("4.25")) <= 0 {
		t.Error("fractions are compared by their numbers")
	}
	if text := string(library.ToJSON(value.NewTuple([]value.Value{half}), library.JSONAny)); text != "[4.5]" {
		t.Error(text)
	}
	for name, f := range map[string]func(){
		"equal":   func() { value.Equal(value.Int(4), half) },
		"ordered": func() { value.Compare(half, value.Int(4)) },
		"member":  func() { value.Contains(value.Naturals, half) },
		"found":   func() { value.Contains(value.NewSet([]value.Value{value.Int(4)}), half) },
		"index":   func() { value.Apply(value.NewTuple([]value.Value{half}), half) },
		"sum":     func() { library.Integer(half) },
		"truth":   func() { library.Boolean(half) },
	} {
		func() {
			defer func() {
				if e, ok := recover().(*value.Error); !ok || !strings.Contains(e.Message, "4.5 of log.ndjson:1") {
					t.Errorf("%s: %v", name, e)
				}
			}()
			f()
			t.Errorf("%s: there is no error", name)
		}()
	}
}
