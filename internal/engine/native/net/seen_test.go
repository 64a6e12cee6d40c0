package net

import (
	"fmt"
	"slices"
	"strings"
)

// text lists the kinds of events, one a line, each with its count.
func (v *Seen) text(s *State) string {
	name := func(id NodeID) string {
		if id < 0 {
			return "resolver"
		}
		return s.Nodes[id].Name
	}
	var lines []string
	for k, n := range v.Connections {
		to := "to"
		if k.Served {
			to = "from"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s :%d %s, %d", name(k.Node), to, name(k.Peer), k.Port, k.What, n))
	}
	for k, n := range v.Messages {
		lines = append(lines, fmt.Sprintf("%s -> %s :%d answer %t, datagram %t, less than 4^%d, %q, %d", name(k.From), name(k.To),
			k.Port, k.Answer, k.Datagram, k.SizeLog,
			k.Head.String(), n))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
