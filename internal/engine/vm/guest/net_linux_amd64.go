package guest

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/vm/wire"
	"github.com/bloodhound-dst/bloodhound/internal/splitmix"
)

// The agent is the network: each interface of a node is a TUN device, whose packets it takes and hands on, as late as the link says.

// mtu is how long a packet may be. It is that of links with jumbo frames: each packet costs the guest's one CPU some time.
const mtu = 9000

// maxQueued bounds the packets that are on their way, or held back.
const maxQueued = 100_000

// port is an interface of a node.
type port struct {
	node, net int
	fd        int
}

type direction struct{ from, to int }

// packet is one on its way.
type packet struct {
	dueNs int64
	order uint64 // among those of one moment
	to    int    // a port
	data  []byte
}

type queue []packet

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, k int) bool {
	return q[i].dueNs < q[k].dueNs || q[i].dueNs == q[k].dueNs && q[i].order < q[k].order
}
func (q queue) Swap(i, k int) { q[i], q[k] = q[k], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(packet)) }
func (q *queue) Pop() any {
	old := *q
	p := old[len(old)-1]
	*q = old[:len(old)-1]
	return p
}

// link is a direction between two nodes.
type link struct {
	wire.Link
	sent   uint64
	freeNs int64    // when the next packet can begin, where there is a bandwidth
	lastNs int64    // when the last one arrives: the next one does not overtake it
	held   []packet // by a clog
	met    map[int]bool
}

// fabric connects the nodes.
type fabric struct {
	mu     sync.Mutex
	ports  []port
	places map[place]int // the port of an address on a network
	links  map[direction]*link
	flying queue
	order  uint64
	ask    bool // every packet is a request of its own
	seed   uint64
	dark   map[int]bool // nodes without power: nothing leaves or reaches them

	poll, timer int
	bell        *bell
	now         func() int64
	baseNs      int64
	met         func(from, to, fault int)
}

type place struct {
	net  int
	addr netip.Addr
}

func newFabric(b *bell, now func() int64, baseNs int64, met func(from, to, fault int)) (*fabric, error) {
	f := &fabric{places: map[place]int{}, links: map[direction]*link{}, dark: map[int]bool{}, bell: b, now: now, baseNs: baseNs, met: met}
	var err error
	if f.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if f.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return nil, err
	}
	return f, unix.EpollCtl(f.poll, unix.EPOLL_CTL_ADD, f.timer, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(f.timer)})
}

// attach makes an interface in the network namespace of this thread.
func (f *fabric) attach(node int, n *wire.NIC) error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(n.Name)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return fmt.Errorf("TUNSETIFF %s: %w", n.Name, err)
	}
	at := len(f.ports)
	f.ports = append(f.ports, port{node: node, net: n.Net, fd: fd})
	if err := f.address(n, at); err != nil {
		return fmt.Errorf("interface %s: %w", n.Name, err)
	}
	return unix.EpollCtl(f.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

func (f *fabric) address(n *wire.NIC, at int) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	request, err := unix.NewIfreq(n.Name)
	if err != nil {
		return err
	}
	request.SetUint32(mtu)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFMTU, request); err != nil {
		return err
	}
	if n.IPv4 != "" {
		p, err := netip.ParsePrefix(n.IPv4)
		if err != nil {
			return err
		}
		f.places[place{n.Net, p.Addr()}] = at
		if err := setAddress(s, n.Name, unix.SIOCSIFADDR, p.Addr().AsSlice()); err != nil {
			return err
		}
		if err := setAddress(s, n.Name, unix.SIOCSIFNETMASK, net.CIDRMask(p.Bits(), 32)); err != nil {
			return err
		}
	}
	if err := up(s, n.Name); err != nil {
		return err
	}
	if n.IPv6 == "" {
		return nil
	}
	p, err := netip.ParsePrefix(n.IPv6)
	if err != nil {
		return err
	}
	f.places[place{n.Net, p.Addr()}] = at
	return addIPv6(n.Name, p)
}

func setAddress(s int, name string, ioctl uint, addr []byte) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := request.SetInet4Addr(addr); err != nil {
		return err
	}
	return unix.IoctlIfreq(s, ioctl, request)
}

func up(s int, name string) error {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(s, unix.SIOCGIFFLAGS, request); err != nil {
		return err
	}
	request.SetUint16(request.Uint16() | unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, request)
}

