package histories

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/isolation"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/historytest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

var propertyHistories = []struct {
	kind        world.CheckType
	name        string
	model, cond string
	operations  string
	keys        string // patterns
	leftOut     string // of a verdict that holds
	short, want string // want: holds, violated, or part of the reason why it is unknown
	reason      string
}{
	{kind: world.Expression, name: "true", cond: `all(ops, .type == "ok")`, short: "a:put=1 a!", want: "holds"},
	{kind: world.Expression, name: "false", cond: `none(ops, .op == "put")`, short: "a:put=1 a!", want: "violated", reason: "is false"},
	{kind: world.Expression, name: "no offender", cond: `filter(ops, .type == "info")`, short: "a:put=1 a!", want: "holds"},
	{kind: world.Expression, name: "offenders", cond: `filter(ops, .duration_ns > 1000000)`, short: "a:put=1 b:get b!1 a!",
		want: "violated", reason: "finds 1"},
	{kind: world.Expression, name: "all fields", cond: `let o = ops[0]; [o.client, o.op, o.key, o.input, o.type] == ["a","put","k","1","ok"] and o.call == 1 and o.return_at == 2 and
		o.start_ns == 1000000 and o.end_ns == 2000000 and not o.found and o.output == "" and o.error == "" and o.node == "" and o.expect == ""`, short: "a:put=1 a!", want: "holds"},
	{kind: world.Expression, name: "no history", cond: `true`, want: "no operation"},
	{kind: world.Expression, name: "wrong name", cond: "all(ops,\n  .tipe == \"ok\")", short: "a:put=1 a!", want: "(2:4)"},
	{kind: world.Expression, name: "wrong result", cond: `len(ops)`, short: "a:put=1 a!", want: "true or false"},
	{kind: world.Expression, name: "none", short: "a:put=1 a!", want: "the expression is empty"},
	{kind: world.Expression, name: "fails", cond: `ops[7].type == "ok"`, short: "a:put=1 a!", want: "failed"},
	{kind: world.Expression, name: "too much", cond: `len(map(1..100000, map(1..100000, 1))) > 0`, short: "a:put=1 a!", want: "memory budget"},

	{kind: world.InvariantCheck, name: "always", cond: `count(ops, .type == "open") <= 1`, short: "a:put=1 a! b:get b!1", want: "holds"},
	{kind: world.InvariantCheck, name: "false for a while", cond: `count(ops, .type == "open") <= 1`,
		short: "a:put=1 b:get a! b!1", want: "violated", reason: "at event 2"},
	{kind: world.InvariantCheck, name: "of each operation", cond: `none(ops, .output == "2")`, short: "a:put=1 a! b:get b!1", want: "holds"},
	{kind: world.InvariantCheck, name: "of one operation", cond: `none(ops, .output == "2")`,
		short: "a:put=1 a! b:get b!2 a:put=3 a!", want: "violated", reason: "at event 4"},
	{kind: world.InvariantCheck, name: "a list", cond: `filter(ops, .output == "2")`, short: "a:put=1 a! b:get b!2", want: "violated", reason: "finds 1"},
	{kind: world.InvariantCheck, name: "false at the end only", cond: `none(ops, .type == "info")`, short: "a:put=1", want: "violated", reason: "is false"},
	{kind: world.InvariantCheck, name: "in other words", cond: `count(leader) <= 1 && $term >= 0`, short: "a:put=1 a!", want: "unknown name"},
	{kind: world.InvariantCheck, name: "fails at first", cond: `ops[1].op == "get"`, short: "a:put=1 a! b:get b!1", want: "failed"},
	{kind: world.InvariantCheck, name: "fails, and is false later", cond: `ops[1].op == "put"`, short: "a:put=1 a! b:get b!1",
		want: "violated", reason: "at event 3"},

	{kind: world.Monotonic, name: "grows", short: "a:get a!1 a:get a!2", want: "holds"},
	{kind: world.Monotonic, name: "stays", short: "a:get a!1 b:get b!1", want: "holds"},
	{kind: world.Monotonic, name: "goes back", short: "a:get a!10 b:get b!9", want: "violated", reason: "from 10 to 9"},
	{kind: world.Monotonic, name: "goes back to nothing", short: "a:get a!1 b:get b!-", want: "violated", reason: "from 1 to nothing"},
	{kind: world.Monotonic, name: "at the same time", short: "a:get b:get a!2 b!1", want: "could not show a value going back"},
	{kind: world.Monotonic, name: "long ago", short: "c:get a:get a!2 c!1 b:get b!1", want: "violated", reason: "from 2 to 1"},
	{kind: world.Monotonic, name: "other keys", short: "a:get(x) a!2 b:get(y) b!1 b:get(y) b!1", want: "holds"},
	{kind: world.Monotonic, name: "fractions", short: "a:get a!1.5 a:get a!1.25", want: "violated", reason: "1.25"},
	{kind: world.Monotonic, name: "own operation", operations: "INCR", short: "a:INCR a!2 a:INCR a!1", want: "violated", reason: "from 2 to 1"},
	{kind: world.Monotonic, name: "a name that nobody has", operations: "get,gett", short: "a:get a!1 a:get a!2",
		want: `no operation "gett" was seen; there were get`},
	{kind: world.Monotonic, name: "an operation that never succeeds", operations: "get,incr",
		short: "a:get a!1 a:get a!2 b:incr b/", want: "no incr succeeded"},
	{kind: world.Monotonic, name: "no number", short: "a:get a!x", want: "not a number"},
	{kind: world.Monotonic, name: "no number on another key", short: "a:get a!1 a:get a!2 a:get(j) a!x a:get(j) a!x",
		want: "holds", leftOut: `key "j" with 2 operations: it holds a value that is not a number`},
	{kind: world.Monotonic, name: "a key that is chosen is no number", keys: "*", short: "a:get a!1 a:get a!2 a:get(j) a!x",
		want: `key "j" holds "x" at event 6, which is not a number`},
	{kind: world.Monotonic, name: "chosen keys", keys: "k*", short: "a:get a!1 a:get a!2 a:get(j) a!x", want: "holds",
		leftOut: "key \"j\" with 1 operation, which `keys` does not select"},
	{kind: world.Monotonic, name: "no such key", keys: "x*", short: "a:get a!1 a:get a!2", want: `no key matches x*; there were key "k"`},
	{kind: world.Monotonic, name: "a giant", short: "a:get a!1e999999999", want: "not a number"},
	{kind: world.Monotonic, name: "one read", short: "a:get a!1", want: "could not show a value going back"},

	{kind: world.Durability, name: "there", short: "a:put=1 a! b:get b!1", want: "holds"},
	{kind: world.Durability, name: "gone", short: "a:put=1 a! b:get b!-", want: "violated", reason: "acknowledged"},
	{kind: world.Durability, name: "old", short: "a:put=1 a! a:put=2 a! b:get b!1", want: "violated", reason: `put "2" was acknowledged`},
	{kind: world.Durability, name: "either of two", short: "a:put=1 c:put=2 a! c! b:get b!1", want: "holds"},
	{kind: world.Durability, name: "unknown may come late", short: "a:put=1 a? c:put=2 c! b:get b!1", want: "holds"},
	{kind: world.Durability, name: "failed", short: "a:put=1 a/ c:put=2 c! b:get b!1", want: "violated"},
	{kind: world.Durability, name: "deleted", short: "a:put=1 a! a:delete a! b:get b!-", want: "holds"},
	{kind: world.Durability, name: "delete undone", short: "a:put=1 a! a:delete a! b:get b!1", want: "violated"},
	{kind: world.Durability, name: "a delete that found nothing", short: "a:put=1 a! a:delete a!0 b:get b!-", want: "violated",
		reason: `put "1" was acknowledged`},
	{kind: world.Durability, name: "a delete of something", short: "a:put=1 a! a:delete a!1 b:get b!-", want: "holds"},
	{kind: world.Durability, name: "a read in between says nothing", short: "a:put=1 a! b:get b!- a:put=2 a! b:get b!2", want: "holds"},
	{kind: world.Durability, name: "excluded keys", keys: "!j", short: "a:put=1 a! b:get b!1 a:put(j)=1 a!", want: "holds",
		leftOut: "key \"j\" with 1 operation, which `keys` does not select"},
	{kind: world.Durability, name: "not read", short: "a:put=1 a! b:get b!1 a:put(j)=1 a!", want: `key "j" was changed and not read`},
	{kind: world.Durability, name: "nothing acknowledged", short: "a:put=1 a? b:get b!1", want: "no change was acknowledged"},
	{kind: world.Durability, name: "another change", short: "a:put=1 a! a:INCR a!2 b:get b!2", want: `"INCR" has no model`},
	{kind: world.Durability, name: "another change alone", short: "a:INCR a!1 a:INCR a!2 b:get b!1", want: `"INCR" has no model`},
	{kind: world.Durability, name: "another change of another key", short: "a:put=1 a! b:get b!1 a:cas(j)=2 a!true b:get(j) b!-",
		want: "holds", leftOut: `key "j" with 2 operations: operation "cas" has no model`},
	{kind: world.Durability, name: "a request that changes nothing, of another key", short: "a:put=1 a! b:get b!1 a:ping(j) a!",
		want: "holds", leftOut: `key "j" with 1 operation: operation "ping" has no model`},
	{kind: world.Durability, name: "lost, and changed again after the heal", short: "a:put=1 a! r:get r!- r:put=2 r! r:get r!2",
		want: "violated", reason: `put "1" was acknowledged`},
	{kind: world.Durability, name: "there, and changed again after the heal", short: "a:put=1 a! r:get r!1 r:put=2 r! r:get r!2", want: "holds"},
	{kind: world.Durability, name: "not read before it was changed again after the heal",
		short: "a:put=1 a! r:put=2 r! r:get r!2", want: `key "k" was changed and not read`},
	{kind: world.Durability, name: "counted again after the heal", short: "a:put=1 a! r:get r!1 r:INCR r!2", want: "holds"},
	{kind: world.Durability, name: "appended", short: "a:put=x a! a:append=y a! a:append=z a! b:get b!xyz", want: "holds"},
	{kind: world.Durability, name: "one append lost", short: "a:put=x a! a:append=y a! a:append=z a! b:get b!xz",
		want: "violated", reason: `no order of its acknowledged changes produces "xz"`},
	{kind: world.Durability, name: "appended at once", short: "a:append=y c:append=z a! c! b:get b!zy", want: "holds"},
	{kind: world.Durability, name: "appended in the other order", short: "a:append=y a! c:append=z c! b:get b!zy", want: "violated"},
	{kind: world.Durability, name: "an append of unknown outcome", short: "a:append=y a! c:append=z c? b:get b!y", want: "holds"},
	{kind: world.Durability, name: "put after append", short: "a:append=y a! a:put=x a! b:get b!x", want: "holds"},
	{kind: world.Durability, name: "appended to a list", short: "a:append=1 a! a:append=2 a! b:get b![1,2]", want: "append-list"},
	{kind: world.Durability, model: "set", name: "all there", short: "a:add=1 a! a:add=2 a! b:read b![1,2,3]", want: "holds"},
	{kind: world.Durability, model: "set", name: "one lost", short: "a:add=1 a! a:add=2 a! b:read b![2]", want: "violated", reason: `"1" was acknowledged`},
	{kind: world.Durability, model: "set", name: "removed", short: "a:add=1 a! a:add=2 a! a:remove=1 a? b:read b![2]", want: "holds"},
	{kind: world.Durability, model: "set", name: "a removal that found nothing",
		short: "a:add=1 a! a:remove=1 a!false b:read b![]", want: "violated", reason: `"1" was acknowledged`},
	{kind: world.Durability, model: "set", name: "twice put in", short: "a:add=1 a! a:add=1 a! b:read b![1]", want: "holds"},
	{kind: world.Durability, model: "append-list", name: "one of two lost", short: "a:append=1 a! a:append=1 a! b:read b![1]",
		want: "violated", reason: `"1" was acknowledged 2 times and is there 1 times`},
	{kind: world.Durability, model: "append-list", name: "both of two", short: "a:append=1 a! a:append=1 a! b:read b![1,1]", want: "holds"},
	{kind: world.Durability, model: "set", name: "removal undone", short: "a:add=1 a! a:remove=1 a! b:read b![1]", want: "violated", reason: "removal"},
	{kind: world.Durability, model: "set", name: "no list", short: "a:add=1 a! b:read b!1", want: "not a list"},
	{kind: world.Durability, model: "append-list", name: "lost", short: "a:append=1 a! b:read b![]", want: "violated"},
	{kind: world.Durability, model: "lock", name: "no such model", short: "a:acquire a!", want: "unknown model"},

	{kind: world.Isolation, name: "lists", short: `a:txn=[["append","x",1]] a![["append","x",1]] b:txn=[["r","x",null]] b![["r","x",[1]]]`, want: "holds"},
	{kind: world.Isolation, name: "write skew",
		short: `a:txn=[["r","x"],["append","y",1]] b:txn=[["r","y"],["append","x",1]] a![["r","x",null],["append","y",1]] b![["r","y",[]],["append","x",1]]`,
		want:  "violated", reason: "G2"},
	{kind: world.Isolation, name: "nothing read", short: `a:txn=[["append","x",1]] a![["append","x",1]]`, want: "no result could have been wrong"},
	{kind: world.Isolation, name: "an old value", short: `a:txn=[["append","x",1]] a! b:txn=[] b![["r","x",[2]]]`, want: "no output"},
	{kind: world.Isolation, name: "of nobody", short: `a:txn=[["append","x",1]] a![["append","x",1]] b:txn=[] b![["r","x",[2]]]`,
		want: "violated", reason: "G1a"},
	{kind: world.Isolation, name: "failed", short: `a:txn=[["append","x",1]] a/ b:txn=[] b![["r","x",[1]]]`, want: "violated", reason: "G1a"},
	{kind: world.Isolation, name: "unknown",
		short: `a:txn=[["append","x",1]] a? b:txn=[["r","x"],["append","y",1]] b![["r","x",[1]],["append","y",1]]`, want: "holds"},
	{kind: world.Isolation, name: "none", short: "a:put=1 a!", want: "no transaction"},
	{kind: world.Isolation, name: "no array", short: "a:txn=x a!x", want: "not a list of accesses"},
	{kind: world.Isolation, name: "writes left out", short: `a:txn=[["append","x",1],["r","y"]] a![["r","y",[]]]`, want: "repeat all of them"},
	{kind: world.Isolation, name: "another write", short: `a:txn=[["append","x",1]] a![["append","x",2]]`, want: "access 1 is"},
	{kind: world.Isolation, name: "wrong access", short: `a:txn=[["w","x",1]] a![["w","x",1]]`, want: "not in this model"},
	{kind: world.Isolation, model: "rw-register", name: "registers", short: `a:txn=[["w","x",1]] a![["w","x",1]] b:txn=[] b![["r","x",1]]`, want: "holds"},
	{kind: world.Isolation, model: "rw-register", name: "lost update",
		short: `a:txn=[] b:txn=[] a![["r","x"],["w","x",1]] b![["r","x"],["w","x",2]]`, want: "violated", reason: "G2"},
	{kind: world.Isolation, model: "predicates", name: "no such model", short: "a:txn=[] a![]", want: "unknown model"},
	{kind: world.Isolation, name: "broken", short: "a:txn=[] a:txn=[]", want: "broken history"},
	{kind: world.Monotonic, name: "broken", short: "a:get a:get", want: "broken history"},
	{kind: world.Durability, name: "broken", short: "a:get a:get", want: "broken history"},
	{kind: world.Expression, cond: "true", name: "broken", short: "a:get a:get", want: "broken history"},
}

