package mrt

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/cursor"
)

// Line is a line of `bgpdump -m`: one prefix. A MED and a local preference of 0 cannot be told there from none, and are read as none.
type Line struct {
	Format string // TABLE_DUMP, TABLE_DUMP2, BGP4MP or BGP4MP_ET
	TimeUs int64
	Event  byte // B: in a table, A: announced, W: withdrawn
	Peer   Peer
	Route  bgp.Route // without attributes if it is withdrawn
}

// LineSize is the longest line that is read, in bytes.
const LineSize = 1 << 20

// Lines are the lines that bgpdump prints of a record. An index has the peers of a RIB.
func Lines(rec *Record, index *PeerIndex) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		format := "BGP4MP"
		if rec.Extended {
			format = "BGP4MP_ET"
		}
		switch x := rec.Body.(type) {
		case *Dump:
			yield(Line{"TABLE_DUMP", rec.TimeUs, 'B', x.Peer, x.Route})
		case *RIB:
			for _, e := range x.Entries {
				if !yield(Line{"TABLE_DUMP2", rec.TimeUs, 'B', index.Peers[e.Peer], bgp.Route{Prefix: x.Prefix, Attributes: e.Attributes}}) {
					return
				}
			}
		case *Message:
			if x.Update == nil {
				return
			}
			for _, p := range x.Update.Withdrawn {
				if !yield(Line{format, rec.TimeUs, 'W', x.Peer, bgp.Route{Prefix: p}}) {
					return
				}
			}
			for _, p := range x.Update.Announced {
				if !yield(Line{format, rec.TimeUs, 'A', x.Peer, bgp.Route{Prefix: p, Attributes: x.Update.Attributes}}) {
					return
				}
			}
		}
	}
}

func (l Line) String() string {
	b := append([]byte(l.Format), '|')
	b = strconv.AppendInt(b, l.TimeUs/second, 10)
	if l.Format == "BGP4MP_ET" {
		b = fmt.Appendf(b, ".%06d", l.TimeUs%second)
	}
	b = append(b, '|', l.Event, '|')
	b = append(l.Peer.Address.AppendTo(b), '|')
	b = append(strconv.AppendUint(b, uint64(l.Peer.ASN), 10), '|')
	b = l.Route.Prefix.AppendTo(b)
	if l.Event == 'W' {
		return string(b)
	}
	a := l.Route.Attributes
	b = appendPath(append(b, '|'), a.Path)
	b = append(append(append(b, '|'), a.Origin.String()...), '|')
	if a.NextHop.IsValid() {
		b = a.NextHop.AppendTo(b)
	}
	for _, n := range []*uint32{a.LocalPref, a.MED} {
		if n == nil {
			n = new(uint32)
		}
		b = strconv.AppendUint(append(b, '|'), uint64(*n), 10)
	}
	b = append(b, '|')
	for i, c := range a.Communities {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, communityText(c)...)
	}
	atomic := "|NAG|"
	if a.Atomic {
		atomic = "|AG|"
	}
	b = append(b, atomic...)
	if a.Aggregator != nil {
		b = append(strconv.AppendUint(b, uint64(a.Aggregator.ASN), 10), ' ')
		b = a.Aggregator.Address.AppendTo(b)
	}
	return string(append(b, '|'))
}

func appendPath(b []byte, p bgp.Path) []byte {
	for i, s := range p {
		if i > 0 {
			b = append(b, ' ')
		}
		separator := byte(' ')
		if s.Set {
			b, separator = append(b, '{'), ','
		}
		for j, asn := range s.ASNs {
			if j > 0 {
				b = append(b, separator)
			}
			b = strconv.AppendUint(b, uint64(asn), 10)
		}
		if s.Set {
			b = append(b, '}')
		}
	}
	return b
}

// wellKnown are the communities of RFC 1997 by their names.
var wellKnown = map[string]bgp.Community{"no-export": 0xffffff01, "no-advertise": 0xffffff02, "local-AS": 0xffffff03}

func communityText(c bgp.Community) string {
	for name, known := range wellKnown {
		if c == known {
			return name
		}
	}
	return fmt.Sprintf("%d:%d", c>>16, c&0xffff)
}

// ReadLines reads lines of `bgpdump -m`. Lines of changed states and of prefixes of IPv6 are skipped. The first error ends the sequence; it is a
// *cursor.Error with the offset of the line.
func ReadLines(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(nil, LineSize)
		offset, next := int64(0), int64(0)
		s.Split(func(data []byte, end bool) (int, []byte, error) {
			n, line, err := bufio.ScanLines(data, end)
			next += int64(n)
			return n, line, err
		})
		for s.Scan() {
			text := s.Text()
			l, skip, err := parseLine(text)
			if err != nil {
				yield(Line{}, &cursor.Error{Offset: offset, Reason: err.Error()})
				return
			}
			if !skip && !yield(l, nil) {
				return
			}
			offset = next
		}
		if err := s.Err(); err != nil {
			yield(Line{}, &cursor.Error{Offset: offset, Reason: err.Error()})
		}
	}
}

