package world

import "testing"

// What a probe says is known by its code, whatever its words are.
func TestProbeCode(t *testing.T) {
	for _, c := range []struct {
		text ProbeText
		args []any
	}{
		{WrongStatus, []any{"http://n1:80/x", 500, 200}}, {WrongBody, []any{"http://n1:80/x", `a "b"`, "c"}},
		{WrongReply, []any{"redis://n1", "GET a", "1", "2"}}, {ErrorReply, []any{"redis://n1", "GET a", "ERR no"}},
		{WrongRows, []any{"mysql://n1", "SELECT a: b", "1", "2"}}, {NodesDiffer, []any{`n1, n2 say "1"; n3 says "2"`}},
		{NodesSilent, []any{"n1, n2"}}, {NodeStrange, []any{"n1", "a+"}}, {NodesStrange, []any{"n1, n2", "a+"}},
		{QueryRefused, []any{"mysql://n1", "SELECT 1", "no such table: t"}},
	} {
		if got := ProbeCode(c.text.Say(c.args...) + "\nmore"); got != c.text.Code {
			t.Errorf("%s is known as %s, not %s", c.text.Say(c.args...), got, c.text.Code)
		}
	}
	if got := ProbeCode("something else"); got != ProbeWrong {
		t.Errorf("other words are known as %s", got)
	}
}
