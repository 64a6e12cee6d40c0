// Package birdtest starts BIRD 2, and speakers that are its neighbours, for tests.
package birdtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/testkit/needs"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
)

// AS is the number of BIRD's own AS, if a test does not choose one.
const AS = 65001

// Neighbour is a neighbour of BIRD, with a session that the test opened.
type Neighbour struct {
	Address        string // on the loopback interface
	AS             uint32
	Import, Export string // what BIRD's configuration has behind these words

	conn     net.Conn
	lock     sync.Mutex
	received int                   // messages
	routes   map[netip.Prefix]bool // that were announced and not withdrawn
}

// LocalAddr returns the address of the neighbour's end of the session.
func (n *Neighbour) LocalAddr() netip.AddrPort { return n.conn.LocalAddr().(*net.TCPAddr).AddrPort() }

// Send sends messages to BIRD itself, and returns when the kernel has them for BIRD.
func (n *Neighbour) Send(t testing.TB, messages []byte) {
	t.Helper()
	if _, err := n.conn.Write(messages); err != nil {
		t.Fatal(err)
	}
	raw, err := n.conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for left := 1; left > 0 && err == nil; time.Sleep(time.Millisecond) { // they arrive
		raw.Control(func(fd uintptr) { left, err = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Close ends the session.
func (n *Neighbour) Close() { n.conn.Close() }

// Received is the number of messages but KEEPALIVE that BIRD itself has sent since the session began.
func (n *Neighbour) Received() int {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.received
}

// Await waits until BIRD has announced a prefix.
func (n *Neighbour) Await(p netip.Prefix) {
	has := func() bool {
		n.lock.Lock()
		defer n.lock.Unlock()
		return n.routes[p]
	}
	for !has() {
		time.Sleep(10 * time.Millisecond) // BIRD is about to
	}
}

// BIRD is a running BIRD.
type BIRD struct {
	PID     int
	Control string // the name of its control socket
	Config  string // the name of its configuration
}

// Start starts BIRD, of which checkpoints can be made, with filters (of its configuration's language) that its neighbours use,
// and a number of static routes: /24s from 16.0.0.0 on.
func Start(t testing.TB, filters string, routes int, neighbours ...*Neighbour) *BIRD {
	t.Helper()
	return StartIn(t, AS, filters, routes, neighbours...)
}

// StartIn is Start in another AS.
func StartIn(t testing.TB, as uint16, filters string, routes int, neighbours ...*Neighbour) *BIRD {
	t.Helper()
	needs.Unfiltered(t)
	program := needs.Program(t, "bird", "/usr/sbin/bird")
	dir := t.TempDir()
	address, port := Own()
	var config strings.Builder
	fmt.Fprintf(&config, "log stderr all;\nrouter id 10.0.0.1;\n%s\ntemplate bgp neighbour { local %s port %d as %d; multihop; "+
		"strict bind; passive yes; hold time 240; }\n", filters, address, port, as)
	for i, n := range neighbours {
		fmt.Fprintf(&config, "protocol bgp session%d from neighbour { neighbor %s as %d; ipv4 { import %s; export %s; }; }\n", i,
			n.Address, n.AS, n.Import, n.Export)
	}
	config.WriteString("protocol static { ipv4;\n")
	for i := range routes {
		fmt.Fprintf(&config, "route %d.%d.%d.0/24 blackhole;\n", 16+i>>16, i>>8&255, i&255)
	}
	config.WriteString("}\n")
	name := filepath.Join(dir, "bird.conf")
	if err := os.WriteFile(name, []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &BIRD{Control: filepath.Join(dir, "control"), Config: name}
	cmd := exec.Command(program, "-f", "-c", name, "-s", b.Control, "-P", filepath.Join(dir, "pid"))
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("BIRD's log:\n%s", log.String())
		}
	})
	b.PID = cmd.Process.Pid
	for _, n := range neighbours {
		n.Dial(t, netip.AddrPortFrom(address, port))
	}
	for strings.Count(b.Ask(t, "show protocols"), "Established") != len(neighbours) {
		time.Sleep(10 * time.Millisecond) // the sessions are about to be
	}
	return b
}

// started counts the BIRDs of this process.
var started atomic.Uint32

// Own is an address of the loopback interface and a port that no other test uses: the address has the number of this process, and the port counts.
func Own() (netip.Addr, uint16) {
	const first, many = 17900, 10000
	id := uint32(os.Getpid())<<2 | 1 // numbers of processes have 22 bits (proc_sys_kernel(5))
	return netip.AddrFrom4([4]byte{127, byte(id >> 16), byte(id >> 8), byte(id)}), uint16(first + started.Add(1)%many)
}

// Dial opens the neighbour's session with a router.
func (n *Neighbour) Dial(t testing.TB, router netip.AddrPort) {
	n.routes = map[netip.Prefix]bool{}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(n.Address)}}
	for try := 0; ; try++ {
		var err error
		if n.conn, err = dialer.Dial("tcp", router.String()); err == nil {
			if err = n.open(); err == nil {
				t.Cleanup(func() { n.conn.Close() })
				go n.read()
				return
			}
			n.conn.Close()
		}
		if try == 1000 {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // BIRD reads its configuration
	}
}

// Types of messages (RFC 4271, 4.1).
const typeOpen, typeKeepalive = 1, 4

// Message is a message with a header.
func Message(kind byte, body []byte) []byte {
	m := bytes.Repeat([]byte{0xff}, 16)
	m = binary.BigEndian.AppendUint16(m, uint16(bgp.HeaderSize+len(body)))
	return append(append(m, kind), body...)
}

func (n *Neighbour) open() error {
	as2 := uint16(bgp.Transition)
	if n.AS <= math.MaxUint16 {
		as2 = uint16(n.AS)
	}
	body := binary.BigEndian.AppendUint16([]byte{4}, as2)
	body = binary.BigEndian.AppendUint16(body, 240) // hold time
	body = append(body, net.ParseIP(n.Address).To4()...)
	capabilities := binary.BigEndian.AppendUint32([]byte{1, 4, 0, 1, 0, 1, 2, 0, 65, 4}, n.AS) // IPv4 unicast, route refresh, AS numbers of four bytes
	body = append(body, byte(len(capabilities)+2), 2, byte(len(capabilities)))
	if _, err := n.conn.Write(Message(typeOpen, append(body, capabilities...))); err != nil {
		return err
	}
	for {
		message, err := n.next()
		if err != nil {
			return err
		}
		switch kind := message[18]; kind {
		case typeOpen:
		case typeKeepalive:
			_, err := n.conn.Write(Message(typeKeepalive, nil))
			return err
		default:
			return fmt.Errorf("BIRD sends a message of type %d", kind)
		}
	}
}

// next reads a message.
func (n *Neighbour) next() ([]byte, error) {
	message := make([]byte, bgp.HeaderSize)
	if _, err := io.ReadFull(n.conn, message); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint16(message[16:]))
	message = append(message, make([]byte, max(length-len(message), 0))...)
	_, err := io.ReadFull(n.conn, message[bgp.HeaderSize:])
	return message, err
}