func TestPropertiesOfHistories(t *testing.T) {
	for _, c := range propertyHistories {
		t.Run(string(c.kind)+"/"+c.model+c.name, func(t *testing.T) {
			p := &world.Property{Name: "p", Kind: world.Safety, Check: world.Check{Type: c.kind,
				Subject: world.Subject{Model: c.model, Condition: c.cond}}}
			if c.keys != "" {
				p.Check.KeyPatterns = strings.Split(c.keys, ",")
			}
			if c.operations != "" {
				p.Check.Operations = strings.Split(c.operations, ",")
			}
			all := historytest.Events(t, c.short)
			for i := range all {
				if all[i].Client == "r" {
					all[i].Client = "load" + world.RecoveryClients + "c0"
				}
			}
			v := History(p, all)
			want := verdict.Status(c.want)
			if want != verdict.Holds && want != verdict.Violated {
				want = verdict.Unknown
				c.reason = c.want
			}
			if v.Status != want || !strings.Contains(v.Reason, c.reason) {
				t.Fatalf("%s: %s\n%s\nwant %s %s", v.Status, v.Reason, strings.Join(v.Evidence, "\n"), want, c.reason)
			}
			if got := strings.Join(v.LeftOut, "; "); v.Status == verdict.Holds && got != c.leftOut {
				t.Fatalf("left out: %q, want %q", got, c.leftOut)
			}
			if v.Status == verdict.Violated && c.kind != world.Expression && c.name != "false at the end only" && (v.Event == 0 || len(v.Evidence) == 0) {
				t.Fatalf("a violation without place or evidence: %+v", v)
			}
		})
	}
}

