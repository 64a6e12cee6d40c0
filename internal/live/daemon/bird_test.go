//go:build linux && amd64

package daemon

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/needs"
)

// bird is BIRD with two BGP sessions, of which the test is the peers.
type bird struct {
	*Daemon
	control string
	from    net.Conn // the session with an import filter
	to      net.Conn // the session that gets what is accepted
}

// The import filter takes one prefix exactly, and the more specific ones of another.
const birdConfig = `log stderr all;
router id 10.0.0.1;
filter customer { if net ~ [ 203.0.113.0/24, 198.51.100.0/22+ ] then accept; reject; }
template bgp peer { local 127.0.0.1 port %d as 65001; multihop; passive yes; hold time 240; }
protocol bgp customer_session from peer { neighbor 127.0.0.2 as 65002; ipv4 { import filter customer; export none; }; }
protocol bgp other_session from peer { neighbor 127.0.0.3 as 65003; ipv4 { import none; export where source = RTS_BGP; }; }
protocol static { ipv4;
`

// startBIRD starts BIRD with a number of static routes besides.
func startBIRD(t testing.TB, routes int) *bird {
	t.Helper()
	program := needs.Program(t, "bird", "/usr/sbin/bird")
	dir := t.TempDir()
	port := freePort(t)
	var config strings.Builder
	fmt.Fprintf(&config, birdConfig, port)
	for i := range routes { // /24s from 16.0.0.0 on
		fmt.Fprintf(&config, "route %d.%d.%d.0/24 blackhole;\n", 16+i>>16, i>>8&255, i&255)
	}
	config.WriteString("}\n")
	if err := os.WriteFile(filepath.Join(dir, "bird.conf"), []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &bird{control: filepath.Join(dir, "control")}
	cmd := exec.Command(program, "-f", "-c", filepath.Join(dir, "bird.conf"), "-s", b.control, "-P", filepath.Join(dir, "pid"))
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
	b.from = session(t, port, "127.0.0.2", 65002)
	b.to = session(t, port, "127.0.0.3", 65003)
	for !strings.Contains(b.ask(t, "show protocols"), "Established") || strings.Count(b.ask(t, "show protocols"), "Established") != 2 {
		time.Sleep(10 * time.Millisecond) // the sessions are about to be
	}
	var err error
	if b.Daemon, err = Attach(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	return b
}

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Types of BGP messages (RFC 4271).
const bgpOpen, bgpUpdate, bgpKeepalive = 1, 2, 4

func bgp(kind byte, body []byte) []byte {
	m := bytes.Repeat([]byte{0xff}, 16)
	m = binary.BigEndian.AppendUint16(m, uint16(19+len(body)))
	return append(append(m, kind), body...)
}

// update announces a prefix that the peer originates.
func update(prefix string) []byte {
	p := netip.MustParsePrefix(prefix)
	attributes := []byte{
		0x40, 1, 1, 0, // ORIGIN: IGP
		0x40, 2, 6, 2, 1, 0, 0, 65002 >> 8, 65002 & 255, // AS_PATH, of four bytes an AS
		0x40, 3, 4, 127, 0, 0, 2, // NEXT_HOP
	}
	body := binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(len(attributes)))
	body = append(append(body, attributes...), byte(p.Bits()))
	return bgp(bgpUpdate, append(body, p.Addr().AsSlice()[:(p.Bits()+7)/8]...))
}

// session opens a BGP session from an address.
func session(t testing.TB, port int, from string, as uint16) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	for n := 0; ; n++ {
		conn, err := dialer.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			if err = open(conn, from, as); err == nil {
				t.Cleanup(func() { conn.Close() })
				go io.Copy(io.Discard, conn)
				return conn
			}
			conn.Close()
		}
		if n == 1000 {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // BIRD reads its configuration
	}
}

func open(conn net.Conn, id string, as uint16) error {
	body := binary.BigEndian.AppendUint16([]byte{4}, as)
	body = binary.BigEndian.AppendUint16(body, 240) // hold time
	body = append(body, net.ParseIP(id).To4()...)
	capabilities := []byte{1, 4, 0, 1, 0, 1, 65, 4, 0, 0, byte(as >> 8), byte(as)} // IPv4 unicast, AS numbers of four bytes
	body = append(body, byte(len(capabilities)+2), 2, byte(len(capabilities)))
	if _, err := conn.Write(bgp(bgpOpen, append(body, capabilities...))); err != nil {
		return err
	}
	for {
		var head [19]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint16(head[16:]))-19); err != nil {
			return err
		}
		switch head[18] {
		case bgpOpen:
		case bgpKeepalive:
			_, err := conn.Write(bgp(bgpKeepalive, nil))
			return err
		default:
			return fmt.Errorf("BIRD sends a message of type %d", head[18])
		}
	}
}

// ask asks BIRD itself over its control socket.
func (b *bird) ask(t testing.TB, command string) string {
	t.Helper()
	conn, err := net.Dial("unix", b.control)
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
		lines := strings.Split(strings.TrimSuffix(string(all), "\n"), "\n")
		if last := lines[len(lines)-1]; len(lines) > 1 && all[len(all)-1] == '\n' && len(last) >= 5 && last[4] == ' ' && strings.Trim(last[:4], "0123456789") == "" {
			return string(all)
		}
	}
}

