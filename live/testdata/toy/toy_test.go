package toy

import (
	"testing"

	"github.com/bloodhound-dst/bloodhound/live"
)

func TestUpdate(t *testing.T) {
	live.Explore(t, live.Handler{Run: func() {
		table, update := &Table{}, &Update{Prefix: 0xc0a80000, Length: 16}
		live.Symbolic("prefix", &update.Prefix)
		live.Symbolic("length", &update.Length)
		live.Symbolic("community", &update.Community)
		table.Handle(update)
		live.Check("no leak", !table.Leaked)
	}})
}