// TestLevels: the same history holds at one level and not at another.
func TestLevels(t *testing.T) {
	skew := historytest.Events(t, `a:txn=[] b:txn=[] a![["r","x"],["append","y",1]] b![["r","y"],["append","x",1]] c:txn=[] c![["r","x",[1]],["r","y",[1]]]`)
	p := &world.Property{Check: world.Check{Type: world.Isolation}}
	for level, want := range map[isolation.Level]verdict.Status{isolation.ReadCommitted: verdict.Holds, isolation.SnapshotIsolation: verdict.Holds,
		isolation.Serializable: verdict.Violated, isolation.StrictSerializable: verdict.Violated, isolation.Causal: verdict.Unknown} {
		if v := Paired(p, skew, func(p *world.Property, ops []history.Operation) verdict.Verdict { return isolated(p, level, ops) }); v.Status != want {
			t.Errorf("%s: %s %s", level, v.Status, v.Reason)
		}
	}
}

// TestInvariantsOneByOne: an invariant that looks at each operation by itself gets the verdict, and the event, of the same
// one in words that need all operations at every event.
func TestInvariantsOneByOne(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	count := map[verdict.Status]int{}
	for range 500 {
		var short strings.Builder
		for i := range 1 + r.IntN(8) {
			fmt.Fprintf(&short, "c%d:get ", i)
			if r.IntN(4) > 0 {
				fmt.Fprintf(&short, "c%d!%d ", i, r.IntN(12))
			}
		}
		in := historytest.Events(t, short.String())
		for _, cond := range []string{`all(ops, .output != "3")`,
			`none(ops, .output == "3" or .type == "open" and .client == "c5")`, `filter(ops, .output == "3")`} {
			fast := History(&world.Property{Check: world.Check{Type: world.InvariantCheck, Subject: world.Subject{Condition: cond}}}, in)
			slow := History(&world.Property{Check: world.Check{Type: world.InvariantCheck,
				Subject: world.Subject{Condition: "let all_of_them = ops; " + strings.Replace(cond, "ops", "all_of_them", 1)}}}, in)
			count[fast.Status]++
			if fast.Status != slow.Status || fast.Event != slow.Event {
				t.Fatalf("%s: %s at %d (%s), the slow twin says %s at %d (%s): %s", cond, fast.Status, fast.Event, fast.Reason,
					slow.Status, slow.Event, slow.Reason, short.String())
			}
		}
	}
	if count[verdict.Holds] < 100 || count[verdict.Violated] < 100 {
		t.Fatal(count)
	}
}

