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

// The keys of the maps are what the inputs must be.
func TestRoutes(t *testing.T) {
	live.Explore(t, live.Handler{Run: func() {
		r := &Routes{Next: map[uint32]uint32{0x0a000000: 1, 0xc0a80000: 2}, Peers: map[string]bool{"north": true, "south": false}}
		peer, prefix := []byte("-----"), uint32(0)
		live.SymbolicBytes("peer", peer)
		live.Symbolic("prefix", &prefix)
		r.Change(peer, prefix, 9)
		live.Check("route 10.0.0.0 stays", r.Next[0x0a000000] == 1)
		live.Check("route 192.168.0.0 stays", r.Next[0xc0a80000] == 2)
	}})
}

// A key may be a structure.
func TestRules(t *testing.T) {
	live.Explore(t, live.Handler{Run: func() {
		rules := map[Rule]bool{{"north", 24}: true, {"south", 24}: false, {"south", 16}: true}
		peer, length := []byte("-----"), uint8(8)
		live.SymbolicBytes("peer", peer)
		live.Symbolic("length", &length)
		allowed := Allows(rules, peer, length)
		live.Check("nothing is allowed with 24", !allowed || length != 24)
		live.Check("nothing is allowed with 16", !allowed || length != 16)
	}})
}
