package syntax

import (
	"fmt"
	"strings"
	"testing"
)

// show writes an expression with all its parentheses.
func show(e Expr) string {
	list := func(items []Expr, between string) string {
		var s []string
		for _, i := range items {
			s = append(s, show(i))
		}
		return strings.Join(s, between)
	}
	bounds := func(list []Bound) string {
		var s []string
		for _, b := range list {
			var names []string
			for _, n := range b.Names {
				names = append(names, n.Text)
			}
			text := strings.Join(names, ",")
			if b.Pattern {
				text = "<<" + text + ">>"
			}
			if b.Set != nil {
				text += " in " + show(b.Set)
			}
			s = append(s, text)
		}
		return strings.Join(s, "; ")
	}
	fields := func(list []FieldValue) string {
		var s []string
		for _, f := range list {
			s = append(s, f.Text+"="+show(f.Value))
		}
		return strings.Join(s, ",")
	}
	switch e := e.(type) {
	case *Apply:
		path := ""
		for _, s := range e.Path {
			path += s.Text
			if len(s.Args) > 0 {
				path += "(" + list(s.Args, ",") + ")"
			}
			path += "!"
		}
		if len(e.Args) == 0 {
			return path + e.Name
		}
		return path + e.Name + "(" + list(e.Args, ",") + ")"
	case *Number:
		return e.Text
	case *String:
		return fmt.Sprintf("%q", e.Text)
	case *Paren:
		if e.Label != "" {
			return e.Label + "::" + show(e.Inner)
		}
		return "(" + show(e.Inner) + ")"
	case *Junction:
		op := "or"
		if e.And {
			op = "and"
		}
		return op + "[" + list(e.Items, "|") + "]"
	case *Quantified:
		return e.Kind + "{" + bounds(e.Bounds) + ": " + show(e.Body) + "}"
	case *Choose:
		return "choose{" + bounds([]Bound{e.Bound}) + ": " + show(e.Body) + "}"
	case *SetEnum:
		return "{" + list(e.Items, ",") + "}"
	case *SetFilter:
		return "filter{" + bounds([]Bound{e.Bound}) + ": " + show(e.Body) + "}"
	case *SetMap:
		return "map{" + show(e.Body) + ": " + bounds(e.Bounds) + "}"
	case *FunctionOf:
		return "fn{" + bounds(e.Bounds) + ": " + show(e.Body) + "}"
	case *FunctionSet:
		return "fns{" + show(e.Domain) + "->" + show(e.Range) + "}"
	case *Index:
		return show(e.Function) + "[" + list(e.Args, ",") + "]"
	case *Field:
		return show(e.Record) + "." + e.Name
	case *Record:
		return "rec{" + fields(e.Fields) + "}"
	case *RecordSet:
		return "recs{" + fields(e.Fields) + "}"
	case *Except:
		var s []string
		for _, u := range e.Updates {
			text := ""
			for _, p := range u.Places {
				text += "[" + list(p, ",") + "]"
			}
			s = append(s, text+"="+show(u.Value))
		}
		return "except{" + show(e.Function) + " " + strings.Join(s, "; ") + "}"
	case *At:
		return "@"
	case *Tuple:
		return "<<" + list(e.Items, ",") + ">>"
	case *Product:
		return "product{" + list(e.Sets, ",") + "}"
	case *Action:
		if e.Angle {
			return "angle{" + show(e.Body) + " _ " + show(e.Subscript) + "}"
		}
		return "box{" + show(e.Body) + " _ " + show(e.Subscript) + "}"
	case *Fairness:
		return fmt.Sprintf("fair{%v %s _ %s}", e.Strong, show(e.Body), show(e.Subscript))
	case *If:
		return "if{" + show(e.Cond) + "?" + show(e.Then) + ":" + show(e.Else) + "}"
	case *Case:
		var s []string
		for _, a := range e.Arms {
			s = append(s, show(a.Cond)+"->"+show(a.Value))
		}
		if e.Other != nil {
			s = append(s, "other->"+show(e.Other))
		}
		return "case{" + strings.Join(s, ",") + "}"
	case *Let:
		var s []string
		for _, u := range e.Units {
			s = append(s, showUnit(u))
		}
		return "let{" + strings.Join(s, ";") + " in " + show(e.Body) + "}"
	case *Lambda:
		var s []string
		for _, p := range e.Params {
			s = append(s, p.Text)
		}
		return "lambda{" + strings.Join(s, ",") + ": " + show(e.Body) + "}"
	}
	return fmt.Sprintf("%T", e)
}

