package hand

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// network holds a keeper's changes to its own network. Rules in a table of nftables drop packets, or choose the class
// of a queueing discipline by a packet's priority, and count them. Their user data is the key of an order.
type network struct {
	table  *nftables.Table
	chains map[chainName]*nftables.Chain
	links  []netlink.Link // with a root class tree
	shapes map[string]uint16
	next   uint16 // class
}

type chainName string

const (
	arriving chainName = "arriving" // before connections are tracked
	asking   chainName = "asking"   // marks questions for names
	asked    chainName = "asked"    // meets them on their way through the loopback interface to the resolver of the container engine
	leaving  chainName = "leaving"  // chooses classes
)

// million is the denominator of rates.
const million = 1_000_000

func newNetwork() *network {
	return &network{chains: map[chainName]*nftables.Chain{}, shapes: map[string]uint16{}, next: 1}
}

var hooks = map[chainName]struct {
	hook     *nftables.ChainHook
	priority *nftables.ChainPriority
}{
	arriving: {nftables.ChainHookPrerouting, nftables.ChainPriorityRaw},
	asking:   {nftables.ChainHookOutput, nftables.ChainPriorityRaw},
	asked:    {nftables.ChainHookInput, nftables.ChainPriorityFilter},
	leaving:  {nftables.ChainHookPostrouting, nftables.ChainPrioritySELinuxLast},
}

// filter opens nftables, with a chain that is made at its first use.
func (n *network) filter(name chainName) (*nftables.Conn, *nftables.Chain, error) {
	c, err := nftables.New()
	if err != nil {
		return nil, nil, err
	}
	if n.table == nil {
		n.table = c.AddTable(&nftables.Table{Family: nftables.TableFamilyINet, Name: "bloodhound"})
	}
	if n.chains[name] == nil {
		at := hooks[name]
		n.chains[name] = c.AddChain(&nftables.Chain{Name: string(name), Table: n.table, Type: nftables.ChainTypeFilter,
			Hooknum: at.hook, Priority: at.priority})
		if err := c.Flush(); err != nil {
			delete(n.chains, name)
			return nil, nil, fmt.Errorf("nftables: %w", err)
		}
	}
	return c, n.chains[name], nil
}

// The places of addresses in IP headers (RFC 791, RFC 8200).
const (
	source4, target4 = 12, 16
	source6, target6 = 8, 24
)

// match lets through to the next expression packets whose source, or target, is an address.
func match(address string, target bool) ([]expr.Any, error) {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return nil, err
	}
	family, offset, size := byte(unix.NFPROTO_IPV4), uint32(source4), uint32(4)
	switch {
	case a.Is4() && target:
		offset = target4
	case a.Is6() && target:
		family, offset, size = unix.NFPROTO_IPV6, target6, 16
	case a.Is6():
		family, offset, size = unix.NFPROTO_IPV6, source6, 16
	}
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{family}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: size},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: a.AsSlice()},
	}, nil
}

// some lets through so many of a million packets.
func some(ppm uint64) []expr.Any {
	if ppm >= million {
		return nil
	}
	return []expr.Any{
		&expr.Numgen{Register: 1, Modulus: million, Type: unix.NFT_NG_RANDOM},
		&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
		&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: binaryutil.BigEndian.PutUint32(uint32(ppm))},
	}
}

// rule adds a rule that counts what it meets.
func rule(c *nftables.Conn, chain *nftables.Chain, key string, when, then []expr.Any) {
	c.AddRule(&nftables.Rule{Table: chain.Table, Chain: chain, UserData: []byte(key), Exprs: slices.Concat(when, []expr.Any{&expr.Counter{}}, then)})
}

func (n *network) lose(l *Lose) error {
	c, chain, err := n.filter(arriving)
	if err != nil {
		return err
	}
	for _, address := range l.From {
		when, err := match(address, false)
		if err != nil {
			return err
		}
		rule(c, chain, l.Key, slices.Concat(when, some(l.PPM)), []expr.Any{&expr.Verdict{Kind: expr.VerdictDrop}})
	}
	return c.Flush()
}

func (n *network) regain(key string) (int64, error) { return n.remove(arriving, key) }