// The evidence of a false condition that forbids operations one by one lists them, and the first gives the moment.
func TestFalseConditionsListTheirOperations(t *testing.T) {
	in := historytest.Events(t, "a:put=1 a! b:get b!2 b:get b!1 c:get c!2")
	for _, c := range []struct {
		condition string
		lines     int
		event     uint64
	}{
		{`all(ops, .output != "2")`, 2, 4},
		{`none(ops, .output == "2")`, 2, 4},
		{`not any(ops, .output == "2")`, 2, 4},
		{`count(ops, .output == "2") == 0`, 2, 4},
		{`all(ops, .type == "ok") and all(ops, .op == "get")`, 1, 2},
		{`all(ops, .op == "put" or .output == "1")`, 2, 4},
		{`count(ops, .output == "2") < 1`, 0, 0},
		{`all(ops, len(ops) < 2)`, 0, 0},
		{`len(ops) < 2`, 0, 0},
	} {
		v := History(&world.Property{Check: world.Check{Type: world.Expression, Subject: world.Subject{Condition: c.condition}}}, in)
		if v.Status != verdict.Violated || len(v.Evidence) != c.lines || v.Event != c.event {
			t.Errorf("%s: %s at %d: %q", c.condition, v.Status, v.Event, v.Evidence)
		}
	}
}

