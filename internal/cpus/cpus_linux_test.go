package cpus

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// holder is an environment variable with which this test program takes a seat in a folder, and then a turn on its CPU, says so each time,
// and keeps both until its input ends.
const holder = "CPUS_TEST_HOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holder); dir != "" {
		p := newChooser(dir).TakePlace()
		fmt.Println(p.CPU)
		go func() {
			p.Turn(context.Background())
			fmt.Println(p.CPU)
		}()
		bufio.NewReader(os.Stdin).ReadByte()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hold has another process take a seat, and the turn as well if it is told to. It returns the CPU and how to kill the process.
func hold(t *testing.T, dir string, turn bool) (cpu int, kill func()) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), holder+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	kill = func() {
		if !ended {
			ended = true
			cmd.Process.Kill()
			cmd.Wait()
			in.Close()
		}
	}
	t.Cleanup(kill)
	lines := 1
	if turn {
		lines = 2
	}
	for range lines {
		if _, err := fmt.Fscan(out, &cpu); err != nil {
			t.Fatal(err)
		}
	}
	return cpu, kill
}

// fake is a chooser whose CPUs are as idle as the test says, by a clock that the test sets.
func fake(dir string, idle map[int]*uint64) (c *Chooser, now *time.Time) {
	c = newChooser(dir)
	now = new(time.Time)
	*now = time.Unix(1000, 0)
	ticks := uint64(0)
	c.load = func() load {
		ticks += 100
		l := load{}
		for cpu, percent := range idle {
			of := c.last[cpu]
			of.all, of.idle = ticks, of.idle+*percent
			l[cpu] = of
		}
		return l
	}
	c.sleep = func(time.Duration) {}
	c.now = func() time.Time { return *now }
	return c, now
}

// Processes that know nothing of each other take CPUs in turn, and what a killed one had is free.
func TestProcessesShareEvenly(t *testing.T) {
	allowed := Allowed()
	if len(allowed) < 2 {
		t.Skip("one CPU")
	}
	dir := t.TempDir()
	taken := map[int]int{}
	var kills []func()
	for range 3 * len(allowed) {
		cpu, kill := hold(t, dir, false)
		taken[cpu]++
		kills = append(kills, func() { taken[cpu]--; kill() })
	}
	for _, cpu := range allowed {
		if taken[cpu] != 3 {
			t.Fatalf("seats taken: %v, want 3 of each of %v", taken, allowed)
		}
	}
	kills[0]()
	kills[1]()
	for range 2 {
		cpu, _ := hold(t, dir, false)
		taken[cpu]++
	}
	for _, cpu := range allowed {
		if taken[cpu] != 3 {
			t.Errorf("seats taken after two were killed: %v, want 3 of each of %v", taken, allowed)
		}
	}
}

// Among CPUs with as many seats, the idle one is chosen; and a process moves where there is room, but not for the sake of one that is as full.
func TestTheIdleCPU(t *testing.T) {
	allowed := Allowed()
	if len(allowed) < 2 {
		t.Skip("one CPU")
	}
	for _, dir := range []string{t.TempDir(), ""} {
		idle := map[int]*uint64{}
		for _, cpu := range allowed {
			idle[cpu] = new(uint64)
		}
		last := allowed[len(allowed)-1]
		*idle[last] = 90
		c, now := fake(dir, idle)
		first := c.TakePlace()
		if first.CPU != last {
			t.Errorf("in %q: CPU %d, want the idle one, %d", dir, first.CPU, last)
		}
		second := c.TakePlace()
		if second.CPU == last {
			t.Errorf("in %q: the second process shares CPU %d", dir, last)
		}
		*now = now.Add(time.Minute)
		if second.Better() {
			t.Errorf("in %q: it would move to a CPU that is as full as its own", dir)
		}
		first.Leave()
		if !second.Better() {
			t.Errorf("in %q: it does not move to the idle CPU that has become free", dir)
		}
		*now = now.Add(time.Minute)
		*idle[last] = 10
		if second.Better() {
			t.Errorf("in %q: it moves to a busy CPU", dir)
		}
		second.Leave()
		second.Leave()
	}
}

// A folder that others may have made or may write to is not used.
func TestFoldersOfOthers(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", base)
	dir := runtimeDir()
	if dir != filepath.Join(base, "bloodhound", "cpus") {
		t.Fatalf("the folder is %q", dir)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if again := runtimeDir(); again != "" {
		t.Errorf("a folder that all may write to is used: %s", again)
	}
	os.Remove(dir)
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	if again := runtimeDir(); again != "" {
		t.Errorf("a link is followed: %s", again)
	}
	os.Remove(dir)
	if os.Getuid() == 0 {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, 1, 1); err != nil {
			t.Fatal(err)
		}
		if again := runtimeDir(); again != "" {
			t.Errorf("another user's folder is used: %s", again)
		}
	}
}

// Seats that cannot be made, or whose files are something else, do not keep anybody from a place.
func TestPlacesWithoutFiles(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	odd := t.TempDir()
	for _, cpu := range Allowed() {
		for k := range 3 {
			if err := unix.Mkfifo(filepath.Join(odd, seatName(cpu, k)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/dev/null", filepath.Join(odd, seatName(cpu, k+3))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, dir := range []string{gone, odd, "/proc", "/dev/full"} {
		p := newChooser(dir).TakePlace()
		if p.CPU == None {
			t.Errorf("in %s there is no place", dir)
		}
		p.Better()
		p.Leave()
	}
}

func TestParseLoad(t *testing.T) {
	l := parseLoad([]byte("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 40 5 6 7 8 1 0\ncpu11 1 1 1 1\ncpux 1\nintr 5\ncpu3\n"))
	if len(l) != 2 || l[0].idle != 45 || l[0].all != 72 || l[11].idle != 1 || l[11].all != 4 {
		t.Errorf("%+v", l)
	}
}

// Places that share a CPU work in turns, each of them, and whoever is killed ends its turn.
func TestTurns(t *testing.T) {
	if len(Allowed()) == 0 {
		t.Skip("no CPUs to choose from")
	}
	for _, dir := range []string{t.TempDir(), ""} {
		c := newChooser(dir)
		const places, turns = 5, 20
		var working atomic.Int32
		var all sync.WaitGroup
		for range places {
			all.Go(func() {
				p := &Place{CPU: Allowed()[0], chooser: c}
				for range turns {
					end := p.Turn(t.Context())
					if n := working.Add(1); n != 1 {
						t.Errorf("in %q: %d places of one CPU work at once", dir, n)
					}
					time.Sleep(100 * time.Microsecond) // the others could begin a turn meanwhile
					working.Add(-1)
					end()
				}
			})
		}
		all.Wait()
	}
}

func TestTurnOfAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	cpu, kill := hold(t, dir, true)
	c := newChooser(dir)
	p := &Place{CPU: cpu, chooser: c}
	c.patience = 10 * time.Millisecond
	p.Turn(t.Context())() // in vain
	if !p.alone {
		t.Fatal("a place got the turn that another process has")
	}
	c.patience = time.Hour
	p = &Place{CPU: cpu, chooser: c}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Turn(ctx)()
	if p.alone {
		t.Error("a place whose campaign has ended counts as one that waited in vain")
	}
	kill()
	p.Turn(t.Context())()
}
