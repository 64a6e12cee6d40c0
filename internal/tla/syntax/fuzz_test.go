package syntax

import (
	"strings"
	"testing"
	"time"
)

// FuzzParse reads texts as modules, expressions and configurations: what is wrong with them is an error with a place, and nothing else.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"---- MODULE A ----\nEXTENDS B\nCONSTANTS C, Op(_, _), _+_\nVARIABLES x\nRECURSIVE F(_)\nF(n) == IF n = 0 THEN 1 ELSE F(n - 1)\ng[n \\in S] == n\n" +
			"I(p) == INSTANCE D WITH z <- p, + <- Op\nLOCAL INSTANCE E\nASSUME P == C > 0\n---- MODULE In ----\n====\nTHEOREM T " +
			"== F(1)\n<1>1. QED BY DEF F\n====",
		"/\\ a = 1\n/\\ \\/ b\n   \\/ c\n/\\ d", "[x \\in S, <<y, z>> \\in T |-> x]", "[a |-> 1, b |-> 2].a", "[f EXCEPT ![a].b = @ + 1, ![c, d] = 2]",
		"CASE a -> 1 [] OTHER -> 2", "LET RECURSIVE F(_) F(x) == x y == 1 IN F(y)", "{x + y : x, y \\in S}", "{x \\in S : P}", "[][Next]_<<x, y>> /\\ WF_x(A)",
		"CHOOSE x : x \\notin S", "\\A x, y \\in S, <<a, b>> \\in T : P", "I!J(1)!K", "F(+, LAMBDA x : x)",
		"(* c (* d *) *) a \\* e", "\"a\\\"b\"", "a ≤ b", "lab:: x",
		"SPECIFICATION Spec\nCONSTANTS N = {a, \"b\", {1}}\nOp <- [M]Other\nCHECK_DEADLOCK FALSE",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		placed := func(err error) {
			if e, ok := err.(*Error); err != nil && (!ok || e.Pos.Line < 1 || e.Pos.Column < 1) {
				t.Errorf("no place in %v", err)
			}
		}
		_, err := Parse("text", s)
		placed(err)
		_, err = ParseExpr("text", s)
		placed(err)
		_, err = Tokens("text", s)
		placed(err)
	})
}

// TestDeep reads what is too deep, or long: an error, and soon.
func TestDeep(t *testing.T) {
	const n = 200_000
	for _, c := range []struct{ name, text, want string }{
		{"parentheses", strings.Repeat("(", n) + "1" + strings.Repeat(")", n), "deep"},
		{"negations", strings.Repeat("~", n) + "a", "deep"},
		{"sets", strings.Repeat("{", n), "deep"},
		{"functions within bounds", strings.Repeat("[x \\in ", n), "deep"},
		{"sums", "1" + strings.Repeat(" + 1", n), "in a row"},
		{"sums in parentheses", strings.Repeat("(1 + ", n), "deep"},
		{"conditions", strings.Repeat("IF a THEN b ELSE ", n) + "c", "deep"},
		{"labels", strings.Repeat("a:: ", n) + "c", "deep"},
		{"fields", "a" + strings.Repeat(".b", n), "behind each other"},
		{"arguments", "a" + strings.Repeat("[1]", n), "behind each other"},
		{"primes", "a" + strings.Repeat("'", n), "behind each other"},
		{"sums in sums", strings.Repeat("(", 30) + "1" + strings.Repeat(strings.Repeat(" + 1", 9000)+")", 30), "behind each other"},
		{"fields of brackets", strings.Repeat("(", 30) + "a" + strings.Repeat(strings.Repeat(".b", 9000)+")", 30), "behind each other"},
		{"many sums beside each other", "<<" + strings.Repeat("1 + 1 + 1 + 1 + 1, ", 10_000) + "1>>", ""},
		{"subscripts", "[][a]_b" + strings.Repeat(".c", n), "behind each other"},
		{"comments", strings.Repeat("(*", n), "does not end"},
		{"names", strings.Repeat("a, ", n), "not expected"},
		{"some functions within bounds", strings.Repeat("[x \\in ", 100) + "S" + strings.Repeat(" |-> x]", 100), ""},
		{"some actions", strings.Repeat("[x \\in ", 100) + "S" + strings.Repeat("]_x", 100), ""},
		{"a long conjunction", "a" + strings.Repeat(" /\\ a", 100_000), "in a row"},
	} {
		begin := time.Now()
		_, err := ParseExpr("text", c.text)
		if got := ""; err != nil {
			got, _, _ = strings.Cut(err.Error(), "\n")
			if c.want == "" || !strings.Contains(got, c.want) {
				t.Errorf("%s: %.300s", c.name, got)
			}
		} else if c.want != "" {
			t.Errorf("%s: no error", c.name)
		}
		t.Logf("%s: %v", c.name, time.Since(begin))
	}
	_, err := Parse("text", strings.Repeat("---- MODULE A ----\n", n))
	if err == nil {
		t.Error("modules within modules: no error")
	}
}
