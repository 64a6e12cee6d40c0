package eval

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/tla/value"
)

func TestStepBindsParameters(t *testing.T) {
	spec, err := specification(t, `---- MODULE Bank ----
EXTENDS Naturals
VARIABLES balance, log
Init == balance = [a |-> 5, b |-> 0] /\ log = <<>>
Move(from, to, n) ==
  /\ from # to
  /\ n > 0
  /\ balance[from] >=
       n
  /\ balance' = [balance EXCEPT ![from] = @ - n, ![to] = @ + n]
  /\ \/ log' = log
     \/ log' = <<from, n>>
Next == \E n \in 1..5 : Move("a", "b", n)
Total == balance.a + balance.b
Above(n) == balance.a > n
====
`, "INIT Init NEXT Next\n")
	if err != nil {
		t.Fatal(err)
	}
	move, err := ActionOf(spec, "Move")
	if err != nil {
		t.Fatal(err)
	}
	ev := NewEvaluator(spec)
	var state State
	if err := ev.Initial(func(s State) error { state = append(State(nil), s...); return nil }); err != nil {
		t.Fatal(err)
	}
	seen := make(GuardsSeen, len(move.Guards))
	step := func(from, to string, n int) (states []string) {
		t.Helper()
		args := []value.Value{value.Text(from), value.Text(to), value.Int(n)}
		if err := ev.Step(state, move, args, seen, func(s State) error {
			states = append(states, s[0].String()+" "+s[1].String())
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return states
	}
	if got := strings.Join(step("a", "b", 2), "; "); got != `[a |-> 3, b |-> 2] <<>>; [a |-> 3, b |-> 2] <<"a", 2>>` {
		t.Errorf("a step leads to %s", got)
	}
	if g := ev.Refused(move); g != nil {
		t.Errorf("a step that was made was refused by %s", g.Text)
	}
	if got := step("b", "a", 7); got != nil {
		t.Errorf("a step without cover leads to %q", got)
	}
	g := ev.Refused(move)
	if g == nil || g.Text != "balance[from] >= n" || g.Span.First.Line != 8 || g.Module != "Bank" {
		t.Errorf("it was refused by %+v", g)
	}
	if string(seen) != "\x02\x02\x03" {
		t.Errorf("guards seen: %q", seen)
	}
	for name, want := range map[string]string{"Total": "5", "Above": "TRUE"} {
		op, err := ExpressionOf(spec, name)
		if err != nil {
			t.Fatal(err)
		}
		args := []value.Value{}
		if name == "Above" {
			args = append(args, value.Int(4))
		}
		if v, err := ev.Value(state, op, args...); err != nil || v.String() != want {
			t.Errorf("%s is %v, %v", name, v, err)
		}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(ActionOf(spec, "Missing")), "there is no operator Missing with a definition in module Bank"},
		{second(ExpressionOf(spec, "Move")), "Move is not an expression over one state"},
		{ev.Step(state, move, nil, nil, nil), "Move needs 3 arguments, and has 0"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, and not %s", c.err, c.want)
		}
	}
}

func second(_ *Operator, err error) error { return err }
