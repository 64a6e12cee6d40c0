package isolation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// apartLog is a log in which no two reads share a list.
func apartLog(txns []Txn) *ListLog {
	l := NewListLog(0)
	for i := range txns {
		t := &txns[i]
		for _, a := range t.Accesses {
			key := l.Key(a.Key)
			if a.Write {
				l.Append(key, a.Value)
				continue
			}
			list := l.NewList()
			for _, v := range a.List {
				l.Extend(list, v)
			}
			l.Read(key, list, len(a.List))
		}
		l.Add(i, t.Client, t.Fate, t.Call, t.Return)
	}
	return l
}

// TestSharedLists: which lists reads share, in which order transactions are added and what else has a number makes no difference.
func TestSharedLists(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	count := map[string]int{}
	for range 6000 {
		list := random(r, 12, true)
		for i := range list {
			for k := range list[i].Accesses {
				a := &list[i].Accesses[k]
				switch {
				case r.IntN(200) == 0 && a.Write:
					a.Value = "1"
				case r.IntN(200) == 0 && len(a.List) > 1:
					a.List = slices.Clone(a.List)
					slices.Reverse(a.List)
				case r.IntN(200) == 0:
					a.List = append(slices.Clip(a.List), "nobody's")
				case r.IntN(200) == 0 && len(a.List) > 0:
					a.List = append(slices.Clip(a.List), a.List[0])
				}
			}
		}
		shuffled := NewListLog(0)
		for _, i := range r.Perm(len(list)) {
			shared := map[string]int32{}
			for _, a := range list[i].Accesses {
				key := shuffled.Key(a.Key)
				if a.Write {
					shuffled.Append(key, a.Value)
					continue
				}
				n, known := shared[a.Key]
				if !known || !shuffled.Begins(n, a.List) {
					n = shuffled.NewList()
					shared[a.Key] = n
				}
				for _, v := range a.List[min(shuffled.Length(n), len(a.List)):] {
					shuffled.Extend(n, v)
				}
				shuffled.Read(key, n, len(a.List))
			}
			x := &list[i]
			shuffled.Add(3*i+1, x.Client, x.Fate, x.Call, x.Return) // other operations have the other numbers
		}
		for _, level := range []Level{ReadCommitted, SnapshotIsolation, Serializable, StrictSerializable} {
			want := apartLog(list).Judge(level, plenty())
			count[want.Anomaly]++
			if got := Lists(list, level, plenty()); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: shared %+v\napart %+v\n%s", level, got, want, write(list))
			}
			if got := shuffled.Judge(level, plenty()); got.Answer != want.Answer {
				t.Fatalf("%s: shuffled %+v\napart %+v\n%s", level, got, want, write(list))
			}
		}
	}
	for _, anomaly := range []string{"", "G0", "G1a", "G1b", "G1c", "G-single", "G2", "a cycle in time", "incompatible order", "internal"} {
		if count[anomaly] == 0 {
			t.Errorf("none of %d histories has %q: %v", 6000, anomaly, count)
		}
	}
}

// TestManyDependencies: a history with more dependencies than the budget has steps is undecided.
func TestManyDependencies(t *testing.T) {
	if f := Lists(long(2000, true), StrictSerializable, plenty()); f.Answer != Holds {
		t.Fatal(f.Reason)
	}
	b := plenty()
	b.Steps = 1000
	if f := Lists(long(2000, true), StrictSerializable, b); f.Answer != Undecided {
		t.Errorf("%d %s", f.Answer, f.Reason)
	}
}