func parseLine(text string) (l Line, skip bool, err error) {
	f := strings.Split(text, "|")
	if len(f) < 6 {
		return l, false, fmt.Errorf("a line has %s, not at least 6 as in bgpdump -m: %.60q", plural.Count(len(f), "field"), text)
	}
	if f[2] == "STATE" || text == "" {
		return l, true, nil
	}
	l.Format = f[0]
	if l.TimeUs, err = parseTime(f[1]); err != nil {
		return l, false, err
	}
	if len(f[2]) != 1 || !strings.Contains("BAW", f[2]) {
		return l, false, fmt.Errorf("a line has the event %q, not B, A, W or STATE", f[2])
	}
	l.Event = f[2][0]
	if l.Peer.Address, err = netip.ParseAddr(f[3]); err != nil {
		return l, false, err
	}
	if l.Peer.ASN, err = parseAS(f[4]); err != nil {
		return l, false, err
	}
	prefix, err := netip.ParsePrefix(f[5])
	if err != nil {
		return l, false, err
	}
	if !prefix.Addr().Is4() {
		return l, true, nil
	}
	l.Route.Prefix = prefix.Masked()
	if l.Event == 'W' {
		return l, false, nil
	}
	if len(f) < 14 {
		return l, false, fmt.Errorf("a line of a route has %s, not at least 14", plural.Count(len(f), "field"))
	}
	l.Route.Attributes, err = parseAttributes(f[6:14])
	return l, false, err
}

func parseTime(text string) (us int64, err error) {
	whole, part, extended := strings.Cut(text, ".")
	s, err := strconv.ParseUint(whole, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time in seconds", text)
	}
	us = int64(s) * second
	if extended {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil || len(part) != 6 {
			return 0, fmt.Errorf("%q is not a time in seconds with six digits after the point", text)
		}
		us += int64(n)
	}
	return us, nil
}

// parseAS reads an AS number as a number, or as two with a point between them (RFC 5396).
func parseAS(text string) (uint32, error) {
	high, low, dotted := strings.Cut(text, ".")
	if !dotted {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("%q is not an AS number", text)
		}
		return uint32(n), nil
	}
	h, err := strconv.ParseUint(high, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is not an AS number", text)
	}
	n, err := strconv.ParseUint(low, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is not an AS number", text)
	}
	return uint32(h<<16 | n), nil
}

// parseAttributes reads path, origin, next hop, local preference, MED, communities, whether it is atomic, and the aggregator.
func parseAttributes(f []string) (a *bgp.Attributes, err error) {
	a = &bgp.Attributes{Atomic: f[6] == "AG"}
	if a.Path, err = parsePath(f[0]); err != nil {
		return nil, err
	}
	switch f[1] {
	case "IGP":
	case "EGP":
		a.Origin = bgp.EGP
	case "INCOMPLETE":
		a.Origin = bgp.Incomplete
	default:
		return nil, fmt.Errorf("%q is not an origin", f[1])
	}
	if f[2] != "" {
		if a.NextHop, err = netip.ParseAddr(f[2]); err != nil {
			return nil, err
		}
	}
	for i, field := range []**uint32{&a.LocalPref, &a.MED} {
		n, err := strconv.ParseUint(f[3+i], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is not a 32-bit number", f[3+i])
		}
		if n > 0 {
			*field = new(uint32(n))
		}
	}
	for _, text := range strings.Fields(f[5]) {
		c, err := parseCommunity(text)
		if err != nil {
			return nil, err
		}
		a.Communities = append(a.Communities, c)
	}
	if f[7] != "" {
		asn, address, _ := strings.Cut(f[7], " ")
		a.Aggregator = &bgp.Aggregator{}
		if a.Aggregator.ASN, err = parseAS(asn); err != nil {
			return nil, err
		}
		if a.Aggregator.Address, err = netip.ParseAddr(address); err != nil || !a.Aggregator.Address.Is4() {
			return nil, fmt.Errorf("%q is not an aggregator", f[7])
		}
	}
	return a, nil
}

func parsePath(text string) (p bgp.Path, err error) {
	for _, word := range strings.Fields(text) {
		set := strings.HasPrefix(word, "{")
		words := []string{word}
		if set {
			inner, closed := strings.CutSuffix(word[1:], "}")
			if !closed {
				return nil, fmt.Errorf("the set %q of an AS path has no end", word)
			}
			words = strings.Split(inner, ",")
		}
		var asns []uint32
		for _, w := range words {
			asn, err := parseAS(w)
			if err != nil {
				return nil, err
			}
			asns = append(asns, asn)
		}
		if n := len(p); !set && n > 0 && !p[n-1].Set {
			p[n-1].ASNs = append(p[n-1].ASNs, asns...)
		} else {
			p = append(p, bgp.Segment{Set: set, ASNs: asns})
		}
	}
	return p, nil
}

// parseCommunity reads a community: two numbers of 16 bits with a colon, or a name of RFC 1997.
func parseCommunity(text string) (bgp.Community, error) {
	if c, ok := wellKnown[text]; ok {
		return c, nil
	}
	high, low, _ := strings.Cut(text, ":")
	h, err1 := strconv.ParseUint(high, 10, 16)
	n, err2 := strconv.ParseUint(low, 10, 16)
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("%q is not a community", text)
	}
	return bgp.Community(h<<16 | n), nil
}
