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

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/live/examples/bgp/load/explore"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/table"
)

func main() {
	router := flag.String("router", "gobgp", "gobgp or bird")
	prefixes := flag.Int("prefixes", 319_355, "how many prefixes the table has")
	seed := flag.Uint64("seed", 1, "of the table")
	var o options
	flag.DurationVar(&o.stay, "stay", 0, "when the table is loaded, send updates to it as fast as they are taken for so long, and print how many each second")
	flag.StringVar(&o.compare, "compare", "", "send updates as fast as they are taken, in phases, in one of each pair of which this command runs, and print what it changes")
	flag.IntVar(&o.pairs, "pairs", 8, "how many pairs -compare has")
	flag.DurationVar(&o.phase, "phase", 30*time.Second, "how long a phase of -compare is")
	flag.DurationVar(&o.replay, "replay", 0, "send updates at their times, 60 prefixes a second on average, for so long, and print how long GoBGP takes to announce them to another neighbour")
	flag.StringVar(&o.cpu, "cpu", "", "the only CPU of the router, as taskset names it")
	serve := flag.Int("serve", 0, "be GoBGP on this port, until standard input ends")
	flag.Parse()
	err := fmt.Errorf("unknown router %q: choose gobgp or bird", *router)
	switch {
	case *serve > 0:
		err = runGoBGP(*serve)
	case *router == "gobgp":
		err = measure(goBGP, *prefixes, *seed, &o)
	case *router == "bird":
		err = measure(bird, *prefixes, *seed, &o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// options are what is done with a router when its table is loaded.
type options struct {
	stay, replay time.Duration
	compare      string
	pairs        int
	phase        time.Duration
	cpu          string
}

// process is a router in a process of its own.
type process struct {
	pid     int
	count   func() (int, error) // prefixes of its table
	updates func() (int, error) // UPDATEs that it has received; of BIRD the prefixes in them
	stop    func()
}

// measure starts a router, sends it a table, and prints a line.
func measure(start func(port int, cpu string) (*process, error), prefixes int, seed uint64, o *options) error {
	t, err := table.Generate(prefixes, seed)
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	p, err := start(port, o.cpu)
	if err != nil {
		return err
	}
	defer p.stop()
	router := net.JoinHostPort(loopback.String(), strconv.Itoa(port))
	s, err := dial(router, table.Feed.ASN, table.Feed.ID, loopback)
	if err != nil {
		return err
	}
	defer s.conn.Close()
	var to *speaker
	if o.replay > 0 {
		if to, err = dial(router, other.asn, other.address, other.address); err != nil {
			return err
		}
		defer to.conn.Close()
	}
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
	switch {
	case o.replay > 0:
		return replay(s, to, t, seed, o.replay)
	case o.compare != "":
		return compare(p, s, t, seed, o)
	case o.stay > 0:
		return stay(p, s, t, seed, o.stay)
	}
	return nil
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

// cpuTime is the time of a process on CPUs, of all its threads (clock_getcpuclockid(3)).
func cpuTime(pid int) (time.Duration, error) {
	var t unix.Timespec
	const schedClock = 2 // of the clocks of processes: CPUCLOCK_SCHED
	err := unix.ClockGettime(int32(^pid<<3|schedClock), &t)
	return time.Duration(t.Nano()), err
}

// goBGP starts this program as GoBGP. It asks for a number by a line, and gets a line.
func goBGP(port int, cpu string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := onCPU(cpu, self, "-serve", strconv.Itoa(port))
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
	ask := func(what string) func() (int, error) {
		return func() (int, error) {
			if _, err := io.WriteString(in, what+"\n"); err != nil {
				return 0, err
			}
			line, err := lines.ReadString('\n')
			if err != nil {
				return 0, err
			}
			return strconv.Atoi(strings.TrimSpace(line))
		}
	}
	stop := func() {
		cmd.Process.Kill()
		cmd.Wait()
	}
	return &process{cmd.Process.Pid, ask("prefixes"), ask("updates"), stop}, nil
}

// onCPU is a command on a CPU of its own, with one thread of Go code at a time; without a CPU it is as usual.
func onCPU(cpu string, name string, arguments ...string) *exec.Cmd {
	if cpu == "" {
		return exec.Command(name, arguments...)
	}
	c := exec.Command("taskset", slices.Concat([]string{"-c", cpu, name}, arguments)...) // which becomes the command
	c.Env = append(os.Environ(), "GOMAXPROCS=1")
	return c
}

// runGoBGP is the other end of goBGP.
func runGoBGP(port int) error {
	g, err := startGoBGP(port, []neighbour{{loopback, table.Feed.ASN}, other}, nil)
	if err != nil {
		return err
	}
	if err := explore.Offer(g.server, table.Feed.ASN+1, netip.MustParseAddr("198.18.0.9")); err != nil {
		return err
	}
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		n, err := g.count()
		if s.Text() == "updates" {
			n, err = g.updates()
		}
		if err != nil {
			return err
		}
		fmt.Println(n)
	}
	return nil
}

// bird starts BIRD with its files in a folder of its own.
func bird(port int, cpu string) (*process, error) {
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
	cmd := onCPU(cpu, "bird", "-f", "-c", name, "-s", socket, "-P", filepath.Join(folder, "pid"))
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
	// BIRD counts prefixes, and not messages: the first number of each of two lines.
	updates := func() (n int, err error) {
		out, err := exec.Command("birdc", "-s", socket, "show", "protocols", "all", "feed").CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("birdc: %w: %s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			if words := strings.Fields(line); len(words) > 2 && words[0] == "Import" && (words[1] == "updates:" || words[1] == "withdraws:") {
				more, err := strconv.Atoi(words[2])
				if err != nil {
					return 0, err
				}
				n += more
			}
		}
		return n, nil
	}
	return &process{cmd.Process.Pid, count, updates, stop}, nil
}