// announce delivers an announcement to a copy, and asks the copy for its route.
func (b *bird) announce(t testing.TB, c *Checkpoint, prefix string) (o *Outcome, sent bool, shown string) {
	t.Helper()
	from, err := c.FD(b.from.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	inputs := []Input{{FD: from, Data: update(prefix)}}
	for _, f := range c.Files() {
		if f.Listen && f.Name == "unix:"+b.control {
			inputs = append(inputs, Input{FD: f.FD, Accept: true, Data: []byte("show route " + prefix + "\n")})
		}
	}
	if len(inputs) != 2 {
		t.Fatalf("no control socket in %+v", c.Files())
	}
	if o, err = c.Deliver(inputs, Budget{Calls: 1000, CPU: 5 * time.Second}); err != nil {
		t.Fatal(err)
	}
	p := netip.MustParsePrefix(prefix)
	announced := append([]byte{byte(p.Bits())}, p.Addr().AsSlice()[:(p.Bits()+7)/8]...)
	for _, m := range o.Outputs {
		switch {
		case m.To == b.to.LocalAddr().String():
			sent = sent || bytes.HasSuffix(m.Data, announced)
		case strings.HasPrefix(m.To, "client of unix:"):
			shown += string(m.Data)
		default:
			t.Errorf("%s: an output to %s: %q", prefix, m.To, m.Data)
		}
	}
	return o, sent, shown
}

// Announcements to copies of BIRD show what its import filter accepts, and BIRD itself gets none of them.
func TestBIRD(t *testing.T) {
	b := startBIRD(t, 1000)
	before := b.ask(t, "show route all")
	c, err := b.Take()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for prefix, accepted := range map[string]bool{"203.0.113.0/24": true, "203.0.113.0/25": false, "203.0.112.0/23": false,
		"198.51.100.0/22": true, "198.51.102.128/30": true, "198.51.104.0/24": false, "16.0.1.0/24": false} {
		o, sent, shown := b.announce(t, c, prefix)
		if o.Status != Done || o.Unread != 0 {
			t.Errorf("%s: %+v", prefix, o)
		}
		if sent != accepted || strings.Contains(shown, " from 127.0.0.2]") != accepted {
			t.Errorf("%s: accepted is %v, but it was sent to the other peer: %v, and the table shows\n%s(refused: %v, logs: %s)", prefix, accepted, sent, shown, o.Refused, text(o.Logs))
		}
	}
	if after := b.ask(t, "show route all"); after != before {
		t.Error("BIRD's table has changed")
	}
	if protocols := b.ask(t, "show protocols"); strings.Count(protocols, "Established") != 2 {
		t.Error(protocols)
	}
}

// fullTable is the number of prefixes of a full table in 2010.
const fullTable = 319355

// BenchmarkBIRD measures with a full table: how long BIRD stands still, what share of a checkpoint's pages is its own, and deliveries.
func BenchmarkBIRD(b *testing.B) {
	d := startBIRD(b, fullTable)
	var pauses []time.Duration
	for range 20 {
		c, err := d.Take()
		if err != nil {
			b.Fatal(err)
		}
		pauses = append(pauses, c.Paused)
		c.Close()
	}
	slices.Sort(pauses)
	c, err := d.Take()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		if o, sent, _ := d.announce(b, c, "203.0.113.0/24"); o.Status != Done || !sent {
			b.Fatalf("%+v", o)
		}
	}
	private, rss := pages(b, c.PID)
	// More specific routes of the prefix that the filter accepts, to BIRD itself.
	const updates = 1000
	for i := range updates {
		if _, err := d.from.Write(update(fmt.Sprintf("198.51.%d.%d/32", 100+i>>8, i&255))); err != nil {
			b.Fatal(err)
		}
	}
	for !strings.Contains(d.ask(b, fmt.Sprintf("show route 198.51.%d.%d/32", 100+(updates-1)>>8, (updates-1)&255)), " from 127.0.0.2]") {
		time.Sleep(10 * time.Millisecond) // BIRD reads
	}
	later, _ := pages(b, c.PID)
	b.ReportMetric(100*float64(later)/float64(rss), "own-pages-after-1000-updates-%")
	b.ReportMetric(float64(pauses[len(pauses)/2].Microseconds())/1000, "pause-ms")
	b.ReportMetric(float64(pauses[len(pauses)-1].Microseconds())/1000, "longest-pause-ms")
	b.ReportMetric(100*float64(private)/float64(rss), "own-pages-%")
	b.ReportMetric(float64(rss)/1024, "MiB")
}

// pages reads how much of a process's memory is its own, and how much there is, in KiB.
func pages(t testing.TB, pid int) (private, rss int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var n int
		if key, value, _ := strings.Cut(line, ":"); key == "Rss" || strings.HasPrefix(key, "Private_") {
			fmt.Sscan(value, &n)
			if key == "Rss" {
				rss = n
			} else {
				private += n
			}
		}
	}
	return private, rss
}
