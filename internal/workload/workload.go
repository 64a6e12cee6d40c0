// Package workload holds the drivers that run inside a world, as processes of Bloodhound's driver program on client
// nodes: http, redis and others perform operations and report each of them, prober performs the checks that the engine orders, and probe one.
// Drivers on client libraries are a Protocol, which the program bloodhound-drivers gives to Main.
//
// What a driver claims decides what a checker may conclude, so the rules are strict. The invoke of an operation is
// written before the first byte of its request. Nothing is ever sent twice. "ok" and "fail" need proof: a complete
// reply that says so, or the certainty that no byte of the request left. Everything else is "info", and then the
// client continues under a new name and on a new connection, since its operation may still be under way.
package workload

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/workload/kinds"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Defaults and limits.
const (
	defaultTimeoutNs = 1_000_000_000 // of one operation, connecting included
	// maxQueue is how many operations of an open-loop client may be waiting behind the one in flight; when more
	// arrive, those that have waited longest are never started, and counted.
	maxQueue = 100
	// errorPause is how long a closed-loop client rests after an operation that was not ok, so that a server that is
	// down does not fill the history with refusals.
	errorPause = 20 * time.Millisecond
	maxClients = 10_000
	// maxValueBytes bounds values, bodies and replies.
	maxValueBytes = 128 << 10
	// memoryBytes is when the garbage collector starts to run; a driver lives shortly, and quietly without it.
	memoryBytes = 256 << 20
	proberBytes = 64 << 20 // likewise, of the prober, which lives as long as its world
)

// Environment variables of a driver.
const (
	envDriver = "BLOODHOUND_DRIVER" // the world.Workload or world.Check, as JSON
	envReport = "BLOODHOUND_REPORT" // the file that takes records
)

// Exit codes of a driver other than probe.
const (
	exitDone   = 0
	exitFailed = 2
)

// Main runs the driver of the given kind (http, redis, prober, probe) to its end and returns the exit code of the process:
// 0 when the workload is done, 2 when it could not be; for probe, one of the codes of package world. protocols are those that the
// program links besides the drivers of this package.
func Main(kind string, protocols Protocols, getenv func(string) string, out io.Writer) int {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryBytes)
	if kind == "probe" {
		return probe(getenv(envDriver), out)
	}
	run := func() error { return drive(kind, protocols, getenv, os.Stdin, out) }
	switch kind {
	case "composer":
		run = func() error { return compose(getenv, os.Stdin, out) }
	case "prober":
		debug.SetMemoryLimit(proberBytes)
		run = func() error { return prober(os.Stdin, os.Stdin) }
	}
	if err := run(); err != nil {
		fmt.Fprintf(out, "driver %s: %v\n", kind, err)
		return exitFailed
	}
	return exitDone
}

func drive(kind string, protocols Protocols, getenv func(string) string, orders io.Reader, out io.Writer) error {
	var w world.Workload
	if err := json.Unmarshal([]byte(getenv(envDriver)), &w); err != nil {
		return fmt.Errorf("%s is not a workload: %w", envDriver, err)
	}
	w.Driver = kind
	if protocols == nil {
		protocols = Protocols{}
	}
	if _, err := newSettings(&w, protocols); err != nil {
		return err
	}
	report, err := openReport(getenv(envReport))
	if err != nil {
		return err
	}
	defer report.close()
	in := bufio.NewReader(orders)
	order, err := awaitOrder(in)
	if err != nil {
		return err
	}
	w.Skip, w.Schedule = order.Skip, order.Schedule
	s, err := newSettings(&w, protocols) // with the schedule
	if err != nil {
		return err
	}
	seed, err := drawSeed()
	if err != nil {
		return err
	}
	counts, err := s.run(seed, report, in)
	fmt.Fprintf(out, "%s: %d operations: %d ok, %d fail, %d info; %d not started\n", cmp.Or(w.Name, kind),
		counts.ok+counts.fail+counts.info, counts.ok, counts.fail, counts.info, counts.skipped)
	return err
}

// awaitOrder waits until the driver may begin, which is at once where no order comes.
func awaitOrder(orders *bufio.Reader) (o world.DriverOrder, err error) {
	line, err := orders.ReadBytes('\n')
	if err == io.EOF && len(line) == 0 {
		return o, nil
	}
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		return o, fmt.Errorf("the order to begin cannot be read: %w", err)
	}
	return o, nil
}

// drawSeed makes the one draw of a driver, after its order to begin: in a world it comes from the tape.
func drawSeed() (uint64, error) {
	var seed [8]byte
	_, err := rand.Read(seed[:])
	return binary.LittleEndian.Uint64(seed[:]), err
}

