package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/store"
)

// One worker of a store packs its old spans a day, and the view stays the same.
func TestPackOnceADay(t *testing.T) {
	s := store.NewMemory()
	write := func(from, to uint64, at time.Time) {
		for seq := from; seq < to; seq++ {
			if err := s.Add(t.Context(), (&records.Span{Seq: seq, AtMs: at.UnixMilli(), Phase: records.Search,
				Runs: 1}).Entry("t", "c", "e", "w")); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(0, 30, time.Now().Add(-2*PackAfter))
	write(30, 40, time.Now())
	var notes []string
	worker := func(id string) *Worker {
		w := newWorker(s, id, &fake{name: "a"})
		w.Note = func(text string) { notes = append(notes, text) }
		if err := w.register(); err != nil {
			t.Fatal(err)
		}
		w.began = time.Now().Add(-packFirst)
		w.For = 0
		return w
	}
	young := worker("young")
	young.began = time.Now()
	young.pack(t.Context())
	first := worker("first")
	first.pack(t.Context())
	write(40, 50, time.Now().Add(-2*PackAfter))
	first.packed = time.Time{}
	first.pack(t.Context())
	worker("second").pack(t.Context())
	if text := strings.Join(notes, "; "); text != "packed 30 entries of spans into 1" {
		t.Errorf("%s", text)
	}
	entries := 0
	if _, err := s.Read(t.Context(), records.SpanPrefix, "", func(store.Entry) error { entries++; return nil }); err != nil {
		t.Fatal(err)
	}
	if e := viewOf(t, s).Test("t").Efforts[records.Place{Code: "c", Env: "e"}]; entries != 21 || e.Runs() != 50 {
		t.Errorf("%d entries; %s", entries, fmt.Sprint(e))
	}
	p, err := Pack(t.Context(), s, time.Now().Add(time.Hour), true)
	if err != nil || p != (Packed{21, 1, 0}) {
		t.Errorf("dry: %+v, %v", p, err)
	}
}