// A false comparison shows the values of both sides.
func TestFalseComparisonsShowTheirSides(t *testing.T) {
	in := historytest.Events(t, "a:put=1 a! b:get b!2")
	for condition, want := range map[string]string{
		`count(ops, true) == 3`:                                "(2 == 3)",
		`sum(filter(ops, .found), int(.output)) >= 7 and true`: "(2 >= 7)",
		`ops[1].output == "1"`:                                 `("2" == "1")`,
		`len(ops) > 0 and len(ops) < 2`:                        "(2 < 2)",
		`len(ops) > 5 or len(ops) == 1`:                        "(2 == 1)",
		`none(ops, true)`:                                      "false: none",
	} {
		v := History(&world.Property{Check: world.Check{Type: world.Expression, Subject: world.Subject{Condition: condition}}}, in)
		if v.Status != verdict.Violated || !strings.Contains(v.Reason, want) {
			t.Errorf("%s: %s %s", condition, v.Status, v.Reason)
		}
	}
}

// TestInvariantBudget: an invariant over a long history that needs the whole history at every event is undecided, one that looks at
// each operation alone is not.
func TestInvariantBudget(t *testing.T) {
	var in []history.Event
	for i := range uint64(10_000) {
		in = append(in, history.Event{Number: 2*i + 1, Client: "a", Type: history.Invoke, Op: "get"},
			history.Event{Number: 2*i + 2, Client: "a", Type: history.Ok})
	}
	for cond, want := range map[string]verdict.Status{`count(ops, .type == "open") <= 1`: verdict.Unknown, `none(ops, .type == "fail")`: verdict.Holds} {
		v := History(&world.Property{Check: world.Check{Type: world.InvariantCheck, Subject: world.Subject{Condition: cond}}}, in)
		if v.Status != want || want == verdict.Unknown && !strings.HasPrefix(v.Reason, "budget: ") {
			t.Errorf("%s: %s %s", cond, v.Status, v.Reason)
		}
	}
}