func addIPv6(name string, p netip.Prefix) error {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	s, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	var request struct { // struct in6_ifreq of linux/ipv6.h
		addr   [16]byte
		length uint32
		index  int32
	}
	request.addr, request.length, request.index = p.Addr().As16(), uint32(p.Bits()), int32(i.Index)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s), unix.SIOCSIFADDR, uintptr(unsafe.Pointer(&request))); errno != 0 && errno != unix.EEXIST {
		return errno
	}
	return nil
}

// darken takes the network of a node away, or gives it back.
func (f *fabric) darken(node int, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dark[node] = on
}

// set changes a direction.
func (f *fabric) set(l wire.Link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.link(l.From, l.To)
	k.Link = l
	if l.Clogged == 0 && len(k.held) > 0 {
		held := k.held
		k.held = nil
		for _, p := range held {
			f.send(k, p, wire.Fate{})
		}
		f.arm()
	}
}

func (f *fabric) link(from, to int) *link {
	d := direction{from, to}
	k := f.links[d]
	if k == nil {
		k = &link{Link: wire.Link{From: from, To: to}, met: map[int]bool{}}
		f.links[d] = k
	}
	return k
}

// run passes packets on, for ever.
func (f *fabric) run() {
	events := make([]unix.EpollEvent, 64)
	buffer := make([]byte, 1<<16)
	for {
		n, err := unix.EpollWait(f.poll, events, -1)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			panic("the network: " + err.Error())
		}
		f.mu.Lock()
		for _, e := range events[:n] {
			if int(e.Fd) == f.timer {
				unix.Read(f.timer, buffer[:8])
				continue
			}
			for i := range f.ports {
				if f.ports[i].fd == int(e.Fd) {
					f.drain(i, buffer)
				}
			}
		}
		f.land()
		f.arm()
		f.mu.Unlock()
	}
}

func (f *fabric) drain(from int, buffer []byte) {
	for {
		n, err := unix.Read(f.ports[from].fd, buffer)
		if err != nil || n <= 0 {
			return
		}
		f.receivePacket(from, buffer[:n])
	}
}

// receivePacket receives a packet of a port.
func (f *fabric) receivePacket(from int, data []byte) {
	dst, datagram, ok := destination(data)
	if !ok {
		return
	}
	at := &f.ports[from]
	to, ok := f.places[place{at.net, dst}]
	if !ok {
		return
	}
	if f.dark[at.node] || f.dark[f.ports[to].node] {
		return
	}
	k := f.link(at.node, f.ports[to].node)
	p := packet{to: to, data: bytes.Clone(data)}
	var fate wire.Fate
	if k.Ask || f.ask {
		request := wire.PacketRequest{From: k.From, To: k.To, NowNs: f.now(), Datagram: datagram, Size: len(data)}
		if f.ask {
			request.Bytes = data
		}
		fate = wire.ParseFate(f.bell.ask(wire.Packet, request.Append(nil)))
	}
	if k.Blocked != 0 {
		f.meets(k, k.Blocked)
		return
	}
	if fate.Lost {
		return
	}
	if fate.Bit > 0 {
		p.data[(fate.Bit-1)/8%len(p.data)] ^= 1 << ((fate.Bit - 1) % 8)
	}
	for range 1 + fate.Copies {
		f.send(k, p, fate)
	}
}

func (f *fabric) meets(k *link, fault int) {
	if !k.met[fault] {
		k.met[fault] = true
		f.met(k.From, k.To, fault)
	}
}

// send puts a packet on its way.
func (f *fabric) send(k *link, p packet, fate wire.Fate) {
	if k.Clogged != 0 {
		f.meets(k, k.Clogged)
		if len(k.held) < maxQueued {
			k.held = append(k.held, p)
		}
		return
	}
	if k.Slow != 0 {
		f.meets(k, k.Slow)
	}
	now := f.now()
	p.dueNs = now
	if k.Bandwidth > 0 {
		k.freeNs = max(k.freeNs, now) + int64(len(p.data))*1e9/k.Bandwidth
		p.dueNs = k.freeNs
	}
	p.dueNs += k.LatencyNs + fate.DelayNs + f.jitter(k)
	if fate.DelayNs == 0 {
		p.dueNs = max(p.dueNs, k.lastNs)
		k.lastNs = p.dueNs
	}
	if p.order = f.order; len(f.flying) < maxQueued {
		heap.Push(&f.flying, p)
	}
	f.order++
}

