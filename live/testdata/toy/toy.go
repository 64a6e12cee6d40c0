// Package toy has a handler with a bug that random inputs do not reach.
package toy

// Update is a message of a valid form.
type Update struct {
	Prefix    uint32
	Length    uint8
	Community uint32
}

// Table is the state that updates change.
type Table struct {
	accepted int
	Leaked   bool
}

// Handle applies an update.
func (t *Table) Handle(u *Update) {
	if u.Length > 32 {
		return
	}
	if u.Prefix>>8 == 0x0a0102 && u.Length == 24 && u.Community == 0xdeadbeef {
		t.Leaked = true
		return
	}
	t.accepted++
}

// Routes has next hops by prefix, and the peers that may change them by name.
type Routes struct {
	Next  map[uint32]uint32
	Peers map[string]bool
}

// Change changes a route that is there, if a peer may.
func (r *Routes) Change(peer []byte, prefix, hop uint32) {
	if _, known := r.Next[prefix]; known && r.Peers[string(peer)] {
		r.Next[prefix] = hop
	}
}

// Rule allows a peer to announce some prefixes.
type Rule struct {
	Peer   string
	Length uint8
}

// Allows reports whether one of the rules allows a length.
func Allows(rules map[Rule]bool, peer []byte, length uint8) bool {
	return rules[Rule{string(peer), length}]
}