// Validate reports whether a workload of a driver that comes with Bloodhound can run; its errors are the user's and name the remedy.
// What command and composer run is not looked at.
func Validate(w *world.Workload) error {
	if w.Driver == "command" || w.Driver == "composer" {
		return nil
	}
	_, err := newSettings(w, nil)
	return err
}

// settings are a workload, parsed and completed with defaults.
type settings struct {
	kind     *kinds.Kind
	name     string
	group    string // of consumers
	clients  int
	rate     float64 // per second over all clients; 0 is closed-loop
	duration time.Duration
	limit    int // operations over all clients; 0 is no limit
	timeout  time.Duration
	spread   string
	mix      []entry
	weight   uint64
	dialect  dialect
	skip     *world.Workload // knows which operations are left out
	ppm      uint64          // how often keys and values are special
	words    []string        // the dictionary
	verb     string          // how transactions write
	once     bool            // it ends when each entry of the mix has succeeded
	schedule [][]scheduled   // by client; without one, operations are drawn
	// announces says that the driver reports its phases, and at the end receives what is left.
	announces bool
	drained   []string // operations by which everything was received
}

// dialect is the part of a driver that differs between http and redis.
type dialect interface {
	// targets is the number of servers that an operation may go to.
	targets() int
	// node names a target in records.
	node(target int) string
	// perform sends the operation once over the client's connections, before the deadline, and says what became
	// of it.
	perform(c *connections, target int, o *operation, deadline time.Time) result
}

// result of one operation.
type result struct {
	typ    history.Type
	output string
	found  bool
	err    string
	node   string // who was really asked, where that is not the target
}

func ok(output string, found bool) result {
	return result{typ: history.Ok, output: output, found: found}
}
func fail(format string, args ...any) result {
	return result{typ: history.Fail, err: fmt.Sprintf(format, args...)}
}
func info(format string, args ...any) result {
	return result{typ: history.Info, err: fmt.Sprintf(format, args...)}
}

// dialects are the makers of the dialects that every driver program has.
var dialects = map[string]func(*world.Workload) (dialect, error){"http": newHTTP, "redis": newRedis, "sql": newSQL, "etcd": newEtcd}

func newSettings(w *world.Workload, protocols Protocols) (*settings, error) {
	k, known := kinds.Named(w.Driver)
	if !known {
		return nil, fmt.Errorf("unknown driver %q; drivers are %s", w.Driver, strings.Join(kinds.Names(), ", "))
	}
	options := append(slices.Clone(k.Options), "spread")
	for _, name := range slices.Sorted(maps.Keys(w.Options)) {
		if !slices.Contains(options, name) {
			return nil, fmt.Errorf("driver %s has no option %q; it has %s", w.Driver, name, strings.Join(options, ", "))
		}
	}
	s := &settings{kind: k, name: w.Name, group: Group(w), clients: max(w.Clients, 1), rate: w.RatePerS, duration: time.Duration(w.DurationNs),
		limit: w.Operations, ppm: w.SpecialPPM, words: w.Dictionary,
		timeout: time.Duration(w.TimeoutNs), spread: cmp.Or(w.Options["spread"], k.Spread), skip: w, once: w.Once,
		announces: w.Announces && !w.Once}
	switch {
	case s.clients > maxClients:
		return nil, fmt.Errorf("%d clients; the limit is %d", s.clients, maxClients)
	case !(s.rate >= 0 && s.rate <= 1e9):
		return nil, fmt.Errorf("a rate of %v operations a second; it must be from 0 to 1e9", s.rate)
	case s.duration <= 0 && s.limit <= 0:
		return nil, fmt.Errorf("workload %q has neither a duration nor a number of operations, so it would never end", w.Name)
	case !slices.Contains(kinds.Spreads, s.spread):
		return nil, fmt.Errorf("no spread %q; there are %s", s.spread, strings.Join(kinds.Spreads, ", "))
	}
	if s.verb = "append"; w.Options["model"] == rwRegister {
		s.verb = "w"
	}
	if s.timeout <= 0 {
		s.timeout = defaultTimeoutNs
	}
	mix := w.Mix
	for i := 0; len(w.Mix) == 0 && i < len(k.Mix); i++ {
		mix = append(mix, world.Operation{Kind: k.Mix[i], Weight: 1})
	}
	for _, o := range mix {
		if _, ok := k.Operation(o.Kind); !ok {
			return nil, fmt.Errorf("driver %s has no operation %q; it has %s", w.Driver, o.Kind, strings.Join(k.Operations, ", "))
		}
		p, err := parsePattern(cmp.Or(o.KeyPattern, defaultKeyPattern))
		if err != nil {
			return nil, err
		}
		if o.Weight < 0 || o.ValueSizeBytes < 0 || max(o.ValueSizeBytes, o.MaxValueBytes) > maxValueBytes ||
			o.MaxValueBytes != 0 && o.MaxValueBytes < o.ValueSizeBytes {
			return nil, fmt.Errorf("operation %s: the weight must not be negative, and the value size must be "+
				"from 0 to %d bytes", o.Kind, maxValueBytes)
		}
		s.mix = append(s.mix, entry{Operation: o, pattern: p, weight: uint64(o.Weight)})
		s.weight += uint64(o.Weight)
	}
	if count := slices.DeleteFunc(slices.Clone(k.Either), func(kind string) bool {
		return !slices.ContainsFunc(s.mix, func(e entry) bool { return e.Kind == kind })
	}); len(count) > 1 {
		return nil, fmt.Errorf("workload %q: use either %s, not both: %s", w.Name, strings.Join(count, " or "), k.Why)
	}
	if s.weight == 0 {
		return nil, fmt.Errorf("workload %q: no operation has a weight above 0", w.Name)
	}
	if err := s.plan(w, k); err != nil {
		return nil, err
	}
	var err error
	if k.Field {
		s.dialect, err = newField(w, protocols)
	} else {
		s.dialect, err = dialects[w.Driver](w)
	}
	return s, err
}

