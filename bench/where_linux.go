//go:build linux && amd64

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/explore"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// where runs worlds one after the other, as a campaign's worker does, and prints what their CPU time goes into: of the worlds'
// programs as the kernel counts it, of the engine by a profile of its own process.
func (b *bench) where(only string) error {
	var columns []*costs
	for _, c := range []struct {
		name, path, program string
		runs                int
		until               int64
	}{
		{"quickstart", "../examples/quickstart/fixed.yaml", "go", 20, 0},
		{"redis-failover", "../examples/redis-failover/bloodhound.yaml", "redis-server", 4, 0},
		{"etcd, 3 virtual seconds", "worlds/etcd.yaml", "etcd", 20, 3e9},
	} {
		if _, err := exec.LookPath(c.program); err != nil || !strings.Contains(c.name, only) {
			continue
		}
		column, err := b.costs(c.path, c.runs, c.until)
		if err != nil {
			return err
		}
		column.name = c.name
		columns = append(columns, column)
	}
	row := func(what string, cell func(*costs) string) {
		fmt.Printf("| %s |", what)
		for _, c := range columns {
			fmt.Printf(" %s |", cell(c))
		}
		fmt.Println()
	}
	share := func(what string, of func(*costs) float64) {
		row(what, func(c *costs) string { return fmt.Sprintf("%.1f (%.0f %%)", of(c), 100*of(c)/c.all()) })
	}
	row("CPU time of a run, ms", func(c *costs) string { return c.name })
	row("---", func(*costs) string { return "---" })
	share("programs, in user space", func(c *costs) float64 { return c.user })
	share("programs, in the kernel: page faults, exec, waits", func(c *costs) float64 { return c.system })
	for _, p := range parts {
		share("engine: "+p.name, func(c *costs) float64 { return c.engine[p.name] })
	}
	share("engine: "+rest, func(c *costs) float64 { return c.engine[rest] })
	share("all", (*costs).all)
	row("wall time, ms", func(c *costs) string { return fmt.Sprintf("%.1f", c.wall) })
	row("events", func(c *costs) string { return fmt.Sprintf("%.0f", c.events) })
	row("CPU time of an event, us", func(c *costs) string { return fmt.Sprintf("%.1f", 1000*c.all()/c.events) })
	return nil
}

// costs are of one run, on average, in ms.
type costs struct {
	name               string // of the world
	user, system, wall float64
	engine             map[string]float64
	events             float64
}

func (c *costs) all() float64 {
	sum := c.user + c.system
	for _, v := range c.engine {
		sum += v
	}
	return sum
}

// parts are distinguished by the functions on the stack of a sample; the first that fits counts.
var parts = []struct {
	name  string
	stack *regexp.Regexp
}{
	{"garbage collection", regexp.MustCompile(`runtime\.gc[A-Z]|runtime\.bgsweep|runtime\.bgscavenge`)},
	{"building and ending the world", regexp.MustCompile(`native\.\(\*World\)\.(boot|release)`)},
	{"starting programs, threads and copies", regexp.MustCompile(`host\.\(\*Machine\)\.(Spawn|Exec|Clone|Exit|Kill)$|kernel\.\(\*Kernel\)\.(exec|Start)$`)},
	{"memory of programs", regexp.MustCompile(`host\.transfer$`)},
	{"calls made in programs, maps", regexp.MustCompile(`host\.\(\*Machine\)\.(Execute|Native|OpenFD|Maps)$`)},
	{"traps", regexp.MustCompile(`host\.\(\*Machine\)\.(Resume|Result|Deliver|Sigmask)$`)},
	{"outcome", regexp.MustCompile(`native\.\(\*World\)\.collect`)},
	{"judgement", regexp.MustCompile(`check\.Judge$`)},
	{"summary and JSON", regexp.MustCompile(`explore\.Summarise$|encoding/json\.Marshal$`)},
	{"system calls, files, network", regexp.MustCompile(`kernel\.\(\*Kernel\)\.`)},
	{"phases, faults, probes, logs", regexp.MustCompile(`native\.\(\*World\)\.`)},
}

const rest = "the rest (scheduler of Go, profile)"

func (b *bench) costs(path string, runs int, until int64) (*costs, error) {
	// The program builds what the world's programs are built from.
	if err := b.call(&struct{}{}, "run", path, "--until", "1"); err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, "profile")
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	defer pprof.StopCPUProfile()
	c := &costs{engine: map[string]float64{}}
	var self, children [2]unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &self[0])
	unix.Getrusage(unix.RUSAGE_CHILDREN, &children[0])
	start := time.Now()
	for seed := 1; seed <= runs; seed++ {
		events, err := b.judged(path, uint64(seed), until)
		if err != nil {
			return nil, err
		}
		c.events += float64(events) / float64(runs)
	}
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 / float64(runs) }
	c.wall = ms(time.Since(start))
	unix.Getrusage(unix.RUSAGE_SELF, &self[1])
	unix.Getrusage(unix.RUSAGE_CHILDREN, &children[1])
	pprof.StopCPUProfile()
	used := func(a, b unix.Timeval) float64 { return ms(time.Duration(b.Nano() - a.Nano())) }
	c.user, c.system = used(children[0].Utime, children[1].Utime), used(children[0].Stime, children[1].Stime)
	engine := used(self[0].Utime, self[1].Utime) + used(self[0].Stime, self[1].Stime)
	samples, err := stacks(b.program, file)
	if err != nil {
		return nil, err
	}
	all := 0.0
	for _, s := range samples {
		all += s.value
	}
	for _, s := range samples {
		c.engine[partOf(s.functions)] += s.value / all * engine
	}
	return c, nil
}

// judged runs a world, judges it, and makes the document that a worker sends.
func (b *bench) judged(path string, seed uint64, until int64) (events uint64, err error) {
	r, err := config.Load(config.Options{Path: path})
	if err != nil {
		return 0, err
	}
	w, err := native.New().Boot(r.Spec, tape.Tape{Seed: seed}, engine.Options{Dir: b.dir, Driver: b.program})
	if err != nil {
		return 0, err
	}
	defer w.Close()
	if _, err := w.Advance(engine.Until{TimeNs: until}); err != nil {
		return 0, err
	}
	out := &check.Judged{Outcome: *w.Outcome()}
	if until == 0 {
		out.Judge(r.Spec, false)
	}
	if _, err := json.Marshal(explore.Summarise(out)); err != nil {
		return 0, err
	}
	return out.Events, nil
}

type sample struct {
	value     float64
	functions []string
}

func partOf(functions []string) string {
	for _, p := range parts {
		if slices.ContainsFunc(functions, p.stack.MatchString) {
			return p.name
		}
	}
	return rest
}

// stacks reads a profile by Go's own tool: a line of dashes, a value with the innermost function, and its callers.
func stacks(program, file string) ([]sample, error) {
	out, err := exec.Command("go", "tool", "pprof", "-traces", "-unit", "ms", program, file).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool pprof: %w", err)
	}
	var list []sample
	begun := false
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "---"):
			list = append(list, sample{})
			begun = true
		case !begun || len(words) == 0:
		default:
			s := &list[len(list)-1]
			if v, ok := strings.CutSuffix(words[0], "ms"); ok && len(s.functions) == 0 && len(words) > 1 {
				s.value, _ = strconv.ParseFloat(v, 64)
				words = words[1:]
			}
			s.functions = append(s.functions, words[0])
		}
	}
	return list, nil
}
