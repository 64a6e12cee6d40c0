package values

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func TestSpellings(t *testing.T) {
	for raw, want := range map[string]string{
		`1`: "1", `1.0`: "1", `1e0`: "1", `10e-1`: "1", `-0`: "0", `0.0`: "0", `-1.50`: "-1.5", `100`: "100", `1e2`: "100", `0.001`: "0.001", `1e-3`: "0.001",
		`1e1000000`: "1e1000000", `1e99999999999999999999`: "1e99999999999999999999", `12.5e1`: "125",
		`"1"`: `"1"`, `"x"`: "x", `"\u0078"`: "x", `"\u0031"`: `"1"`, `"1.0"`: `"1.0"`, `"-"`: "-", `"1x"`: "1x", `"7f3e"`: "7f3e", `"7e3"`: `"7e3"`, `""`: "",
		`"null"`: `"null"`, `"nil"`: "nil", `"true"`: `"true"`, `"[1]"`: `"[1]"`, `"\"a"`: `"\"a"`, `":a"`: ":a",
		`[1, "1", 1.0]`: `[1,"1",1]`, `{"b":1,"a":[1e1]}`: `{"a":[10],"b":1}`, `null`: "null", `[null,true]`: "[null,true]",
	} {
		if got := OfJSON(raw); got != want {
			t.Errorf("%s is spelt %s, want %s", raw, got, want)
		}
	}
	for text, want := range map[string]string{"": `""`, "a": "a", ":a": `":a"`, "#a": `"#a"`, `\a`: `"\\a"`, "'a": `"'a"`,
		"1/2": `"1/2"`, "1M": `"1M"`, "nil": "nil"} {
		got := TextOfEDN(text)
		back, ok := AsText(got)
		if got != want || back != text || !ok {
			t.Errorf("%q is spelt %s, want %s; back %q %v", text, got, want, back, ok)
		}
	}
	for _, other := range []string{"1", ":a", "null", "[1]", "", "1/2"} {
		if text, ok := AsText(other); ok {
			t.Errorf("%s is the text %q", other, text)
		}
	}
}

// same is equality of JSON as its slow twin has it: numbers as fractions, all else as decoded.
func same(x, y any) bool {
	a, isNumber := x.(json.Number)
	b, both := y.(json.Number)
	if isNumber && both {
		p, _ := new(big.Rat).SetString(a.String())
		q, _ := new(big.Rat).SetString(b.String())
		return p.Cmp(q) == 0
	}
	if isNumber != both || reflect.TypeOf(x) != reflect.TypeOf(y) {
		return false
	}
	switch v := x.(type) {
	case []any:
		w := y.([]any)
		equal := len(v) == len(w)
		for i := 0; i < len(v) && equal; i++ {
			equal = same(v[i], w[i])
		}
		return equal
	case map[string]any:
		w := y.(map[string]any)
		equal := len(v) == len(w)
		for k := range v {
			other, there := w[k]
			equal = equal && there && same(v[k], other)
		}
		return equal
	}
	return x == y
}

func decoded(t *testing.T, raw string) (v any) {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

// TestEqualValuesAreSpeltAlike: values of JSON have one spelling exactly if they are equal.
func TestEqualValuesAreSpeltAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	leaves := []string{"1", "1.0", "1e0", "-1", "0", "-0", "0.0", "10", "1e1", "100e-1", "0.1", "1e-1", `"1"`, `"1.0"`,
		`"\u0031"`, `""`, `"null"`, "null", "true", "false",
		`"true"`, `"a"`, `"[1]"`, `"\"1\""`, `":a"`, "1000000000000000000000000", "1e24", "123456789012345678901234567890", `"{}"`}
	var value func(depth int) string
	value = func(depth int) string {
		switch kind := r.IntN(5); {
		case kind == 0 && depth > 0:
			return fmt.Sprintf("[%s, %s]", value(depth-1), value(depth-1))
		case kind == 1 && depth > 0:
			return fmt.Sprintf("[%s]", value(depth-1))
		case kind == 2 && depth > 0:
			pair := [2]string{fmt.Sprintf(`"a":%s`, value(depth-1)), fmt.Sprintf(`"1" : %s`, value(depth-1))}
			first := r.IntN(2)
			return fmt.Sprintf("{%s, %s}", pair[first], pair[1-first])
		}
		return leaves[r.IntN(len(leaves))]
	}
	equal := 0
	for range 50_000 {
		x, y := value(2), value(2)
		want := same(decoded(t, x), decoded(t, y))
		if got := OfJSON(x) == OfJSON(y); got != want {
			t.Fatalf("%s and %s: equal %v, and spelt %s and %s", x, y, want, OfJSON(x), OfJSON(y))
		}
		if want {
			equal++
		}
	}
	if equal < 500 {
		t.Errorf("%d pairs are equal: too few to prove anything", equal)
	}
}
