package net

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
)

// Types, classes and codes of DNS: RFC 1035 and RFC 3596.
const (
	dnsA       = 1
	dnsPTR     = 12
	dnsAAAA    = 28
	dnsClassIN = 1
	dnsTTL     = 600

	dnsNoError   = 0
	dnsFormErr   = 1
	dnsServFail  = 2
	dnsNXDomain  = 3
	dnsNotImpl   = 4
	dnsHeader    = 12
	dnsMaxBytes  = 512 // of an answer: addresses beyond it are left out
	dnsMaxLabels = 128
)

// HostsFile is the text of a node's /etc/hosts: localhost, itself, its extra hosts, and every other node unless it asks for
// them by DNS. Where networks are declared it does, as in Docker.
func (s *State) HostsFile(id NodeID) string {
	var b strings.Builder
	b.WriteString("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n")
	self := s.Nodes[id]
	for _, line := range self.ExtraHosts {
		b.WriteString(strings.ReplaceAll(line, " ", "\t") + "\n")
	}
	own := self.names()[0]
	if self.Domain != "" {
		own = own + "." + self.Domain + " " + own
	}
	if len(s.Networks) > 0 {
		self.hostsLines(&b, own)
		return b.String()
	}
	shared := s.shared()
	for _, name := range self.names()[1:] {
		if !shared[strings.ToLower(name)] {
			own += " " + name
		}
	}
	self.hostsLines(&b, own)
	for i, n := range s.Nodes {
		if NodeID(i) != id && !self.ByDNS {
			n.hostsLines(&b, strings.Join(slices.DeleteFunc(n.names(), func(name string) bool { return shared[strings.ToLower(name)] }), " "))
		}
	}
	return b.String()
}

