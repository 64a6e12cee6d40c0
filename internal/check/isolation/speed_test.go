package isolation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
)

// long is a history of transactions of 50 clients that a serial store made. Each key is used for a while.
func long(count int, lists bool) []Txn {
	const clients, width = 50, 10
	r := rand.New(rand.NewPCG(2, 4))
	store := world{}
	txns := make([]Txn, count)
	type live struct{ txn, left int }
	var run []live
	free := make([]string, clients)
	for i := range free {
		free[i] = fmt.Sprint("c", i)
	}
	clock, started := uint64(0), 0
	for started < count || len(run) > 0 {
		clock++
		if started < count && len(free) > 0 && r.IntN(2) == 0 {
			k := r.IntN(len(free))
			t := &txns[started]
			t.Client, t.Call = free[k], clock
			free = slices.Delete(free, k, k+1)
			for i := range 1 + r.IntN(4) {
				key := fmt.Sprint((started/200)*width + r.IntN(width))
				a := Access{Key: key, Write: r.IntN(2) == 0, Value: fmt.Sprint(started, ".", i)}
				if !a.Write {
					a.Value = ""
				}
				t.Accesses = append(t.Accesses, a)
			}
			run = append(run, live{started, 1})
			started++
			continue
		}
		if len(run) == 0 {
			continue
		}
		i := r.IntN(len(run))
		t := &txns[run[i].txn]
		if run[i].left == 0 {
			t.Return = clock
			free = append(free, t.Client)
			run = slices.Delete(run, i, i+1)
			continue
		}
		run[i].left = 0
		for k := range t.Accesses {
			a := &t.Accesses[k]
			all := store[a.Key]
			switch {
			case a.Write:
				store[a.Key] = append(all, a.Value)
			case lists:
				a.List = slices.Clone(all)
			case len(all) > 0:
				a.Found, a.Value = true, all[len(all)-1]
			}
		}
	}
	return txns
}

// weak are the levels that are judged in polynomial time for registers.
var weak = []Level{ReadCommitted, ReadAtomic, Causal}

func budget() *linear.Budget { return linear.NewBudget(20_000_000, 512<<20, 2*time.Minute) }

// TestManyTransactions: thousands of transactions get a verdict at each level.
func TestManyTransactions(t *testing.T) {
	lists, registers := long(10_000, true), long(10_000, false)
	for _, level := range []Level{ReadCommitted, SnapshotIsolation, Serializable, StrictSerializable} {
		if f := Lists(lists, level, budget()); f.Answer != Holds {
			t.Errorf("lists, %s: %d %s", level, f.Answer, f.Reason)
		}
	}
	few := long(300, false)
	for _, level := range Levels {
		list := registers
		if !slices.Contains(weak, level) {
			list = few
		}
		if f := Registers(list, level, budget()); f.Answer != Holds {
			t.Errorf("registers, %s: %d %s", level, f.Answer, f.Reason)
		}
	}
	// Towards the end a transaction reads what was long replaced.
	for i := len(lists) - 1; ; i-- {
		if a := &lists[i].Accesses[0]; !a.Write && len(a.List) > 20 {
			a.List = a.List[:5]
			break
		}
	}
	for i := len(registers) - 1; ; i-- {
		a := &registers[i].Accesses[0]
		if !a.Write && a.Found {
			a.Found, a.Value = false, ""
			break
		}
	}
	if f := Lists(lists, StrictSerializable, budget()); f.Answer != Violated || len(f.Steps) == 0 {
		t.Errorf("lists: %d %s", f.Answer, f.Reason)
	}
	if f := Registers(registers, StrictSerializable, budget()); f.Answer == Holds {
		t.Errorf("registers: %d %s", f.Answer, f.Reason)
	}
}

func BenchmarkTransactions(b *testing.B) {
	lists, registers := long(100_000, true), long(100_000, false)
	for _, level := range []Level{ReadCommitted, SnapshotIsolation, Serializable, StrictSerializable} {
		b.Run("lists/"+string(level), func(b *testing.B) {
			for b.Loop() {
				if f := Lists(lists, level, budget()); f.Answer != Holds {
					b.Fatal(f.Reason)
				}
			}
		})
	}
	for _, level := range weak {
		b.Run("registers/"+string(level), func(b *testing.B) {
			for b.Loop() {
				if f := Registers(registers, level, budget()); f.Answer != Holds {
					b.Fatal(f.Reason)
				}
			}
		})
	}
}
