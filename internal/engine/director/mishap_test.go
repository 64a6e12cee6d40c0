package director

import (
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What programs ask about faults of their own: the tape decides, while faults may be injected, and nonsense is refused.
func TestMishap(t *testing.T) {
	s := &stage{spec: world.Spec{Nodes: []world.Node{{Name: "n1"}}}}
	setting, err := Prepare(&s.spec)
	if err != nil {
		t.Fatal(err)
	}
	edits := []tape.Edit{{Op: tape.Set, Stream: "fault/db_exec_after/n1", From: 1, Value: 1},
		{Op: tape.Set, Stream: "fault/db_exec_after/n1", From: 2, Value: 1},
		{Op: tape.Set, Stream: "fault/db_exec_after/n1", From: 3, Value: 1}, {Op: tape.Set, Stream: "choice/size/n1", From: 0, Value: 2}}
	d := setting.New(tape.NewSource(tape.Tape{Edits: edits}), s, &s.out)
	d.Plan.On = true
	for _, c := range []struct{ line, want string }{
		{"mishap db_exec_after 1", "0"},
		{"mishap db_exec_after 1", "1"},
		{"mishap db_exec_after 0", "0"}, // which draws, and never happens
		{"observed db_exec_after", ""},
		{"choose size 3", "2"},
		{"mishap db/exec 1", "!"}, {"mishap", "!"}, {"", "!"}, {"choose size 0", "!"}, {"choose size", "!"}, {"steal db 1", "!"},
		{"mishap " + strings.Repeat("x", 200) + " 1", "!"}, {"mishap \x00 1", "!"},
	} {
		got := d.Mishap(&Notice{Text: []byte(c.line), Event: 7})
		if got != c.want && !(c.want == "!" && strings.HasPrefix(got, "! ")) {
			t.Errorf("%.40q is answered %q, not %q", c.line, got, c.want)
		}
	}
	d.Plan.On = false
	if got := d.Mishap(&Notice{Text: []byte("mishap db_exec_after 1000000")}); got != "0" {
		t.Errorf("a fault when none may be injected: %q", got)
	}
	if list := d.Plan.Ledger.Entries; len(list) != 1 || list[0].Kind != "db_exec_after" || list[0].Delivered != 1 || list[0].Observed != 1 {
		t.Errorf("the ledger has %+v", list)
	}
}