// names are each name of a node once: programs try a name that occurs twice in a line of /etc/hosts as two addresses.
func (n *node) names() []string {
	var names []string
	for _, name := range append(slices.Clone(n.Hostnames), n.Name) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// shared are the names that several nodes have, in lower case. The resolver alone can give all their addresses.
func (s *State) shared() map[string]bool {
	seen, twice := map[string]int{}, map[string]bool{}
	for id, n := range s.Nodes {
		for _, name := range n.names() {
			name = strings.ToLower(name)
			if other, ok := seen[name]; ok && other != id {
				twice[name] = true
			}
			seen[name] = id
		}
	}
	return twice
}

func named(names []string, name string) bool {
	return slices.ContainsFunc(names, func(have string) bool { return strings.EqualFold(have, name) })
}

func (n *node) hostsLines(b *strings.Builder, names string) {
	if names == "" {
		return
	}
	for i := range n.NICs {
		if c := &n.NICs[i]; c.Has4 {
			fmt.Fprintf(b, "%s\t%s\n", c.IP4, names)
		}
		if c := &n.NICs[i]; c.Has6 {
			fmt.Fprintf(b, "%s\t%s\n", c.IP6, names)
		}
	}
}

// ResolvConf is the text of a node's /etc/resolv.conf: the resolver inside the world, if the node has a network.
func (s *State) ResolvConf(id NodeID) string {
	n := s.Nodes[id]
	if len(n.NICs) == 0 {
		return ""
	}
	search := ""
	if len(n.Search) > 0 {
		search = "search " + strings.Join(n.Search, " ") + "\n"
	}
	return search + "nameserver 127.0.0.11\noptions ndots:0\n"
}

// lookup finds the interfaces that have a name on the networks of the node that asks, in the order of the nodes. The first of its
// networks that knows the name answers, as in Docker; a network's own name may follow: web.front.
func (s *State) lookup(from NodeID, name string) []*nic {
	self := s.Nodes[from]
	name = strings.TrimSuffix(name, ".")
	for end := len(name); end > 0; end = strings.LastIndexByte(name[:end], '.') {
		short, suffix := name[:end], strings.TrimPrefix(name[end:], ".")
		for _, at := range self.Order {
			network := self.NICs[at].Network
			if suffix != "" && !s.called(network, suffix) {
				continue
			}
			if found := s.holders(network, short); len(found) > 0 {
				return found
			}
		}
	}
	return nil
}

// called reports whether a network has a name.
func (s *State) called(network int, name string) bool {
	return len(s.Networks) > 0 && named([]string{s.Networks[network].Name, s.Networks[network].FullName}, name)
}

// holders lists the interfaces on a network that have a name there.
func (s *State) holders(network int, name string) []*nic {
	var found []*nic
	for _, n := range s.Nodes {
		if i := n.nicOn(network); i != nil && (!i.Unnamed && named(n.names(), name) || named(i.Aliases, name)) {
			found = append(found, i)
		}
	}
	return found
}

// nameOf is the name of the node that has an address on one of the networks of another one, or empty.
func (s *State) nameOf(from NodeID, ip IP) string {
	for i := range s.Nodes[from].NICs {
		network := s.Nodes[from].NICs[i].Network
		id, ok := s.owner(network, ip)
		switch {
		case ok && len(s.Networks) == 0:
			return s.Nodes[id].names()[0]
		case ok:
			return s.Nodes[id].Name + "." + s.Networks[network].FullName
		}
	}
	return ""
}

// SetNames says what becomes of the names that a node asks for from now on.
func (s *State) SetNames(id NodeID, n Names) { s.Nodes[id].Names = n }

// resolve answers a DNS query that a socket sent to 127.0.0.11:53.
func (sk *sock) resolve(s *State, env Env, src AddrPort, query []byte) {
	(&packet{From: sk.Node, To: resolverNode, Proto: IPPROTO_UDP, Src: src, Dst: AddrPort{resolverIP, 53}, Data: query}).looped(env)
	answer := s.dnsAnswer(sk.Node, query)
	if answer == nil {
		return
	}
	if s.Seen != nil && answer[3]&0xf == dnsNXDomain {
		s.Seen.add(ConnectionKind{Node: sk.Node, Peer: resolverNode, Port: 53, What: NameUnknown})
	}
	p := &packet{From: resolverNode, To: sk.Node, Proto: IPPROTO_UDP, Src: AddrPort{resolverIP, 53}, Dst: src, Data: answer}
	due := env.Now() + resolverLatencyNs
	if n := s.Nodes[sk.Node].Names; n.FaultID != 0 {
		ref := FaultRef{Kind: fault.DNSFail, ID: n.FaultID}
		if s.Seen != nil {
			what := NameFailed
			if n.Silent {
				what = NameSilent
			}
			s.Seen.add(ConnectionKind{Node: sk.Node, Peer: resolverNode, Port: 53, What: what})
		}
		if n.Silent {
			s.EventSeq++
			sk.Marks.withhold(ref, due, POLLIN, int64(s.EventSeq), false)
			return
		}
		p.Data, p.Fault = serverFailed(answer), ref
	}
	s.Bytes += int64(len(p.Data))
	s.push(event{At: due, Kind: evPacket, Packet: p})
}

// serverFailed turns an answer into SERVFAIL for the same question.
func serverFailed(answer []byte) []byte {
	end := dnsHeader
	if binary.BigEndian.Uint16(answer[4:]) == 1 {
		_, at, _ := dnsName(answer, dnsHeader)
		end = at + 4
	}
	answer = slices.Clone(answer[:end])
	answer[3] = answer[3]&0xf0 | dnsServFail
	answer[6], answer[7] = 0, 0
	return answer
}

// dnsAnswer makes the reply to one query; nil where a server would stay silent.
func (s *State) dnsAnswer(from NodeID, q []byte) []byte {
	if len(q) < dnsHeader || q[2]&0x80 != 0 {
		return nil
	}
	if q[2]>>3&15 != 0 {
		return dnsReply(q, dnsNotImpl, nil, nil, 0)
	}
	name, at, ok := dnsName(q, dnsHeader)
	if !ok || binary.BigEndian.Uint16(q[4:]) != 1 || at+4 > len(q) {
		return dnsReply(q, dnsFormErr, nil, nil, 0)
	}
	question := q[dnsHeader : at+4]
	typ, class := binary.BigEndian.Uint16(q[at:]), binary.BigEndian.Uint16(q[at+2:])
	if class != dnsClassIN {
		return dnsReply(q, dnsNXDomain, question, nil, 0)
	}
	if ip, ok := reverseName(name); ok {
		target := ""
		if ip.isLoopback() {
			target = "localhost"
		} else {
			target = s.nameOf(from, ip)
		}
		switch {
		case target == "":
			return dnsReply(q, dnsNXDomain, question, nil, 0)
		case typ == dnsPTR:
			return dnsReply(q, dnsNoError, question, dnsRecord(dnsPTR, encodeName(target)), 1)
		}
		return dnsReply(q, dnsNoError, question, nil, 0)
	}
	all4, all6, known := s.addressesOf(from, name)
	if !known {
		return dnsReply(q, dnsNXDomain, question, nil, 0)
	}
	var answers []byte
	count := 0
	add := func(data []byte) {
		if r := dnsRecord(typ, data); dnsHeader+len(question)+len(answers)+len(r) <= dnsMaxBytes {
			answers = append(answers, r...)
			count++
		}
	}
	switch typ {
	case dnsA:
		for _, ip := range all4 {
			add(ip[12:])
		}
	case dnsAAAA:
		for _, ip := range all6 {
			add(ip[:])
		}
	}
	return dnsReply(q, dnsNoError, question, answers, count)
}

// addressesOf are the addresses that a name resolves to; a name may be known and have none.
func (s *State) addressesOf(from NodeID, name string) (all4, all6 []IP, known bool) {
	lower := strings.ToLower(strings.TrimSuffix(name, "."))
	if lower == "localhost" || strings.HasSuffix(lower, ".localhost") {
		return []IP{loopback4}, []IP{loopback6}, true
	}
	switch ip, ok := s.extraHost(from, lower); {
	case ok && ip.Is4():
		return []IP{ip}, nil, true
	case ok:
		return nil, []IP{ip}, true
	}
	found := s.lookup(from, name)
	for _, i := range found {
		if i.Has4 {
			all4 = append(all4, i.IP4)
		}
		if i.Has6 {
			all6 = append(all6, i.IP6)
		}
	}
	return all4, all6, len(found) > 0
}

// dnsReply is an answer to q with these answers, of which there are count.
func dnsReply(q []byte, code byte, question, answers []byte, count int) []byte {
	r := []byte{q[0], q[1], 0x80 | q[2]&0x79 | 0x04, 0x80 | code} // a response, authoritative, recursion available
	qd := uint16(0)
	if question != nil {
		qd = 1
	}
	r = binary.BigEndian.AppendUint16(r, qd)
	r = binary.BigEndian.AppendUint16(r, uint16(count))
	r = append(r, 0, 0, 0, 0)
	return append(append(r, question...), answers...)
}

// dnsRecord is a record about the name of the question.
func dnsRecord(typ uint16, data []byte) []byte {
	r := []byte{0xc0, dnsHeader} // the name is the question's
	r = binary.BigEndian.AppendUint16(r, typ)
	r = binary.BigEndian.AppendUint16(r, dnsClassIN)
	r = binary.BigEndian.AppendUint32(r, dnsTTL)
	r = binary.BigEndian.AppendUint16(r, uint16(len(data)))
	return append(r, data...)
}

func (s *State) extraHost(id NodeID, name string) (IP, bool) {
	for _, line := range s.Nodes[id].ExtraHosts {
		f := strings.Fields(line)
		for _, have := range f[min(1, len(f)):] {
			if strings.ToLower(have) == name {
				return parseIP(f[0])
			}
		}
	}
	return IP{}, false
}

// dnsName decodes an uncompressed name and returns where it ends.
func dnsName(b []byte, at int) (name string, next int, ok bool) {
	var labels []string
	for at < len(b) && len(labels) < dnsMaxLabels {
		n := int(b[at])
		at++
		if n == 0 {
			return strings.Join(labels, "."), at, true
		}
		if n > 63 || at+n > len(b) {
			break
		}
		labels = append(labels, string(b[at:at+n]))
		at += n
	}
	return "", 0, false
}

func encodeName(name string) []byte {
	var b []byte
	for _, label := range strings.Split(name, ".") {
		label = label[:min(len(label), 63)]
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0)
}

// reverseName decodes d.c.b.a.in-addr.arpa and the 32 nibbles of ip6.arpa.
func reverseName(name string) (IP, bool) {
	lower := strings.ToLower(strings.TrimSuffix(name, "."))
	if rest, ok := strings.CutSuffix(lower, ".in-addr.arpa"); ok {
		p := strings.Split(rest, ".")
		if len(p) != 4 {
			return IP{}, false
		}
		return parseIP(p[3] + "." + p[2] + "." + p[1] + "." + p[0])
	}
	if rest, ok := strings.CutSuffix(lower, ".ip6.arpa"); ok {
		p := strings.Split(rest, ".")
		if len(p) != 32 {
			return IP{}, false
		}
		var ip IP
		for i, d := range p {
			v := strings.IndexByte("0123456789abcdef", (d + "?")[0])
			if v < 0 || len(d) != 1 {
				return IP{}, false
			}
			at := 31 - i
			ip[at/2] |= byte(v) << (4 * (1 - at%2))
		}
		return ip, true
	}
	return IP{}, false
}
