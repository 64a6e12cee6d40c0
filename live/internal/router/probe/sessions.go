package probe

import (
	"net/netip"
	"strconv"
	"strings"
)

// Session is an established BGP session of BIRD.
type Session struct {
	Name      string // of the protocol
	Address   netip.Addr
	AS, Local uint32 // the neighbour's AS, and BIRD's own
}

// Sessions reads a reply to `show protocols all`.
func Sessions(text string) (list []Session) {
	var s Session
	up := false
	add := func() {
		if up && s.Address.IsValid() {
			list = append(list, s)
		}
	}
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "1002-"); ok {
			add()
			s, up = Session{Name: strings.Fields(name + " ?")[0]}, false
		}
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		number, _ := strconv.ParseUint(value, 10, 32)
		switch strings.TrimSpace(strings.TrimPrefix(key, "1006-")) {
		case "BGP state":
			up = value == "Established"
		case "Neighbor address":
			s.Address, _ = netip.ParseAddr(value)
		case "Neighbor AS":
			s.AS = uint32(number)
		case "Local AS":
			s.Local = uint32(number)
		}
	}
	add()
	return list
}
