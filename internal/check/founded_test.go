package check

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A server that never worked violates no recovery, unless a fault may be the cause.
func TestRecoveryOfWhatNeverWorked(t *testing.T) {
	const (
		dead   = "1:put(a) 1.1:put(a)/ 5:heal 6:put(a) 6.1:put(a)/ 14:put(a) 14.1:put(a)/ 17:end"
		worked = "1:put(a) 1.1:put(a)! 5:heal 6:put(a) 6.1:put(a)/ 14:put(a) 14.1:put(a)/ 17:end"
	)
	observed := fault.Entry{Kind: fault.Crash, Planned: 1, Delivered: 1, Observed: 1}
	unseen := fault.Entry{Kind: fault.Pause, Planned: 1, Delivered: 1}
	itself := record.NotUp{Node: "n1", Why: "its main process ended with exit code 3", Unprovoked: true}
	after := record.NotUp{Node: "n1", Why: "its main process ended with exit code 3"}
	for _, c := range []struct {
		name, text string
		entry      fault.Entry
		never      []record.NotUp
		want       Status
		reason     string
	}{
		{"no fault was seen", dead, unseen, nil, Unknown, "no operation has ever succeeded"},
		{"it had ended by itself before", dead, observed, []record.NotUp{itself}, Unknown, "n1 was never ready: its main process ended with exit code 3"},
		{"a fault came first", dead, observed, []record.NotUp{after}, Violated, "no put succeeded"},
		{"a fault was seen", dead, observed, nil, Violated, "no put succeeded"},
		{"it worked before", worked, unseen, nil, Violated, "no put succeeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := world.Property{Name: "p", Kind: world.Recovery, TimeoutNs: 10e9, Check: world.Check{Type: world.RecoveryCheck}}
			out := run(t, c.text)
			out.Ledger.Entries, out.NeverReady = []fault.Entry{c.entry}, c.never
			v := Judge(&world.Spec{Properties: []world.Property{p}}, out)[0]
			if v.Status != c.want || !strings.Contains(v.Reason, c.reason) {
				t.Errorf("%s: %s; want %s: %s", v.Status, v.Reason, c.want, c.reason)
			}
		})
	}
}