// counts of what became of operations.
type counts struct{ ok, fail, info, skipped int }

// run does the workload. orders tells a driver that announces its phases when to receive what is left.
func (s *settings) run(seed uint64, report *reporter, orders *bufio.Reader) (counts, error) {
	var special []string
	if s.ppm > 0 {
		var err error
		if special, err = specials(seed, s.words); err != nil {
			return counts{}, err
		}
	}
	clients := make([]client, s.clients)
	for i := range clients {
		name := "c" + strconv.Itoa(i)
		if s.name != "" {
			name = s.name + "/" + name
		}
		clients[i] = client{settings: s, number: i, name: name, report: report, conns: newConnections(s.dialect.targets(), name),
			chooser: chooser{seed: seed, client: i, clients: s.clients, name: name, mix: s.mix, total: s.weight,
				counts: make([]uint64, len(s.mix)), verb: s.verb, special: special, ppm: s.ppm}}
	}
	if s.announces {
		if err := s.announceReady(&clients[0]); err != nil {
			return counts{}, err
		}
	}
	start := time.Now()
	var all sync.WaitGroup
	for i := range clients {
		clients[i].start = start
		all.Go(func() {
			clients[i].run()
		})
	}
	all.Wait()
	if len(s.schedule) > 0 {
		time.Sleep(s.duration - time.Since(start)) // faults may come after the last operation
	}
	if s.announces {
		if err := s.readBack(clients, orders); err != nil {
			return counts{}, err
		}
	}
	var sum counts
	var err error
	for i := range clients {
		c := &clients[i]
		sum.ok += c.counts.ok
		sum.fail += c.counts.fail
		sum.info += c.counts.info
		sum.skipped += c.counts.skipped
		err = cmp.Or(err, c.err)
	}
	return sum, err
}

// announceReady says that faults may begin, once a server takes connections.
func (s *settings) announceReady(c *client) error {
	if d, ok := s.dialect.(*protocolDialect); ok {
		for until := time.Now().Add(readyPeriod); time.Now().Before(until); time.Sleep(drainRetry) {
			session, err := d.protocol.Connect(d.addrs[0], c.name, time.Now().Add(s.timeout))
			if err == nil {
				c.conns.sessions[0] = session
				break
			}
		}
	}
	return c.report.mark(history.Ready)
}

// readBack receives what is left, when the world has settled.
func (s *settings) readBack(clients []client, orders *bufio.Reader) error {
	report := clients[0].report
	if err := report.mark(history.Done); err != nil {
		return err
	}
	line, err := orders.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != world.CheckLine {
		return nil // the world ends before it has settled
	}
	if err := report.mark(history.Check); err != nil {
		return err
	}
	for _, e := range s.mix {
		kind := e.Kind
		if e.weight == 0 || !slices.Contains(s.kind.Receives, kind) || slices.Contains(s.drained, kind) {
			continue
		}
		s.drained = append(s.drained, kind)
		var keys []string
		for i := range clients {
			keys = append(keys, slices.Collect(maps.Keys(clients[i].keys))...)
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		for i := range clients {
			if i > 0 && !slices.Contains(s.kind.Apart, kind) {
				break // the others share its messages
			}
			if err := clients[i].drain(kind, keys); err != nil {
				return err
			}
		}
	}
	return nil
}