func (n *Neighbour) read() {
	for {
		message, err := n.next()
		if err != nil {
			return
		}
		n.handleMessage(message)
	}
}

func (n *Neighbour) handleMessage(message []byte) {
	if message[18] == typeKeepalive {
		return
	}
	n.lock.Lock()
	defer n.lock.Unlock()
	n.received++
	u, err := bgp.ParseMessage(message, bgp.AS4)
	if err != nil {
		return
	}
	for _, p := range u.Withdrawn {
		delete(n.routes, p)
	}
	for _, p := range u.Announced {
		n.routes[p] = true
	}
}

// Update is an UPDATE of a neighbour, which announces prefixes that it or others behind it originate.
func (n *Neighbour) Update(t testing.TB, withdrawn, announced []netip.Prefix, behind ...uint32) []byte {
	t.Helper()
	u := &bgp.Update{Withdrawn: withdrawn, Announced: announced}
	if len(announced) > 0 {
		u.Attributes = &bgp.Attributes{Path: bgp.Sequence(append([]uint32{n.AS}, behind...)...), NextHop: netip.MustParseAddr(n.Address)}
	}
	m, err := bgp.AppendMessage(nil, u, bgp.AS4)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// times are when routes changed, which BIRD computes anew from two clocks, so that their last digit may differ.
var times = regexp.MustCompile(`\d\d:\d\d:\d\d\.\d\d\d`)

// Table returns all routes as BIRD itself prints them, without the times.
func (b *BIRD) Table(t testing.TB) string {
	t.Helper()
	return times.ReplaceAllString(b.Ask(t, "show route all"), "")
}

// Ask asks BIRD itself over its control socket.
func (b *BIRD) Ask(t testing.TB, command string) string {
	t.Helper()
	conn, err := net.Dial("unix", b.Control)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintln(conn, command)
	var all []byte
	for buffer := make([]byte, 1<<16); ; {
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatalf("%v after %q", err, all)
		}
		all = append(all, buffer[:n]...)
		// A reply ends with a line of a code and a space; the first line is a greeting.
		end := len(all) - 1
		begin := bytes.LastIndexByte(all[:end], '\n') + 1
		if last := all[begin:end]; begin > 0 && all[end] == '\n' && len(last) >= 5 && last[4] == ' ' && len(bytes.Trim(last[:4], "0123456789")) == 0 {
			return string(all)
		}
	}
}
