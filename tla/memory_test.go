package tla

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// squeeze has checks find the heap so full after each look, of a hundred parts of so much memory.
func squeeze(t *testing.T, memoryBytes, live uint64) {
	before := newHeap
	newHeap = func() func() heap {
		h := heap{live: memoryBytes / 100 * live}
		return func() heap {
			h.collection++
			return h
		}
	}
	t.Cleanup(func() { newHeap = before })
}

const (
	crowdModule = `---- MODULE Crowd ----
EXTENDS Naturals, Sequences, FiniteSets
CONSTANT N, M, P
VARIABLES c, q, s, f, g
vars == <<c, q, s, f, g>>
Init == /\ c = [i \in 1..N |-> 0] /\ q = <<>> /\ s = {} /\ g \in {SUBSET {1, 2}, 1..3}
        /\ f = [x \in {"a","b"} |-> [n |-> P, on |-> FALSE]]
Inc(i) == /\ c[i] < M /\ c' = [c EXCEPT ![i] = @ + 1] /\ UNCHANGED <<q, s, f, g>>
Push(i) == /\ Len(q) < 2 /\ c[i] > 0 /\ q' = Append(q, <<i, c[i]>>) /\ UNCHANGED <<c, s, f, g>>
Pop == /\ q # <<>> /\ s' = s \cup {Head(q)[1]} /\ q' = Tail(q) /\ UNCHANGED <<c, f, g>>
Flip == \E x \in {"a","b"} : /\ Cardinality(s) > 1 /\ f' = [f EXCEPT ![x].on = ~@] /\ UNCHANGED <<c, q, s, g>>
Next == (\E i \in 1..N : Inc(i) \/ Push(i)) \/ Pop \/ Flip
Spec == Init /\ [][Next]_vars /\ WF_vars(Next)
Ok == ~(c[1] = M /\ f["a"].on /\ f["b"].on /\ Len(q) = 2 /\ q[1][1] = N)
Ends == <>(c[1] = M)
Shown == <<c, q, s, f>>
====
`
	crowdConstants = "CONSTANTS N = 2\nM = 5\nP = p\n"
)

// A check whose states are on the disk has the same answer, in every number and every state that it shows, as one whose states are in memory.
func TestChecksOnDisk(t *testing.T) {
	const memoryBytes = 1 << 17
	spilled := 0 // checks whose fingerprints went to the disk
	for _, config := range []string{
		"SPECIFICATION Spec\nINVARIANT Ok",
		"SPECIFICATION Spec\nCHECK_DEADLOCK FALSE",
		"SPECIFICATION Spec\nVIEW Shown\nCHECK_DEADLOCK FALSE",
		"SPECIFICATION Spec\nPROPERTY Ends\nCHECK_DEADLOCK FALSE",
		"SPECIFICATION Spec\nVIEW Shown\nPROPERTY Ends\nCHECK_DEADLOCK FALSE",
		"SPECIFICATION Spec",
	} {
		spec, err := specOf(t, crowdModule, crowdConstants+config)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Check(spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		squeeze(t, memoryBytes, spillAbove+1)
		c := newChecker(spec, Options{MemoryBytes: memoryBytes, Disk: folder})
		got, err := c.check()
		if err != nil || c.memory.disk.Bytes() == 0 {
			t.Fatalf("%s: %v, %d bytes on the disk", config, err, c.memory.disk.Bytes())
		}
		if c.known.Spilled() {
			spilled++
		}
		if a, b := reportText(spec, want), reportText(spec, got); a != b {
			t.Errorf("%s: on the disk it is\n%s\nand in memory\n%s", config, b, a)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
	}
	if spilled < 4 {
		t.Errorf("the fingerprints of %d checks went to the disk", spilled)
	}
}

// reportText has all that a report says.
func reportText(spec *Spec, r *Report) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Initial, r.Generated, r.Distinct, r.Left, r.Depth, r.Complete, r.Stopped, r.Edges, r.Checked, r.Viewed,
		r.Compared, r.Unchecked, r.Collisions)
	for _, a := range r.Actions {
		fmt.Fprintln(&b, a.Action, a.Generated, a.Distinct)
	}
	for _, v := range r.Violations {
		fmt.Fprintln(&b, v.Kind, v.Name, v.Back)
		for _, s := range v.Trace {
			fmt.Fprintln(&b, s, spec.Text(s))
		}
	}
	return b.String()
}

// Where states on the disk do not help, the check ends with the limit's name, and with what would help.
func TestMemoryIsUsedUp(t *testing.T) {
	const memoryBytes = 64 << 20
	for config, want := range map[string]string{
		"SPECIFICATION Spec\nCHECK_DEADLOCK FALSE":                "values that an evaluation holds at once",
		"SPECIFICATION Spec\nPROPERTY Ends\nCHECK_DEADLOCK FALSE": "the graph that temporal properties need",
	} {
		spec, err := specOf(t, crowdModule, crowdConstants+config)
		if err != nil {
			t.Fatal(err)
		}
		squeeze(t, memoryBytes, fullAbove+1)
		r, err := Check(spec, Options{MemoryBytes: memoryBytes, Disk: t.TempDir()})
		if err != nil || r.Complete || !strings.Contains(r.Stopped, want) || !strings.Contains(r.Stopped, "64 MiB") ||
			!strings.Contains(r.Stopped, "--memory") || r.Distinct == 0 {
			t.Errorf("%s: %v, %d states, %s", config, err, r.Distinct, r.Stopped)
		}
	}
	spec, err := specOf(t, crowdModule, crowdConstants+"SPECIFICATION Spec\nCHECK_DEADLOCK FALSE")
	if err != nil {
		t.Fatal(err)
	}
	squeeze(t, 1<<17, spillAbove+1)
	r, err := Check(spec, Options{MemoryBytes: 1 << 17, Disk: "/dev/null/none"})
	if err != nil || r.Complete || !strings.Contains(r.Stopped, "/none") || r.Distinct == 0 {
		t.Errorf("without the folder: %v, %d states, %s", err, r.Distinct, r.Stopped)
	}
}