// TestMonotonicAgreesWithTheSlowTwin compares every two reads with each other.
func TestMonotonicAgreesWithTheSlowTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	count := map[bool]int{}
	for range 10_000 {
		var short strings.Builder
		var open []string
		n, value := 0, 1
		for n < 6 || len(open) > 0 {
			if n < 6 && (len(open) == 0 || r.IntN(2) == 0) {
				fmt.Fprintf(&short, "c%d:get ", n)
				open = append(open, fmt.Sprint("c", n))
				n++
				continue
			}
			i := r.IntN(len(open))
			value += r.IntN(3)
			fmt.Fprintf(&short, "%s!%d ", open[i], value-max(0, r.IntN(4)-2))
			open = append(open[:i], open[i+1:]...)
		}
		in := historytest.Events(t, short.String())
		ops, err := history.Pair(in)
		if err != nil {
			t.Fatal(err)
		}
		back := false
		for _, x := range ops {
			for _, y := range ops {
				var a, b int
				fmt.Sscan(x.Output, &a)
				fmt.Sscan(y.Output, &b)
				back = back || x.Return < y.Call && b < a
			}
		}
		count[back]++
		if v := Paired(&world.Property{}, in, monotonic); (v.Status == verdict.Violated) != back {
			t.Fatalf("%s %s, the slow twin says %v: %s", v.Status, v.Reason, back, short.String())
		}
	}
	if count[true] < 1000 || count[false] < 1000 {
		t.Fatal(count)
	}
}

