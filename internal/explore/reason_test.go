package explore

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

func TestReasons(t *testing.T) {
	var h []history.Event
	add := func(typ history.Type, text string, n int) {
		for range n {
			h = append(h, history.Event{Type: typ, Error: text})
		}
	}
	add(history.Ok, "never told", 3)
	add(history.Info, "read tcp 10.77.0.14:40001->10.77.0.10:80: i/o timeout", 1)
	add(history.Info, "read tcp 10.77.0.14:40002->10.77.0.10:80: i/o timeout", 1)
	add(history.Fail, "status 503", 1)
	add(history.Fail, "refused", 2)
	add(history.Info, "", 1)
	want := []Reason{{history.Fail, "refused", 2}, {history.Fail, "status 503", 1},
		{history.Info, "read tcp 10.77.0.10:80: i/o timeout", 2}, {history.Info, "the driver gives no reason", 1}}
	got := Summarise(&check.Judged{Outcome: record.Outcome{History: h}}).Reasons
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}

	// What is kept does not grow with the runs, and nothing is lost.
	var totals Totals
	for i := range 1000 {
		totals.add(&Summary{Reasons: []Reason{{history.Info, fmt.Sprint("reason ", i), 1}}}, tape.Tape{Seed: 1})
	}
	sum := uint64(0)
	for _, r := range totals.Reasons {
		sum += r.Count
	}
	if len(totals.Reasons) > MaxReasons+1 || sum != 1000 || totals.Reasons[0].Text != OtherReasons {
		t.Errorf("%d reasons for %d operations, first %v", len(totals.Reasons), sum, totals.Reasons[0])
	}
}
