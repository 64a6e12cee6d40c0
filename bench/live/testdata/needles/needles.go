// Package needles has functions with a bug behind conditions that inputs rarely meet.
package needles

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Size is how many bytes each needle reads.
const Size = 24

// Needle is a function that reports whether it was found.
type Needle struct {
	Name  string
	Found func(b []byte) bool
}

// Needles are all functions.
var Needles = []Needle{{"route", route}, {"text", text}, {"hash", hash}, {"states", states}, {"filter", filter}}

// route accepts one prefix of one length with one community.
func route(b []byte) bool {
	prefix, length, community := binary.BigEndian.Uint32(b), b[4], binary.BigEndian.Uint32(b[5:])
	return length <= 32 && prefix>>8 == 0x0a0102 && length == 24 && community == 0xdeadbeef
}

// text is a request line with a number in it.
func text(b []byte) bool {
	verb, rest, ok := strings.Cut(string(b), " ")
	if !ok || verb != "PUT" {
		return false
	}
	name, number, ok := strings.Cut(rest, "=")
	if !ok || !strings.HasPrefix(name, "/limit") {
		return false
	}
	n, err := strconv.Atoi(strings.TrimSpace(number))
	return err == nil && n == 31337
}

// hash is found by the preimage of a hash of 32 bits.
func hash(b []byte) bool {
	x := binary.LittleEndian.Uint32(b)
	x ^= x >> 16
	x *= 0x7feb352d
	x ^= x >> 15
	return x == 0xcafe1234
}

// states is found by one sequence of eight commands.
func states(b []byte) bool {
	state := 0
	for i, c := range b[:8] {
		switch {
		case c == byte(0x51+37*i) && state == i:
			state++
		case c == 0:
			state = 0
		}
	}
	return state == 8
}

// rule is an entry of a filter.
type rule struct {
	prefix    netip.Prefix
	community uint32
	accept    bool
}

// rules are 1,000, of which one accepts.
var rules = func() (list []rule) {
	for i := range uint32(1000) {
		n := i * 2654435761
		a := netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), 0})
		list = append(list, rule{netip.PrefixFrom(a, 24), n ^ 0x5bd1e995, i == 617})
	}
	return list
}()

// filter is found by the prefix, in canonical form, and one community, of the rule that accepts.
func filter(b []byte) bool {
	addr, _ := netip.AddrFromSlice(b[:4])
	p := netip.PrefixFrom(addr, int(b[4]))
	if !p.IsValid() || p != p.Masked() {
		return false
	}
	communities := []uint32{binary.BigEndian.Uint32(b[5:]), binary.BigEndian.Uint32(b[9:])}
	for _, r := range rules {
		if r.prefix.Bits() <= p.Bits() && r.prefix.Contains(p.Addr()) {
			return r.accept && p.Bits() == r.prefix.Bits() && slices.Contains(communities, r.community)
		}
	}
	return false
}