// The evidence of a loss reports in words what was acknowledged and what was read.
func TestDurabilityInWords(t *testing.T) {
	for short, want := range map[string]string{
		"a:put=1 a! b:get b!-": `key "k": put "1" was acknowledged, and a read at the end returned nothing
0.001000 s (event 1) client a: put "1" was acknowledged at 0.002000 s (event 2)
0.003000 s (event 3) client b: get returned nothing at 0.004000 s (event 4)`,
		"a:put=1 a! a:delete a! b:get b!1": `key "k": delete was acknowledged, and a read at the end returned "1"
0.003000 s (event 3) client a: delete was acknowledged at 0.004000 s (event 4)
0.005000 s (event 5) client b: get returned "1" at 0.006000 s (event 6)`,
	} {
		v := Paired(&world.Property{Check: world.Check{Type: world.Durability}}, historytest.Events(t, short), durable)
		if got := v.Reason + "\n" + strings.Join(v.Evidence, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// Of several elements that are missing, the evidence says how many, of how many, and which.
func TestMissingElementsAreCounted(t *testing.T) {
	var ops []history.Operation
	at := uint64(0)
	do := func(op, input, output string) {
		ops = append(ops, history.Operation{Client: "a", Op: op, Key: "k", Input: input, Output: output, Found: output != "",
			Type: history.Ok, Call: at + 1, Return: at + 2})
		at += 2
	}
	for i := range 10 {
		do("add", fmt.Sprint(i), "")
	}
	do("remove", "9", "")
	do("read", "", "[0,2,4,5]")
	p := &world.Property{Check: world.Check{Type: world.Durability, Subject: world.Subject{Model: "set"}}}
	v := durable(p, ops)
	if want := "5 of 9 acknowledged elements are missing: \"1\", \"3\", \"6\", \"7\", \"8\""; v.Status != verdict.Violated ||
		v.Evidence[len(v.Evidence)-1] != want {
		t.Errorf("%s, %q", v.Status, v.Evidence)
	}
	ops[len(ops)-1].Output = "[0,1,2,3,4,5,6,7]"
	if v = durable(p, ops); v.Status != verdict.Violated || len(v.Evidence) != 2 {
		t.Errorf("one is missing: %s, %q", v.Status, v.Evidence)
	}
}
