package net

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// How many random worlds the property tests run.
const (
	streamSeeds = 12
	chaosSeeds  = 25
)

// duplex is one TCP connection over links with faults, and what each end has written and read.
type duplex struct {
	*scripted
	ends  [2]SockID
	wrote [2][]byte
	read  [2][]byte
	log   []string
}

func newDuplex(t *testing.T, seed uint64) *duplex {
	d := &duplex{scripted: newWorld(seed)}
	for _, c := range []string{"node n1 10.0.0.1", "node n2 10.0.0.2", "link n1 n2 1ms", "socket l n2 tcp", "bind l 0.0.0.0:80",
		"listen l 5", "socket c n1 tcp", "connect c 10.0.0.2:80", "advance 5ms", "accept l s"} {
		d.do(c)
	}
	d.ends = [2]SockID{d.socks["c"], d.socks["s"]}
	if d.s.Poll(d.ends[1])&POLLOUT == 0 {
		t.Fatal("not connected")
	}
	return d
}

func (d *duplex) note(format string, args ...any) {
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

func (d *duplex) write(i, n int) {
	data := make([]byte, n)
	for k := range data {
		data[k] = byte(len(d.wrote[i]) + k + (len(d.wrote[i])+k)>>8)
	}
	n, e := d.s.Send(d, d.ends[i], SendArgs{Data: data})
	d.wrote[i] = append(d.wrote[i], data[:n]...)
	d.note("send %d %d %v", i, n, e)
}

func (d *duplex) recv(i, n, flags int) errno.Errno {
	r, e := d.s.Recv(d, d.ends[i], n, flags)
	if flags&MSG_PEEK == 0 {
		d.read[i] = append(d.read[i], r.Data...)
	}
	d.note("recv %d %d %v", i, len(r.Data), e)
	return e
}

// step does one random thing.
func (d *duplex) step(r *rand.Rand) {
	i := r.IntN(2)
	a, b := d.nodes["n1"], d.nodes["n2"]
	if i == 1 {
		a, b = b, a
	}
	switch r.IntN(14) {
	case 0, 1:
		d.write(i, 1+r.IntN(50))
	case 2:
		d.write(i, r.IntN(200_000))
	case 3, 4, 5:
		d.recv(i, 1+r.IntN(100_000), 0)
	case 6:
		d.recv(i, 1+r.IntN(1000), MSG_PEEK)
	case 7:
		d.s.SetBlocked(a, b, r.IntN(2) == 0, 1+r.IntN(2))
	case 8:
		d.s.SetRates(a, b, Rates{DropPPM: uint64(r.IntN(300_000)), CorruptPPM: uint64(r.IntN(100_000)),
			DelayPPM: uint64(r.IntN(300_000)), DelayMinNs: 1e5, DelayMaxNs: 5e8})
	case 9:
		d.s.SetLink(a, b, Link{LatencyNs: int64(r.IntN(20e6)), JitterNs: int64(r.IntN(20e6)), Bandwidth: int64(r.IntN(2)) * 1e6})
	case 10:
		d.s.SetClog(d, a, b, r.IntN(2))
	case 11:
		d.s.SetSlow(d, a, b, Slow{FaultID: r.IntN(2), SinceNs: d.now, LatencyNs: int64(r.IntN(200e6)),
			JitterNs: int64(r.IntN(50e6)), Bandwidth: int64(r.IntN(3)) * 1e5})
	default:
		d.advance(int64(r.IntN(1 << (10 + r.IntN(22)))))
	}
	d.note("t %d poll %x %x overdue %v", d.now, d.s.Poll(d.ends[0]), d.s.Poll(d.ends[1]), d.s.Overdue(d, d.ends[i], d.now-1e8))
}

// finish heals everything, reads to the end and closes.
func (d *duplex) finish(t *testing.T) {
	for _, p := range [][2]string{{"n1", "n2"}, {"n2", "n1"}} {
		for id := 1; id <= 2; id++ {
			d.s.SetBlocked(d.nodes[p[0]], d.nodes[p[1]], false, id)
		}
		d.s.SetRates(d.nodes[p[0]], d.nodes[p[1]], Rates{})
		d.s.SetClog(d, d.nodes[p[0]], d.nodes[p[1]], 0)
		d.s.SetSlow(d, d.nodes[p[0]], d.nodes[p[1]], Slow{})
	}
	for i := range 2 {
		if e := d.s.Shutdown(d, d.ends[i], SHUT_WR); e != errno.OK {
			t.Fatalf("shutdown: %v", e)
		}
	}
	for range 4000 {
		d.advance(50e6)
		for i := range 2 {
			d.recv(i, 1<<20, 0)
		}
	}
}

// TestStreamsArrive: whatever loss, delay and short partitions do, both byte streams arrive whole and in order; the
// invariants hold all the way; and a run whose state goes through encoding/gob at random points is the same run.
func TestStreamsArrive(t *testing.T) {
	for seed := range uint64(streamSeeds) {
		var logs [2]string
		for copied := range 2 {
			d := newDuplex(t, seed)
			r := rand.New(rand.NewPCG(seed, 1))
			when := rand.New(rand.NewPCG(seed, 2))
			for n := range 300 {
				d.step(r)
				if err := d.s.Check(); err != nil {
					t.Fatalf("seed %d step %d: %v\n%s", seed, n, err, strings.Join(d.log[max(len(d.log)-20, 0):], "\n"))
				}
				if copied == 1 && when.IntN(4) == 0 {
					d.roundTrip()
				}
			}
			d.finish(t)
			for i := range 2 {
				if !bytes.Equal(d.wrote[i], d.read[1-i]) {
					t.Fatalf("seed %d: end %d wrote %d bytes, end %d read %d\n%s", seed, i, len(d.wrote[i]), 1-i,
						len(d.read[1-i]), strings.Join(d.log[:60], "\n"))
				}
				if p := d.s.Poll(d.ends[i]); p&POLLHUP == 0 {
					t.Fatalf("seed %d: end %d not hung up: %s", seed, i, eventNames(p))
				}
				d.s.Close(d, d.ends[i])
			}
			d.advance(200e9)
			if len(d.s.Socks) != 1 || d.s.Bytes != 0 {
				t.Fatalf("seed %d: %d sockets and %d bytes are left", seed, len(d.s.Socks), d.s.Bytes)
			}
			if err := d.s.Check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			logs[copied] = strings.Join(d.log, "\n") + strings.Join(d.wakes, " ")
		}
		if logs[0] != logs[1] {
			t.Fatalf("seed %d: the run through encoding/gob differs:\n%s", seed, firstDifference(logs[1], logs[0]))
		}
	}
}

// chaos is a list of random calls of all kinds on three nodes.
func chaos(seed uint64, steps int, gobEvery int) (log []string, w *scripted, err error) {
	w = newWorld(seed)
	r, when := rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, 4))
	for i := range 3 {
		w.do(fmt.Sprintf("node n%d 10.0.0.%d fd00::%d", i, i+1, i+1))
	}
	w.s.SetDefaultLink(Link{LatencyNs: 1e6, JitterNs: 5e5}, Rates{DropPPM: 50_000, DelayPPM: 50_000, DelayMinNs: 1e6, DelayMaxNs: 1e9,
		CorruptPPM: 50_000, DuplicatePPM: 50_000, ReorderPPM: 50_000})
	var names []string
	fresh := 0
	for range steps {
		one := func() string {
			if len(names) == 0 {
				return ""
			}
			return names[r.IntN(len(names))]
		}
		name := func() string { fresh++; names = append(names, fmt.Sprintf("s%d", fresh)); return names[len(names)-1] }
		addr := func(sock string) string {
			sk := w.s.Socks[w.socks[sock]]
			port := []int{0, 80, 81}[r.IntN(3)]
			switch {
			case sk == nil:
				return "unspec"
			case sk.Family == AF_UNIX:
				return []string{"@a", "@b", "/x#7", "auto"}[r.IntN(4)]
			case sk.Family == AF_INET6:
				return fmt.Sprintf("[%s]:%d", []string{"::", "::1", "fd00::1", "fd00::2", "::ffff:10.0.0.3"}[r.IntN(5)], port)
			}
			return fmt.Sprintf("%s:%d", []string{"0.0.0.0", "127.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.9",
				"10.0.0.255", "224.0.0.1"}[r.IntN(8)], port)
		}
		kindNames := []string{"tcp", "tcp6", "udp", "udp6", "stream", "dgram", "seq"}
		node := fmt.Sprintf("n%d", r.IntN(3))
		other := fmt.Sprintf("n%d", r.IntN(3))
		sock := one()
		c := ""
		switch r.IntN(25) {
		case 0, 1:
			c = fmt.Sprintf("socket %s %s %s", name(), node, kindNames[r.IntN(7)])
		case 2:
			a, b := name(), name()
			c = fmt.Sprintf("pair %s %s %s %s", a, b, node, kindNames[4+r.IntN(3)])
		case 3, 4:
			c = "bind " + sock + " " + addr(sock)
		case 5, 6:
			c = fmt.Sprintf("listen %s %d", sock, r.IntN(3))
		case 7, 8, 9:
			c = "connect " + sock + " " + addr(sock)
		case 10, 11:
			c = "accept " + sock + " " + name()
		case 12, 13:
			c = fmt.Sprintf("send %s size=%d", sock, 1+r.IntN(1<<r.IntN(20)))
		case 14:
			c = fmt.Sprintf("send %s msg %s files=%d", sock, addr(sock), r.IntN(9))
		case 15, 16, 17:
			c = fmt.Sprintf("recv %s %d", sock, 1+r.IntN(1<<r.IntN(20)))
		case 18:
			c = "shutdown " + sock + " " + []string{"rd", "wr", "rdwr"}[r.IntN(3)]
		case 19:
			if sk := w.s.Socks[w.socks[sock]]; sk == nil || !sk.Open {
				continue
			}
			c = []string{"close ", "kill "}[r.IntN(2)] + sock
		case 20:
			c = fmt.Sprintf("set %s %s %d", sock,
				[]string{"reuseaddr", "reuseport", "keepalive", "linger", "sndbuf", "broadcast", "defer", "user_timeout"}[r.IntN(8)], r.IntN(5000))
		case 21:
			c = []string{"block ", "heal ", "heal "}[r.IntN(3)] + node + " " + other + " 1"
		case 23:
			if node == other {
				continue
			}
			c = fmt.Sprintf([]string{"clog %s %s 1", "clog %s %s 0", "slow %s %s 2 10ms 10000", "slow %s %s 0 0ms 0", "reset %s %s 3"}[r.IntN(5)], node, other)
		case 22:
			if r.IntN(10) > 0 {
				c = "poll " + sock
			} else {
				c = []string{"down ", "up ", "up "}[r.IntN(3)] + node
			}
		default:
			c = "advance " + fmt.Sprint(r.IntN(1<<r.IntN(38))) + "ns"
		}
		f := strings.Fields(c)
		if !slices.Contains([]string{"socket", "pair", "block", "heal", "clog", "slow", "reset", "down", "up", "advance"},
			f[0]) && (len(f) < 2 || w.s.Socks[w.socks[f[1]]] == nil) {
			continue
		}
		if f[0] == "socket" || f[0] == "pair" {
			if n := w.s.Nodes[w.nodes[f[len(f)-2]]]; !n.Up {
				continue
			}
		}
		w.wakes = nil
		result := w.do(c)
		log = append(log, fmt.Sprintf("%d %s -> %s %v", w.now, c, result, w.wakes))
		if err := w.s.Check(); err != nil {
			return log, w, fmt.Errorf("after %s: %w", c, err)
		}
		if gobEvery > 0 && when.IntN(gobEvery) == 0 {
			w.roundTrip()
		}
	}
	return log, w, nil
}

