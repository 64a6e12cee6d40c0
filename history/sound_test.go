package history

import (
	"strings"
	"testing"
)

func TestRecordsThatJSONReadsInSilence(t *testing.T) {
	const head = `{"client":"a","type":"invoke","op":"put","key":"k",`
	for _, c := range []struct{ rest, want string }{
		{`"input":"\udc80"}`, "surrogate"},
		{`"input":"\ud83d"}`, "surrogate"},
		{`"input":"\ud83dx"}`, "surrogate"},
		{`"input":"\ud83d\u0041"}`, "surrogate"},
		{`"input":"\ud83d\ude00"}`, ""},
		{`"input":"\\udc80"}`, ""},
		{`"input":"\u00e9"}`, ""},
		{`"input":"1","input":"2"}`, `"input" stands twice`},
		{`"input":"1","key" : "l"}`, `"key" stands twice`},
		{`"input":"1","\u0069nput":"2"}`, `"input" stands twice`},
		{`"INPUT":"1"}`, `unknown field "INPUT"`},
		{`"input":"a\"key\":"}`, ""},
		{`"input":"key","error":"input"}`, ""},
	} {
		_, err := parseRecords([]byte(head + c.rest + "\n"))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.rest, err, c.want)
		}
	}
}
