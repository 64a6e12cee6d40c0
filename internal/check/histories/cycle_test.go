package histories

import (
	"fmt"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/historytest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A drawing of a violation of isolation gets the steps of the cycle that the evidence puts into words.
func TestCycleOfAViolation(t *testing.T) {
	for name, c := range map[string]struct {
		model, level, history, want string
	}{
		"write skew over lists": {ListAppend, "serializable",
			`a:txn=[] b:txn=[] a![["r","x"],["append","y",1]] b![["r","y"],["append","x",1]] c:txn=[] c![["r","x",[1]],["r","y",[1]]]`,
			"[{0 1 rw x} {1 0 rw y}] a b"},
		"write skew over registers": {RWRegister, "serializable",
			`a:txn=[] b:txn=[] a![["r","x",null],["w","y",1]] b![["r","y",null],["w","x",1]] c:txn=[] c![["r","x",1],["r","y",1]]`,
			"[{0 1 rw x} {1 0 rw y}] a b"},
		"in time": {ListAppend, "strict-serializable", `a:txn=[] a![["append","x",1]] b:txn=[] b![["r","x"]]`, "[{0 1 time } {1 0 rw x}] a b"},
		"nothing": {ListAppend, "serializable", `a:txn=[] a![["append","x",1]]`, "[]"},
	} {
		ops, err := history.Pair(historytest.Events(t, c.history))
		if err != nil {
			t.Fatal(err)
		}
		p := &world.Property{Check: world.Check{Type: world.Isolation, Subject: world.Subject{Model: c.model, Level: c.level}}}
		steps, txns := Cycle(p, ops)
		got := fmt.Sprint(steps)
		for i := range txns {
			got += " " + txns[i].Client
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	if steps, _ := Cycle(&world.Property{Check: world.Check{Type: world.Linearizability}}, nil); steps != nil {
		t.Error("a cycle of no transactions")
	}
}