// remove removes the rules with a key and reports how many packets they have met.
func (n *network) remove(name chainName, key string) (count int64, err error) {
	if n.chains[name] == nil {
		return 0, nil
	}
	c, chain, err := n.filter(name)
	if err != nil {
		return 0, err
	}
	rules, err := c.GetRules(n.table, chain)
	if err != nil {
		return 0, err
	}
	for _, r := range rules {
		if string(r.UserData) != key {
			continue
		}
		count += packetCount(r)
		if err := c.DelRule(r); err != nil {
			return count, err
		}
	}
	return count, c.Flush()
}

// packetCount returns the number of packets that a rule has counted.
func packetCount(r *nftables.Rule) int64 {
	for _, e := range r.Exprs {
		if counter, ok := e.(*expr.Counter); ok {
			return int64(counter.Packets)
		}
	}
	return 0
}

func (n *network) counts() (map[string]int64, error) {
	all := map[string]int64{}
	for _, name := range []chainName{arriving, leaving} {
		if n.chains[name] == nil {
			continue
		}
		c, chain, err := n.filter(name)
		if err != nil {
			return nil, err
		}
		rules, err := c.GetRules(n.table, chain)
		if err != nil {
			return nil, err
		}
		for _, r := range rules {
			all[string(r.UserData)] += packetCount(r)
		}
	}
	return all, nil
}

// nameMark marks packets with questions for names; dns is their port.
const (
	nameMark = 0xb100d
	dns      = 53
)

// names disturbs what programs ask the resolver of the container engine, which listens on the loopback interface of the network. To lose a
// packet where it leaves would fail the call of the program.
func (n *network) names(way string) (int64, error) {
	const key = "names"
	count, err := n.remove(asked, key)
	if err != nil || way == NamesRight {
		return count, err
	}
	c, chain, err := n.filter(asking)
	if err != nil {
		return 0, err
	}
	if rules, err := c.GetRules(n.table, chain); err != nil {
		return 0, err
	} else if len(rules) == 0 {
		rule(c, chain, key, []expr.Any{
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.BigEndian.PutUint16(dns)},
		}, []expr.Any{
			&expr.Immediate{Register: 1, Data: binaryutil.NativeEndian.PutUint32(nameMark)},
			&expr.Meta{Key: expr.MetaKeyMARK, SourceRegister: true, Register: 1},
		})
		if err := c.Flush(); err != nil {
			return 0, err
		}
	}
	c, chain, err = n.filter(asked)
	if err != nil {
		return 0, err
	}
	then := []expr.Any{&expr.Verdict{Kind: expr.VerdictDrop}}
	if way == NamesFail {
		then = []expr.Any{&expr.Reject{Type: unix.NFT_REJECT_ICMPX_UNREACH, Code: unix.NFT_REJECT_ICMPX_PORT_UNREACH}}
	}
	rule(c, chain, key, []expr.Any{
		&expr.Meta{Key: expr.MetaKeyMARK, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binaryutil.NativeEndian.PutUint32(nameMark)},
	}, then)
	return count, c.Flush()
}

// Of the class tree of an interface: its handle, and the rate of a class that is not bounded, in bits a second.
const (
	treeMajor = 0xb1
	unbounded = 100_000_000_000
	usPerNs   = 1000
	bits      = 8
)

// tree gives each interface a root queueing discipline with classes. What no rule has chosen a class for passes at once.
func (n *network) tree() error {
	if len(n.links) > 0 {
		return nil
	}
	all, err := netlink.LinkList()
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.Attrs().Flags&net.FlagLoopback != 0 || l.Attrs().Flags&net.FlagUp == 0 {
			continue
		}
		root := netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(treeMajor, 0), Parent: netlink.HANDLE_ROOT})
		if err := netlink.QdiscAdd(root); err != nil {
			return fmt.Errorf("tc: htb on %s: %w", l.Attrs().Name, err)
		}
		n.links = append(n.links, l)
	}
	return nil
}