// Jitter: one packet in so many has some, in so many steps.
const (
	jitterOneIn = 10
	jitterSteps = 64
)

// jitter is how much later a packet arrives by chance.
func (f *fabric) jitter(k *link) int64 {
	if k.JitterNs == 0 {
		return 0
	}
	k.sent++
	v := splitmix.Mix(splitmix.Mix(f.seed+uint64(k.From)<<32+uint64(k.To)) + k.sent*splitmix.Gamma)
	if v%jitterOneIn != 0 {
		return 0
	}
	return k.JitterNs * int64(v>>32%jitterSteps) / (jitterSteps - 1)
}

// reseed begins another series of jitter.
func (f *fabric) reseed(seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seed = seed
}

// land hands over what has arrived.
func (f *fabric) land() {
	for now := f.now(); len(f.flying) > 0 && f.flying[0].dueNs <= now; {
		p := heap.Pop(&f.flying).(packet)
		if f.dark[f.ports[p.to].node] {
			continue
		}
		unix.Write(f.ports[p.to].fd, p.data) // a queue that is full loses it, as a real one does
	}
}

func (f *fabric) arm() {
	var at unix.ItimerSpec
	if len(f.flying) > 0 {
		at.Value = unix.NsecToTimespec(max(f.baseNs+f.flying[0].dueNs, 1))
	}
	unix.TimerfdSettime(f.timer, unix.TFD_TIMER_ABSTIME, &at, nil)
}

// destination finds where a packet of IP goes to.
func destination(p []byte) (dst netip.Addr, datagram, ok bool) {
	const tcp = 6
	switch {
	case len(p) >= 20 && p[0]>>4 == 4:
		return netip.AddrFrom4([4]byte(p[16:20])), p[9] != tcp, true
	case len(p) >= 40 && p[0]>>4 == 6:
		return netip.AddrFrom16([16]byte(p[24:40])), p[6] != tcp, true
	}
	return dst, false, false
}

// resetTCP ends the TCP connections of the network namespace of this thread whose other end is one of addrs (sock_diag(7)), or all if that is
// nil, and reports how many there were.
func resetTCP(addrs []netip.Addr) (count int, err error) {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, err
	}
	defer unix.Close(s)
	const (
		byFamily, destroy = 20, 21
		idBytes           = 48 // struct inet_diag_sockid
		live              = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<8
	)
	le := binary.LittleEndian
	request := func(kind, flags uint16, family byte, states uint32, id []byte) error {
		b := make([]byte, 16+8+idBytes)
		le.PutUint32(b, uint32(len(b)))
		le.PutUint16(b[4:], kind)
		le.PutUint16(b[6:], flags)
		b[16], b[17] = family, unix.IPPROTO_TCP
		le.PutUint32(b[20:], states)
		copy(b[24:], id)
		return unix.Sendto(s, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	var found [][]byte // family, and struct inet_diag_sockid
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		if err := request(byFamily, unix.NLM_F_REQUEST|unix.NLM_F_DUMP, family, live, nil); err != nil {
			return 0, err
		}
		buffer := make([]byte, 1<<16)
		for done := false; !done; {
			n, _, err := unix.Recvfrom(s, buffer, 0)
			if err != nil {
				return 0, err
			}
			for b := buffer[:n]; len(b) >= 16; b = b[min((int(le.Uint32(b))+3)&^3, len(b)):] {
				if kind := le.Uint16(b[4:]); kind == unix.NLMSG_DONE || kind == unix.NLMSG_ERROR {
					done = true
					break
				}
				m := b[16:]
				id := m[4 : 4+idBytes]
				var other netip.Addr
				if m[0] == unix.AF_INET {
					other = netip.AddrFrom4([4]byte(id[20:24]))
				} else {
					other = netip.AddrFrom16([16]byte(id[20:36])).Unmap()
				}
				if addrs == nil || slices.Contains(addrs, other) {
					found = append(found, append([]byte{m[0]}, id...))
				}
			}
		}
	}
	for _, id := range found {
		if err := request(destroy, unix.NLM_F_REQUEST|unix.NLM_F_ACK, id[0], 0, id[1:]); err != nil {
			return count, err
		}
		buffer := make([]byte, 4096)
		if n, _, err := unix.Recvfrom(s, buffer, 0); err == nil && n >= 20 && le.Uint32(buffer[16:]) == 0 {
			count++
		}
	}
	return count, nil
}
