//go:build linux

package net

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// both makes every call twice: on real sockets of this machine, on loopback and in the abstract namespace, and on
// the model. Each call gives a text; the texts must be equal.
type both struct {
	*scripted
	t    *testing.T
	tag  string
	fds  []int // of socket i; -1 when closed
	ids  []SockID
	kind []string
	real map[string]uint16 // kind and port of the model -> real port
	log  []string
}

func newBoth(t *testing.T, seed uint64) *both {
	b := &both{scripted: newWorld(seed), t: t, tag: fmt.Sprintf("bloodhound-%d-%d", unix.Getpid(), seed), real: map[string]uint16{}}
	b.do("node n1 10.0.0.1")
	t.Cleanup(func() {
		for _, fd := range b.fds {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
	})
	return b
}

func errnoName(err error) string {
	if err == nil {
		return "OK"
	}
	return errno.Errno(err.(unix.Errno)).Error()
}

// same compares the two results of a call.
func (b *both) same(what, real, model string) bool {
	b.t.Helper()
	b.log = append(b.log, what+" -> "+model)
	if real != model {
		b.t.Errorf("%s:\n  Linux %s\n  model %s\nafter:\n%s", what, real, model, strings.Join(b.log[max(len(b.log)-60, 0):], "\n"))
		return false
	}
	return true
}

func (b *both) add(fd int, id SockID, kind string) {
	if kind == "tcp" { // the model has no Nagle delay
		unix.SetsockoptInt(fd, SOL_TCP, TCP_NODELAY, 1)
	}
	b.fds, b.ids, b.kind = append(b.fds, fd), append(b.ids, id), append(b.kind, kind)
}

func (b *both) socket(kind string) {
	k := kinds[kind]
	fd, err := unix.Socket(k.Family, k.Type|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	id, e := b.s.Socket(0, Kind{k.Family, k.Type, 0})
	if e != errno.OK {
		b.t.Fatal(e)
	}
	b.add(fd, id, kind)
}

func (b *both) pair(kind string) {
	k := kinds[kind]
	fds, err := unix.Socketpair(k.Family, k.Type|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	x, y, _ := b.s.Socketpair(0, Kind{k.Family, k.Type, 0}, Cred{})
	b.add(fds[0], x, kind)
	b.add(fds[1], y, kind)
}

// address gives the same place for both worlds: name "a" to "c" of the abstract namespace, or the address of
// another socket, or a port that no socket has.
func (b *both) address(i, where int) (unix.Sockaddr, Addr, string) {
	if strings.Contains("stream dgram seq", b.kind[i]) {
		name := string(rune('a' + where%3))
		return &unix.SockaddrUnix{Name: "@" + b.tag + name}, Addr{Family: AF_UNIX, Path: "\x00" + name}, "@" + name
	}
	port := uint16(0)
	if j := where % len(b.ids); b.fds[j] >= 0 && b.kind[j] == b.kind[i] {
		if a, e := b.s.Getsockname(b.ids[j]); e == errno.OK {
			port = a.Port
		}
	}
	realPort := b.real[fmt.Sprint(b.kind[i], port)]
	if realPort == 0 {
		port, realPort = 1, 1 // tcpmux: closed everywhere
	}
	return &unix.SockaddrInet4{Port: int(realPort), Addr: [4]byte{127, 0, 0, 1}}, Addr{Family: AF_INET, IP: loopback4, Port: port}, fmt.Sprint("port ", port)
}

// learn notes which real port a socket has got.
func (b *both) learn(i int) {
	if !strings.Contains("tcp udp", b.kind[i]) {
		return
	}
	a, _ := b.s.Getsockname(b.ids[i])
	if sa, err := unix.Getsockname(b.fds[i]); err == nil && a.Port != 0 {
		b.real[fmt.Sprint(b.kind[i], a.Port)] = uint16(sa.(*unix.SockaddrInet4).Port)
	}
}

func (b *both) poll(fd int) uint32 {
	p := []unix.PollFd{{Fd: int32(fd), Events: POLLIN | POLLOUT | POLLPRI | POLLRDHUP | POLLRDNORM | POLLWRNORM}}
	for {
		_, err := unix.Poll(p, 0)
		if err == nil {
			return uint32(uint16(p[0].Revents))
		}
		if err != unix.EINTR {
			b.t.Fatal(err)
		}
	}
}

func (b *both) pollAll() bool {
	for i, fd := range b.fds {
		if fd < 0 {
			continue
		}
		got := b.poll(fd)
		want := uint32(POLLIN | POLLOUT | POLLPRI | POLLRDHUP | POLLRDNORM | POLLWRNORM | POLLERR | POLLHUP)
		model := b.s.Poll(b.ids[i]) & want
		for tries := 0; got != model && tries < 20; tries++ { // a busy machine delivers later
			time.Sleep(2 * time.Millisecond) // Linux reports no end of a delivery
			got = b.poll(fd)
		}
		if !b.same(fmt.Sprintf("poll %d (%s)", i, b.kind[i]), fmt.Sprintf("%x", got), fmt.Sprintf("%x", model)) {
			return false
		}
		b.log = b.log[:len(b.log)-1]
	}
	return true
}

// step makes one random call on both.
func (b *both) step(r *rand.Rand, kinds []string) bool {
	if len(b.fds) < 2 || r.IntN(8) == 0 && len(b.fds) < 14 {
		kind := kinds[r.IntN(len(kinds))]
		if strings.Contains("stream dgram seq", kind) && r.IntN(2) == 0 {
			b.pair(kind)
		} else {
			b.socket(kind)
		}
		return true
	}
	i := r.IntN(len(b.fds))
	fd, id := b.fds[i], b.ids[i]
	if fd < 0 {
		return true
	}
	who := fmt.Sprintf("%s %d", b.kind[i], i)
	inet := strings.Contains("tcp udp", b.kind[i])
	switch r.IntN(12) {
	case 0:
		if inet {
			err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
			e := b.s.Bind(b, id, Addr{Family: AF_INET, IP: loopback4}, Cred{})
			b.learn(i)
			return b.same("bind "+who, errnoName(err), e.Error())
		}
		sa, a, name := b.address(i, r.IntN(3))
		return b.same("bind "+who+" "+name, errnoName(unix.Bind(fd, sa)), b.s.Bind(b, id, a, Cred{}).Error())
	case 1:
		n := r.IntN(2)
		err := unix.Listen(fd, n)
		e := b.s.Listen(b, id, n, Cred{})
		b.learn(i)
		return b.same(fmt.Sprintf("listen %s %d", who, n), errnoName(err), e.Error())
	case 2, 3:
		sa, a, name := b.address(i, r.IntN(99))
		err := unix.Connect(fd, sa)
		e := b.s.Connect(b, id, a, Cred{})
		if b.kind[i] == "tcp" {
			time.Sleep(time.Millisecond) // Linux reports no end of a handshake that may be refused
		}
		b.learn(i)
		return b.same("connect "+who+" "+name, errnoName(err), e.Error())
	case 4:
		nfd, _, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		nid, _, e := b.s.Accept(b, id, MSG_DONTWAIT)
		if err == nil && e == errno.OK {
			b.add(nfd, nid, b.kind[i])
		}
		return b.same("accept "+who, errnoName(err), e.Error())
	case 5, 6:
		if sk := b.s.Socks[id]; sk.Type == SOCK_DGRAM && sk.Unix != nil && sk.Unix.Peer == 0 && sk.Shut&shutWR != 0 {
			return true // EPIPE or ENOTCONN: versions of Linux differ
		}
		data := []byte(strings.Repeat("x", 1+r.IntN(40)))
		n, err := unix.SendmsgN(fd, data, nil, nil, unix.MSG_NOSIGNAL)
		m, e := b.s.Send(b, id, SendArgs{Data: data})
		return b.same(fmt.Sprintf("send %s %d", who, len(data)), fmt.Sprint(max(n, 0), " ", errnoName(err)), fmt.Sprint(m, " ", e))
	case 7:
		if b.kind[i] == "tcp" {
			return true
		}
		sa, a, name := b.address(i, r.IntN(99))
		n, err := unix.SendmsgN(fd, []byte("hey"), nil, sa, unix.MSG_NOSIGNAL)
		m, e := b.s.Send(b, id, SendArgs{Data: []byte("hey"), To: &a})
		b.learn(i)
		return b.same("sendto "+who+" "+name, fmt.Sprint(max(n, 0), " ", errnoName(err)), fmt.Sprint(m, " ", e))
	case 8, 9:
		flags := []int{0, MSG_PEEK, MSG_TRUNC}[r.IntN(3)]
		if b.kind[i] == "tcp" || b.kind[i] == "stream" {
			flags &= MSG_PEEK
		}
		buf := make([]byte, 1+r.IntN(60))
		n, _, rf, _, err := unix.Recvmsg(fd, buf, nil, flags)
		got, e := b.s.Recv(b, id, len(buf), flags|MSG_DONTWAIT)
		size := len(got.Data)
		if flags&MSG_TRUNC != 0 {
			size = got.Full
		}
		return b.same(fmt.Sprintf("recv %s %d flags %x", who, len(buf), flags), fmt.Sprintf("%d %s %x", max(n, 0), errnoName(err), rf&(MSG_TRUNC|MSG_EOR)),
			fmt.Sprintf("%d %s %x", size, e, got.Flags&(MSG_TRUNC|MSG_EOR)))
	case 10:
		how := r.IntN(3)
		if _, e := b.s.Getpeername(id); e != errno.OK && b.kind[i] == "tcp" && b.s.Socks[id].TCP.State == closed {
			return true // what Linux makes of a connect after that is of no use to anyone
		}
		return b.same(fmt.Sprintf("shutdown %s %d", who, how), errnoName(unix.Shutdown(fd, how)), b.s.Shutdown(b, id, how).Error())
	default:
		switch r.IntN(3) {
		case 0:
			unix.Close(fd)
			b.s.Close(b, id)
			b.fds[i] = -1
			b.log = append(b.log, "close "+who)
			return true
		case 1:
			v, err := unix.GetsockoptInt(fd, SOL_SOCKET, SO_ERROR)
			got, e := b.s.GetOption(id, SOL_SOCKET, SO_ERROR, 4)
			return b.same("error "+who, fmt.Sprint(v, " ", errnoName(err)), fmt.Sprint(int(got[0]), " ", e))
		}
		_, err := unix.Getpeername(fd)
		_, e := b.s.Getpeername(id)
		return b.same("peer "+who, errnoName(err), e.Error())
	}
}

func (b *both) run(r *rand.Rand, steps int, pause time.Duration, kinds ...string) {
	for range steps {
		if !b.step(r, kinds) {
			return
		}
		time.Sleep(pause) // Linux reports no end of a delivery
		if !b.pollAll() {
			return
		}
		if err := b.s.Check(); err != nil {
			b.t.Error(err)
			return
		}
	}
}

// connections makes n accepted TCP connections, so that a script has something to work on.
func (b *both) connections(n int) {
	b.socket("tcp")
	unix.Bind(b.fds[0], &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	b.s.Bind(b, b.ids[0], Addr{Family: AF_INET, IP: loopback4}, Cred{})
	unix.Listen(b.fds[0], 5)
	b.s.Listen(b, b.ids[0], 5, Cred{})
	b.learn(0)
	for range n {
		b.socket("tcp")
		i := len(b.fds) - 1
		sa, a, _ := b.address(i, 0)
		unix.Connect(b.fds[i], sa)
		b.s.Connect(b, b.ids[i], a, Cred{})
		time.Sleep(time.Millisecond) // the socket does not block, so accept has nothing to wait for
		fd, _, err := unix.Accept4(b.fds[0], unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		id, _, e := b.s.Accept(b, b.ids[0], 0)
		if err != nil || e != errno.OK {
			b.t.Fatal(err, e)
		}
		b.learn(i)
		b.add(fd, id, "tcp")
	}
}

// How many random scripts are compared with the machine's own kernel.
const (
	unixScripts = 150
	inetScripts = 10
)

// TestLikeLinuxUnix: random calls on unix sockets give what the kernel of this machine gives.
func TestLikeLinuxUnix(t *testing.T) {
	types := []string{"stream", "seq", "dgram"}
	if n, err := os.ReadFile("/proc/sys/net/unix/max_dgram_qlen"); err != nil || strings.TrimSpace(string(n)) != strconv.Itoa(maxDgramQueue) {
		t.Logf("datagrams are left out: net.unix.max_dgram_qlen is %s here, not %d", n, maxDgramQueue)
		types = types[:2]
	}
	for seed := range uint64(unixScripts) {
		b := newBoth(t, seed)
		b.run(rand.New(rand.NewPCG(seed, 9)), 120, 0, types...)
		if t.Failed() {
			return
		}
		b.close()
	}
}

// TestLikeLinuxInet: the same for TCP and UDP on loopback. The short pause lets the machine's own network settle.
func TestLikeLinuxInet(t *testing.T) {
	for seed := range uint64(inetScripts) {
		b := newBoth(t, seed)
		b.connections(3)
		b.run(rand.New(rand.NewPCG(seed, 8)), 100, 300*time.Microsecond, "tcp", "udp")
		if t.Failed() {
			return
		}
		b.close()
	}
}

func (b *both) close() {
	for i, fd := range b.fds {
		if fd >= 0 {
			unix.Close(fd)
			b.fds[i] = -1
		}
	}
}