// shape makes a class for an order, in which packets wait, and rules that choose it.
func (n *network) shape(s *Shape) error {
	if err := n.tree(); err != nil {
		return err
	}
	n.next++
	class := n.next
	n.shapes[s.Key] = class
	id := netlink.MakeHandle(treeMajor, class)
	rate := uint64(unbounded)
	if s.Bandwidth > 0 {
		rate = uint64(s.Bandwidth) * bits
	}
	for _, l := range n.links {
		at := netlink.ClassAttrs{LinkIndex: l.Attrs().Index, Parent: netlink.MakeHandle(treeMajor, 0), Handle: id}
		if err := netlink.ClassAdd(netlink.NewHtbClass(at, netlink.HtbClassAttrs{Rate: rate, Ceil: rate})); err != nil {
			return fmt.Errorf("tc: a class of %s: %w", l.Attrs().Name, err)
		}
		attributes := netlink.NetemQdiscAttrs{Latency: uint32(s.LatencyNs / usPerNs), Jitter: uint32(s.JitterNs / usPerNs), Limit: netemLimit}
		if s.Duplicate {
			attributes.Duplicate = 100
		}
		if s.Corrupt {
			attributes.CorruptProb = 100
		}
		if attributes == (netlink.NetemQdiscAttrs{Limit: netemLimit}) { // a bandwidth alone
			continue
		}
		delay := netlink.NewNetem(netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Parent: id, Handle: netlink.MakeHandle(treeMajor+class, 0)}, attributes)
		if err := netlink.QdiscAdd(delay); err != nil {
			return fmt.Errorf("tc: netem on %s: %w", l.Attrs().Name, err)
		}
	}
	c, chain, err := n.filter(leaving)
	if err != nil {
		return err
	}
	for _, address := range s.To {
		when, err := match(address, true)
		if err != nil {
			return err
		}
		rule(c, chain, s.Key, slices.Concat(when, some(s.PPM)), []expr.Any{
			&expr.Immediate{Register: 1, Data: binaryutil.NativeEndian.PutUint32(id)},
			&expr.Meta{Key: expr.MetaKeyPRIORITY, SourceRegister: true, Register: 1},
		})
	}
	return c.Flush()
}

// netemLimit is how many packets netem holds.
const netemLimit = 100_000

// unshape has later packets pass at once. Those that wait in a class still leave it at their time, so the class stays.
func (n *network) unshape(key string) (int64, error) {
	delete(n.shapes, key)
	return n.remove(leaving, key)
}

// States of TCP (include/net/tcp_states.h).
const tcpListen = 10

// reset ends connections with some addresses: this end gets an error, the other one RST (RFC 9293, 3.10.5).
func (n *network) reset(peers []string) (count int64, err error) {
	sockets, err := netlink.SocketDiagTCP(unix.AF_INET)
	if err != nil {
		return 0, err
	}
	for _, s := range sockets {
		if s.State == tcpListen || !slices.Contains(peers, s.ID.Destination.String()) {
			continue
		}
		err := netlink.SocketDestroy(&net.TCPAddr{IP: s.ID.Source, Port: int(s.ID.SourcePort)},
			&net.TCPAddr{IP: s.ID.Destination, Port: int(s.ID.DestinationPort)})
		switch {
		case err == nil:
			count++
		case !errors.Is(err, unix.ENOENT): // it has ended meanwhile
			return count, err
		}
	}
	return count, nil
}

// lacks tries what orders need of the kernel.
func (n *network) lacks(needs []string) map[string]string {
	lacks := map[string]string{}
	for _, need := range needs {
		var err error
		switch need {
		case LacksFilter:
			_, _, err = n.filter(arriving)
		case LacksNetem: // a class that no rule chooses
			err = n.shape(&Shape{Key: "try", LatencyNs: 1e6})
		case LacksReset:
			nowhere := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}
			if err = netlink.SocketDestroy(nowhere, nowhere); errors.Is(err, unix.ENOENT) {
				err = nil
			}
		}
		if err != nil {
			lacks[need] = err.Error()
		}
	}
	return lacks
}

// arrived is how many packets have come from other nodes.
func (n *network) arrived() (count int64, err error) {
	all, err := netlink.LinkList()
	if err != nil {
		return 0, err
	}
	for _, l := range all {
		if a := l.Attrs(); a.Flags&net.FlagLoopback == 0 && a.Statistics != nil {
			count += int64(a.Statistics.RxPackets)
		}
	}
	return count, nil
}
