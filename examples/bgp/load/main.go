// Load sends a table of routes to a router over a session on the loopback interface, and measures time and memory: GoBGP, unmodified, in a process of
// its own, or BIRD 2 as Debian packages it.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/examples/bgp/load/explore"
	"github.com/bloodhound-dst/bloodhound/internal/live/bgp/table"
)

func main() {
	router := flag.String("router", "gobgp", "gobgp or bird")
	prefixes := flag.Int("prefixes", 319_355, "how many prefixes the table has")
	seed := flag.Uint64("seed", 1, "of the table")
	stay := flag.Duration("stay", 0, "when the table is loaded, send updates to it as fast as they are taken for so long, and print how many each second")
	serve := flag.Int("serve", 0, "be GoBGP on this port, until standard input ends")
	flag.Parse()
	err := fmt.Errorf("unknown router %q: choose gobgp or bird", *router)
	switch {
	case *serve > 0:
		err = runGoBGP(*serve)
	case *router == "gobgp":
		err = measure(goBGP, *prefixes, *seed, *stay)
	case *router == "bird":
		err = measure(bird, *prefixes, *seed, *stay)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// process is a router in a process of its own.
type process struct {
	pid   int
	count func() (int, error) // prefixes of its table
	stop  func()
}

// measure starts a router, sends it a table, and prints a line.
func measure(start func(port int) (*process, error), prefixes int, seed uint64, stay time.Duration) error {
	t, err := table.Generate(prefixes, seed)
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	p, err := start(port)
	if err != nil {
		return err
	}
	defer p.stop()
	s, err := dial(net.JoinHostPort(loopback.String(), strconv.Itoa(port)), table.Feed.ASN, table.Feed.ID)
	if err != nil {
		return err
	}
	defer s.conn.Close()
	before, err := memory(p.pid, "VmRSS")
	if err != nil {
		return err
	}
	begin, messages := time.Now(), 0
	for u := range t.Load() {
		if err := s.update(u); err != nil {
			return err
		}
		messages++
	}
	if err := s.flush(); err != nil {
		return err
	}
	for n := 0; n != prefixes; {
		if n, err = p.count(); err != nil {
			return err
		}
		select {
		case err := <-s.done:
			return err
		case <-time.After(100 * time.Millisecond): // routers do not report that they have caught up
		}
		if time.Since(begin) > 30*time.Minute {
			return fmt.Errorf("the router has %d of %d prefixes after half an hour", n, prefixes)
		}
	}
	elapsed := time.Since(begin)
	after, err := memory(p.pid, "VmRSS")
	if err != nil {
		return err
	}
	peak, err := memory(p.pid, "VmHWM")
	if err != nil {
		return err
	}
	cpu, err := cpuTime(p.pid)
	if err != nil {
		return err
	}
	fmt.Printf("%d prefixes in %d messages: %.1f s, %.1f s of CPU time, %.0f prefixes/s; resident %d MB, %d MB before, %d MB at most\n",
		prefixes, messages, elapsed.Seconds(), cpu.Seconds(), float64(prefixes)/elapsed.Seconds(), after>>20, before>>20, peak>>20)
	if stay == 0 {
		return nil
	}
	return update(s, t, seed, stay)
}

// update sends updates to a table for a time, as fast as the router takes them, and prints how many it took each second.
func update(s *speaker, t *table.Table, seed uint64, stay time.Duration) error {
	const streamUs, rate = 900_000_000, 60
	begin, second, sent := time.Now(), 1, 0
	for {
		seed++
		events, err := t.Updates(seed, streamUs, rate)
		if err != nil {
			return err
		}
		for e := range events {
			if err := s.update(e.Update); err != nil {
				return err
			}
			sent++
			switch elapsed := time.Since(begin); {
			case elapsed > stay:
				return s.flush()
			case elapsed > time.Duration(second)*time.Second:
				fmt.Printf("second %d: %d updates\n", second, sent)
				sent, second = 0, int(elapsed/time.Second)+1
			}
		}
	}
}

// freePort is a port of the loopback interface that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp4", loopback.String()+":0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// memory is a field of /proc/PID/status, in bytes.
func memory(pid int, field string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == field+":" {
			kb, err := strconv.ParseInt(words[1], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status has no %s", pid, field)
}

// cpuTime is the time of a process on CPUs, of all its threads, with the usual 100 ticks a second (proc_pid_stat(5)).
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	words := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.Atoi(words[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(words[12])
	return time.Duration(user+system) * 10 * time.Millisecond, err
}

// goBGP starts this program as GoBGP. It asks for the count by a line, and gets a line.
func goBGP(port int) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-serve", strconv.Itoa(port))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(out)
	count := func() (int, error) {
		if _, err := io.WriteString(in, "count\n"); err != nil {
			return 0, err
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(line))
	}
	stop := func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	return &process{cmd.Process.Pid, count, stop}, nil
}

// runGoBGP is the other end of goBGP.
func runGoBGP(port int) error {
	g, err := startGoBGP(port, table.Feed.ASN, nil)
	if err != nil {
		return err
	}
	if err := explore.Offer(g.server, table.Feed.ASN+1, netip.MustParseAddr("198.18.0.9")); err != nil {
		return err
	}
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		n, err := g.count()
		if err != nil {
			return err
		}
		fmt.Println(n)
	}
	return nil
}

// bird starts BIRD with its files in a folder of its own.
func bird(port int) (*process, error) {
	folder, err := os.MkdirTemp("", "bird")
	if err != nil {
		return nil, err
	}
	// No protocol kernel: no route leaves BIRD.
	text := fmt.Sprintf(`router id %v;
protocol device {}
protocol bgp feed {
	local %v port %d as %d;
	neighbor 127.0.0.1 as %d;
	passive;
	multihop;
	strict bind;
	ipv4 { import all; export none; };
}
`, table.Local.ID, loopback, port, table.Local.ASN, table.Feed.ASN)
	name, socket := filepath.Join(folder, "bird.conf"), filepath.Join(folder, "ctl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("bird", "-f", "-c", name, "-s", socket, "-P", filepath.Join(folder, "pid"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		os.RemoveAll(folder)
		return nil, fmt.Errorf("%w; install Debian's package bird2", err)
	}
	count := func() (int, error) {
		out, err := exec.Command("birdc", "-s", socket, "show", "route", "count").CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("birdc: %w: %s", err, out)
		}
		// The first line with a count is that of the table: N of M routes for P networks.
		for line := range strings.Lines(string(out)) {
			words := strings.Fields(line)
			if i := slices.Index(words, "for"); i > 0 && i+1 < len(words) {
				return strconv.Atoi(words[i+1])
			}
		}
		return 0, fmt.Errorf("birdc did not count: %s", out)
	}
	stop := func() {
		cmd.Process.Kill()
		cmd.Wait()
		os.RemoveAll(folder)
	}
	return &process{cmd.Process.Pid, count, stop}, nil
}