func showUnit(u Unit) string {
	params := func(list []Param) string {
		var s []string
		for _, p := range list {
			text := p.Text
			if p.Arity > 0 {
				text += fmt.Sprint("/", p.Arity)
			}
			s = append(s, text)
		}
		return "(" + strings.Join(s, ",") + ")"
	}
	switch u := u.(type) {
	case *Operator:
		return u.Text + params(u.Params) + "=" + show(u.Body)
	case *Function:
		return u.Text + "[..]=" + show(u.Body)
	case *Instance:
		var s []string
		for _, w := range u.Substitutions {
			s = append(s, w.Text+"<-"+show(w.Value))
		}
		return u.Text + params(u.Params) + "=instance " + u.Module.Text + "{" + strings.Join(s, ",") + "}"
	case Constants:
		return "constants" + params(u.List)
	case Recursive:
		return "recursive" + params(u.List)
	}
	return fmt.Sprintf("%T", u)
}

func TestExpressions(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a + b * c - d", "+(a,-(*(b,c),d))"},
		{"a - b + c", "+(-(a,b),c)"},
		{"-a + b", "+(-.(a),b)"},
		{"a + -b", "+(a,-.(b))"},
		{"~a /\\ b", "and[~(a)|b]"},
		{"a = b /\\ c # d", "and[=(a,b)|#(c,d)]"},
		{"a \\in b \\cup c", "\\in(a,\\cup(b,c))"},
		{"SUBSET a \\ b", "\\(SUBSET(a),b)"},
		{"SUBSET (a \\ b)", "SUBSET(\\(a,b))"},
		{"DOMAIN f \\ {1}", "\\(DOMAIN(f),{1})"},
		{"x' = x + 1", "=('(x),+(x,1))"},
		{"f[1]'.a", "'(f[1]).a"},
		{"a.b[c].d", "a.b[c].d"},
		{"1..n-1", "..(1,-(n,1))"},
		{"A \\X B \\X C", "product{A,B,C}"},
		{"(A \\X B) \\X C", "product{(product{A,B}),C}"},
		{"(a /\\ b) /\\ c", "and[(and[a|b])|c]"},
		{"a /\\ b /\\ c", "and[a|b|c]"},
		{"a => b \\/ c", "=>(a,or[b|c])"},
		{"[]P => <>Q", "=>([](P),<>(Q))"},
		{"[][Next]_vars /\\ WF_vars(Next)", "and[[](box{Next _ vars})|fair{false Next _ vars}]"},
		{"SF_<<a, b>>(A)", "fair{true A _ <<a,b>>}"},
		{"<<A>>_v", "angle{A _ v}"},
		{"\\A x \\in S, y \\in T : P /\\ Q", "\\A{x in S; y in T: and[P|Q]}"},
		{"\\E x, y \\in S : P", "\\E{x,y in S: P}"},
		{"\\E <<a, b>> \\in S : P", "\\E{<<a,b>> in S: P}"},
		{"{x \\in S : P}", "filter{x in S: P}"},
		{"{x + 1 : x \\in S}", "map{+(x,1): x in S}"},
		{"{<<x, y>> \\in S : P}", "filter{<<x,y>> in S: P}"},
		{"{x \\in S, y}", "{\\in(x,S),y}"},
		{"[x \\in S |-> x]", "fn{x in S: x}"},
		{"[x, y \\in S |-> x]", "fn{x,y in S: x}"},
		{"[S -> T]", "fns{S->T}"},
		{"[a |-> 1, b |-> 2].a", "rec{a=1,b=2}.a"},
		{"[a : S, b : T]", "recs{a=S,b=T}"},
		{"[f EXCEPT ![a].b = @ + 1, ![c, d] = 2]", `except{f [a]["b"]=+(@,1); [c,d]=2}`},
		{"[x \\in S /\\ y]_v", "box{and[\\in(x,S)|y] _ v}"},
		{"IF a THEN b ELSE c + 1", "if{a?b:+(c,1)}"},
		{"CASE a -> 1 [] b -> 2 [] OTHER -> 3", "case{a->1,b->2,other->3}"},
		{"LET x == 1 f[y \\in S] == y IN x", "let{x()=1;f[..]=y in x}"},
		{"LET a ++ b == a IN 1 ++ 2", "let{++(a,b)=a in ++(1,2)}"},
		{"F(+, LAMBDA x, y : x)", "F(+,lambda{x,y: x})"},
		{"I!J(1)!Op(2)", "I!J(1)!Op(2)"},
		{"CHOOSE x \\in S : x > 1", "choose{x in S: >(x,1)}"},
		{"a \\leq b", "\\leq(a,b)"},
		{"a <= b", "\\leq(a,b)"},
		{"a ≤ b ∧ x ∈ S", "and[\\leq(a,b)|\\in(x,S)]"},
		{"\\b101 + \\hFF + \\o17", "+(+(5,255),15)"},
		{`"a\"b\\"`, `"a\"b\\"`},
		{"(* a (* nested *) one *) x \\* and the rest", "x"},
		{"\n  /\\ a\n  /\\ \\/ b\n     \\/ c\n  /\\ d", "and[a|or[b|c]|d]"},
		{"\n  /\\ a => b\n  /\\ c", "and[=>(a,b)|c]"},
		{"\n  \\/ a /\\ b\n  \\/ c", "or[and[a|b]|c]"},
		{"\n  /\\ IF x\n     THEN /\\ a\n          /\\ b\n     ELSE c\n  /\\ d", "and[if{x?and[a|b]:c}|d]"},
		{"x = (\n /\\ a\n /\\ b\n)", "=(x,(and[a|b]))"},
		{"lab:: x + 1", "lab::+(x,1)"},
		{"2PC + x_1", "+(2PC,x_1)"},
	} {
		e, err := ParseExpr("test", c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := show(e); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestErrorsHaveACaret(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a /\\ b \\/ c", "test:1:8: /\\ and \\/ bind equally: put one of them in parentheses\n    a /\\ b \\/ c\n           ^"},
		{"a = b = c", "test:1:7: = and = bind equally: put one of them in parentheses\n    a = b = c\n          ^"},
		{"{1, 2", "test:1:6: } is expected after the list, not the end of the text\n    {1, 2\n         ^"},
		{"x \\foo y", "test:1:3: \\foo is not a TLA+ operator\n    x \\foo y\n      ^"},
		{`"abc`, "test:1:1: the string does not end on its line\n    \"abc\n    ^"},
		{"(* abc", "test:1:1: the comment does not end: (* needs its *)\n    (* abc\n    ^"},
		{"a b", "test:1:3: b is not expected after the expression\n    a b\n      ^"},
		{"[a \\in S", "test:1:9: the end of the text is not expected after [\n    [a \\in S\n            ^"},
	} {
		_, err := ParseExpr("test", c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %v", c.text, err, c.want)
		}
	}
}

// Of a long line a part around the place is shown, and nothing that a terminal would obey.
func TestErrorsShowWhatFits(t *testing.T) {
	for _, text := range []string{strings.Repeat("1 + ", 1000) + ")", ")" + strings.Repeat(" + 1", 1000),
		strings.Repeat("(", 1000) + "1 ]" + strings.Repeat(")", 1000), "1 \x1b[31m\a \u202e"} {
		_, err := ParseExpr("test", text)
		if err == nil {
			t.Fatal(text)
		}
		lines := strings.Split(err.Error(), "\n")
		at := strings.IndexByte(lines[2], '^')
		shown := []rune(lines[1])
		if len(shown) > shownRunes+4 || at >= len(shown) && at > 6 || strings.ContainsAny(lines[1], "\x1b\a\u202e") {
			t.Errorf("%q", lines)
			continue
		}
		if e := err.(*Error); e.Pos.Column <= len([]rune(text)) {
			if want := []rune(text)[e.Pos.Column-1]; shown[at] != want && want != '\x1b' {
				t.Errorf("the caret stands below %q instead of %q:\n%s", shown[at], want, err)
			}
		}
	}
}

func TestModules(t *testing.T) {
	const text = `what stands before a module is no TLA+
---------- MODULE Main ----------
EXTENDS Naturals, Sequences
CONSTANTS N, Op(_, _), _+_
VARIABLES x, y
ASSUME Positive == N > 0
RECURSIVE Sum(_)
Sum(S) == IF S = {} THEN 0 ELSE 1
fact[n \in Nat] == n
a \prec b == a < b
-. a == 0 - a
I(p) == INSTANCE Other WITH z <- p, + <- Op
LOCAL INSTANCE Third
---- MODULE Inner ----
Here == 1
====
THEOREM Safe == Spec => []Inv
<1>1. Init => Inv
  BY DEF Init, Inv
<1>2. ASSUME Inv, NEW i \in 1..N, [Next]_<<x, y>> PROVE Inv'
  <2>1. CASE UNCHANGED x
    BY <2>1, <1>1 DEFS Inv
  <2> QED OBVIOUS
<1>3. QED
  PROOF BY <1>1, <1>2, PTL DEF Spec
LEMMA ASSUME NEW S PROVE S = S
OMITTED
After == 2
====
and what stands after it neither
`
	m, err := Parse("Main.tla", text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range m.Units {
		got = append(got, showUnit(u))
	}
	want := "constants(N,Op/2,+/2)|syntax.Variables|syntax.Assumption|recursive(Sum/1)|Sum(S)=if{=(S,{})?0:1}|fact[..]=n|\\prec(a,b)=<(a,b)|-.(a)=-(0,a)|" +
		"I(p)=instance Other{z<-p,+<-Op}|()=instance Third{}|*syntax.Module|syntax.Theorem|syntax.Theorem|After()=2"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
	for _, c := range []struct{ text, want string }{
		{"nothing", "x:1:1: no module: a module begins with ---- MODULE Name ----\n    nothing\n    ^"},
		{"---- MODULE A ----\nB == 1\n", "x:3:1: the module does not end: a module ends with ===="},
		{"---- MODULE A ----\nB == \n====", "x:3:1: ==== is not expected here: an expression is\n    ====\n    ^"},
	} {
		_, err := Parse("x", c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("got %v\nwant %v", err, c.want)
		}
	}
}
