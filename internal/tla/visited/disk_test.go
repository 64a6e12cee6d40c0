package visited

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

func never() bool { return false }

// Fingerprints on the disk have the numbers that they have in memory, and leave no file.
func TestFingerprintsOnDisk(t *testing.T) {
	folder := t.TempDir()
	r := rand.New(rand.NewPCG(2, 1))
	var all, some Fingerprints
	some.Limit(0, NewDisk(folder, never))
	for i := range 60_000 {
		key := r.Uint64N(30_000) * 0x9e3779b97f4a7c15
		if r.IntN(20) == 0 && i > 0 { // one that was there long ago
			key, _ = all.Key(int32(r.IntN(all.Len())))
		}
		if a, ok := all.Find(key); ok {
			if b, there := some.Find(key); !there || a != b {
				t.Fatalf("%d is found as %d, %t, and not as %d: %v", key, b, there, a, some.Err())
			}
		} else if _, there := some.Find(key); there {
			t.Fatalf("%d is found before it was added", key)
		}
		a, aNew := all.Add(key)
		b, bNew := some.Add(key)
		if a != b || aNew != bNew || some.Err() != nil {
			t.Fatalf("%d gets %d, new: %t, and not %d, %t: %v", key, b, bNew, a, aNew, some.Err())
		}
	}
	for id := range int32(all.Len()) {
		a, _ := all.Key(id)
		if b, err := some.Key(id); a != b || err != nil {
			t.Fatalf("number %d is %d, %v, and not %d", id, b, err, a)
		}
	}
	if len(some.runs) < 2 || len(some.runs) > 10 || some.keys.InMemory() > 1024 {
		t.Errorf("%d runs, and %d in memory", len(some.runs), some.keys.InMemory())
	}
	if a, b := all.Closest(), some.Closest(); a != b || some.Err() != nil {
		t.Errorf("the closest are %d apart, and not %d: %v", b, a, some.Err())
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}

// A queue on the disk gives back what was put into it, whatever the values.
func TestQueueOnDisk(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	disk := NewDisk(t.TempDir(), never)
	var q Queue
	q.Limit(disk)
	var want [][]value.Value
	const all = 40_000
	spilled := int64(0)
	for taken := 0; taken < all; {
		if len(want) == taken || len(want) < all && r.IntN(100) < 51 {
			s := []value.Value{anyValue(r, 3), value.Int(len(want)), anyValue(r, 2)}
			q.Put(s)
			want = append(want, s)
			continue
		}
		if r.IntN(300) == 0 {
			q.Spill(taken)
			spilled = max(spilled, disk.Bytes())
		}
		got := q.TakeState(taken)
		if q.Err() != nil {
			t.Fatal(q.Err())
		}
		for i, v := range got {
			w := want[taken][i]
			if fmt.Sprintf("%T", v) != fmt.Sprintf("%T", w) || v.Fingerprint() != w.Fingerprint() || v.String() != w.String() || value.Compare(v, w) != 0 {
				t.Fatalf("state %d has %v in place %d, and not %v", taken, v, i, w)
			}
		}
		want[taken] = nil
		taken++
	}
	if spilled == 0 || len(q.codec.kept) > 0 {
		t.Errorf("%d bytes went to the disk, and %d values are kept", spilled, len(q.codec.kept))
	}
}

// anyValue is a value of any kind.
func anyValue(r *rand.Rand, depth int) value.Value {
	many := func(n int) []value.Value {
		list := make([]value.Value, n)
		for i := range list {
			list[i] = anyValue(r, depth-1)
		}
		return list
	}
	kind := r.IntN(9)
	if depth == 0 {
		kind = r.IntN(4)
	}
	text := func() *value.String { return value.Text([]string{"", "a", "b", "c"}[r.IntN(4)]) }
	ints := func(n int) []value.Value {
		list := make([]value.Value, n)
		for i := range list {
			list[i] = value.Int(r.IntN(2*n) - r.IntN(2))
		}
		return list
	}
	switch kind {
	case 0:
		return value.Bool(r.IntN(2) == 0)
	case 1:
		return value.Int(r.Int64() >> r.IntN(64) * int64(1-2*r.IntN(2)))
	case 2:
		return text()
	case 3:
		return value.ModelValue([]string{"m", "n", "A_x"}[r.IntN(3)])
	case 4:
		return value.NewTuple(many(r.IntN(4)))
	case 5:
		names := []value.Value{value.Text("x"), value.Text("y"), value.Text("z")}[:1+r.IntN(3)]
		return value.NewFunction(value.NewSet(slices.Clone(names)), many(len(names)))
	case 6:
		return value.NewSet(ints(r.IntN(5)))
	case 7:
		domain := value.NewSet(ints(1 + r.IntN(4)))
		return value.NewFunction(domain, many(len(domain.Items)))
	}
	return &value.Interval{Low: 1, High: int64(r.IntN(5))}
}

// What cannot be written or read is an error that names the folder, and work that is to stop does.
func TestDiskFails(t *testing.T) {
	fill := func(d *Disk) error {
		var f Fingerprints
		f.Limit(0, d)
		for key := range uint64(5000) {
			f.Add(key * 0x9e3779b97f4a7c15)
		}
		return f.Err()
	}
	if err := fill(NewDisk(t.TempDir()+"/made", never)); err != nil {
		t.Errorf("a folder that is made: %v", err)
	}
	if err := fill(NewDisk("/dev/null/none", never)); err == nil || !strings.Contains(err.Error(), "/dev/null/none") {
		t.Errorf("a folder that cannot be made: %v", err)
	}
	if err := fill(NewDisk(t.TempDir(), func() bool { return true })); !errors.Is(err, ErrStopped) {
		t.Errorf("it was to stop: %v", err)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		needs.Missing(t, "/dev/full", err)
	}
	defer full.Close()
	f := &file{f: full, disk: NewDisk("/full", never)}
	if err := f.append([]byte{1}); err == nil || !strings.HasPrefix(err.Error(), "the disk of /full is full, with 0 MB of states on it; ") {
		t.Errorf("a full disk: %v", err)
	}
}