// TestChaos: random calls of all kinds keep the invariants, two runs of a seed are equal, a run through
// encoding/gob is the same run, and when all sockets are closed nothing stays.
func TestChaos(t *testing.T) {
	for seed := range uint64(chaosSeeds) {
		plain, w, err := chaos(seed, 800, 0)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(plain[max(len(plain)-10, 0):], "\n"))
		}
		copied, _, err := chaos(seed, 800, 3)
		if err != nil {
			t.Fatalf("seed %d, through gob: %v", seed, err)
		}
		if a, b := strings.Join(plain, "\n"), strings.Join(copied, "\n"); a != b {
			t.Fatalf("seed %d: the run through encoding/gob differs:\n%s", seed, firstDifference(b, a))
		}
		for _, id := range w.s.sorted() {
			if sk := w.s.Socks[id]; sk != nil && sk.Open {
				w.s.Close(w, id)
			}
		}
		for _, from := range w.nodes {
			for _, to := range w.nodes {
				w.s.SetClog(w, from, to, 0) // else it keeps what it holds
			}
		}
		w.advance(10 * 3600e9)
		if err := w.s.Check(); err != nil {
			t.Fatalf("seed %d, at the end: %v", seed, err)
		}
		if len(w.s.Socks) != 0 || w.s.Bytes != 0 || len(w.s.Events) != 0 {
			t.Fatalf("seed %d: %d sockets, %d bytes, %d events are left", seed, len(w.s.Socks), w.s.Bytes, len(w.s.Events))
		}
	}
}

