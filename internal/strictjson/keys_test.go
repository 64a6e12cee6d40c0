package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestUnique(t *testing.T) {
	long := []string{}
	for i := range 100 {
		long = append(long, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	for text, want := range map[string]string{
		`{}`: "", `[]`: "", `"a"`: "", `1`: "",
		`{"a":1,"b":{"a":2},"c":[{"a":1},{"a":1}]}`: "",
		`{"a":"b","b":"a:","c":"\":","d":":"}`:      "",
		`["a","a"]`:                                 "",
		`{"a":["b","b"],"b":1}`:                     "",
		`{"a":1} {"a":1}`:                           "",
		`{"a":1,"a":1}`:                             `"a" stands twice`,
		`{"a":1,"\u0061":1}`:                        `"a" stands twice`,
		`{"a" : 1, "b":[{"x":[],"y":{},
"x":1}]}`: `"x" stands twice in an object, again on line 2`,
		`{` + strings.Join(long, ",") + `}`:           "",
		`{` + strings.Join(long, ",") + `,"k3":null}`: `"k3" stands twice`,
	} {
		err := Unique([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		var twice *Twice
		if errors.As(err, &twice) && text[twice.Offset] != '"' {
			t.Errorf("%s: at %q", text, text[twice.Offset:])
		}
	}
}

// twice is the slow way, by the decoder's tokens.
func twice(text string) bool {
	d := json.NewDecoder(strings.NewReader(text))
	var value func() bool
	value = func() bool {
		open, err := d.Token()
		if err != nil && err != io.EOF {
			panic(err)
		}
		found := false
		seen := map[string]bool{}
		if delim, is := open.(json.Delim); is {
			for d.More() {
				if delim == '{' {
					name, _ := d.Token()
					found = found || seen[name.(string)]
					seen[name.(string)] = true
				}
				found = value() || found
			}
			d.Token()
		}
		return found
	}
	return value()
}

func TestUniqueAsByTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var value func(depth int) string
	value = func(depth int) string {
		n := r.IntN(4)
		texts := []string{`"a"`, `"b"`, `"\""`, `"a:"`, `"\u0061"`, `"{"`, `"]"`}
		some := func() string { return texts[r.IntN(len(texts))] }
		var parts []string
		switch kind := r.IntN(4); {
		case kind == 0 && depth > 0:
			for range n {
				parts = append(parts, some()+strings.Repeat(" ", r.IntN(2))+":"+value(depth-1))
			}
			return "{" + strings.Join(parts, ", ") + "}"
		case kind == 1 && depth > 0:
			for range n {
				parts = append(parts, value(depth-1))
			}
			return "[" + strings.Join(parts, "\n,") + "]"
		case kind == 2:
			return "1"
		}
		return some()
	}
	found := 0
	for range 20_000 {
		text := value(4)
		want := twice(text)
		if err := Unique([]byte(text)); (err != nil) != want {
			t.Fatalf("%s: %v, by tokens %v", text, err, want)
		}
		if want {
			found++
		}
	}
	if found < 100 || found > 15_000 {
		t.Errorf("%d of the texts have a key twice", found)
	}
}

// The version is read whatever the other fields are, and a field that the reader does not know is named.
func TestVersionAndUnknown(t *testing.T) {
	for text, want := range map[string]int{`{"v": 3, "x": [1, {}]}`: 3, `{"x": 1}`: 0, `{"v": "3"}`: 0, `[3]`: 0, `{"v": 3`: 0} {
		if got := Version([]byte(text), "v"); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	type inner struct {
		A int `json:"a"`
	}
	type outer struct {
		In []inner `json:"in"`
	}
	for text, want := range map[string]string{`{"in": [{"a": 1}]}`: "", `{"in": [{"a": 1, "b\"c": 2}]}`: `b"c`,
		`{"more": 1, "in": 7}`: "more", `{"in": 7}`: ""} {
		if got := Unknown([]byte(text), new(outer)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