// TestEventHeap compares the heap with a sorted slice.
func TestEventHeap(t *testing.T) {
	s := New(Config{})
	r := rand.New(rand.NewPCG(1, 1))
	var slow []event
	for range 3000 {
		if len(slow) > 0 && r.IntN(3) == 0 {
			got := s.pop()
			if got.At != slow[0].At || got.Seq != slow[0].Seq {
				t.Fatalf("popped %d/%d, want %d/%d", got.At, got.Seq, slow[0].At, slow[0].Seq)
			}
			slow = slow[1:]
			continue
		}
		e := event{At: int64(r.IntN(50))}
		s.push(e)
		e.Seq = s.EventSeq
		at, _ := slices.BinarySearchFunc(slow, e, func(a, b event) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
		slow = slices.Insert(slow, at, e)
	}
}

// TestShortConnectionsLeaveNothing: thousands of connections with long keepalive times do not fill the heap.
func TestShortConnectionsLeaveNothing(t *testing.T) {
	w := newWorld(1)
	for _, c := range []string{"node n1 10.0.0.1", "node n2 10.0.0.2", "link n1 n2 1ms", "socket l n2 tcp", "bind l 0.0.0.0:80", "listen l 5"} {
		w.do(c)
	}
	for range 5000 {
		for _, c := range []string{"socket c n1 tcp", "set c keepalive 1", "connect c 10.0.0.2:80", "advance 3ms", "accept l s", "send c x",
			"advance 1ms", "recv s 9", "close s", "advance 1ms", "close c", "advance 100ms"} {
			w.do(c)
		}
		w.wakes = nil
	}
	if len(w.s.Events) > 4000 {
		t.Fatalf("%d events pending", len(w.s.Events))
	}
	w.advance(61e9)
	if len(w.s.Socks) != 1 {
		t.Fatalf("%d sockets are left", len(w.s.Socks))
	}
}

// TestMemoryBound: no set of writers gets more into the network than the limit.
func TestMemoryBound(t *testing.T) {
	w := newWorld(1)
	w.s.Config.MaxBytes = 1 << 20
	w.do("node n1 10.0.0.1")
	for i := range 100 {
		w.do(fmt.Sprintf("pair a%d b%d n1 stream", i, i))
		w.do(fmt.Sprintf("send a%d size=100000", i))
		if w.s.Bytes > 1<<20 {
			t.Fatalf("%d bytes held", w.s.Bytes)
		}
	}
	if w.s.Exceeded == "" {
		t.Fatal("the limit was not named")
	}
}
