// Package workload holds the drivers that run inside a world, as processes of the bloodhound program itself on client
// nodes: http and redis perform operations and report each of them, prober performs the checks that the engine orders, and probe one.
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
// 0 when the workload is done, 2 when it could not be; for probe, one of the codes of package world.
func Main(kind string, getenv func(string) string, out io.Writer) int {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(memoryBytes)
	if kind == "probe" {
		return probe(getenv(envDriver), out)
	}
	run := func() error { return drive(kind, getenv, os.Stdin, out) }
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

func drive(kind string, getenv func(string) string, orders io.Reader, out io.Writer) error {
	var w world.Workload
	if err := json.Unmarshal([]byte(getenv(envDriver)), &w); err != nil {
		return fmt.Errorf("%s is not a workload: %w", envDriver, err)
	}
	w.Driver = kind
	s, err := newSettings(&w)
	if err != nil {
		return err
	}
	report, err := openReport(getenv(envReport))
	if err != nil {
		return err
	}
	defer report.close()
	order, err := awaitOrder(orders)
	if err != nil {
		return err
	}
	w.Skip, w.Schedule = order.Skip, order.Schedule
	if s, err = newSettings(&w); err != nil { // with the schedule
		return err
	}
	seed, err := drawSeed()
	if err != nil {
		return err
	}
	counts, err := s.run(seed, report)
	fmt.Fprintf(out, "%s: %d operations: %d ok, %d fail, %d info; %d not started\n", cmp.Or(w.Name, kind),
		counts.ok+counts.fail+counts.info, counts.ok, counts.fail, counts.info, counts.skipped)
	return err
}

// awaitOrder waits until the driver may begin, which is at once where no order comes.
func awaitOrder(orders io.Reader) (o world.DriverOrder, err error) {
	line, err := bufio.NewReader(orders).ReadBytes('\n')
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
	_, err := newSettings(w)
	return err
}

// settings are a workload, parsed and completed with defaults.
type settings struct {
	name     string
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

// Ways to spread operations over several targets.
const (
	spreadFirst      = "first"       // always the first
	spreadRoundRobin = "round-robin" // operation k of client c goes to target (c+k) mod n
	spreadClient     = "client"      // client c stays with target c mod n
	spreadHash       = "hash"        // by the key
	spreadFailover   = "failover"    // stay with one until an operation there is not ok, then the next one
)

var spreads = []string{spreadFirst, spreadRoundRobin, spreadClient, spreadHash, spreadFailover}

// driverKind holds the facts about a driver that Validate checks.
type driverKind struct {
	operations []string // lower case
	names      string   // the same for people
	options    []string
	mix        []world.Operation // the default
	spread     string            // the default
	dialect    func(*world.Workload) (dialect, error)
}

func kinds(driver string) (driverKind, bool) {
	switch driver {
	case "http":
		return driverKind{[]string{"put", "get", "delete"}, "put, get, delete", []string{"fail_status", "json_field", "put_method", "spread", "trim_space"},
			[]world.Operation{{Kind: "put", Weight: 1}, {Kind: "get", Weight: 1}}, spreadRoundRobin, newHTTP}, true
	case "redis":
		return driverKind{[]string{"set", "get", "incr", "del"}, "SET, GET, INCR, DEL", []string{"master_name", "sentinels", "spread"},
			[]world.Operation{{Kind: "SET", Weight: 1}, {Kind: "GET", Weight: 1}}, spreadFirst, newRedis}, true
	case "sql":
		return driverKind{[]string{"put", "get", "delete", "cas", "txn"}, "put, get, delete, cas, txn", []string{"isolation", "model", "spread"},
			[]world.Operation{{Kind: "put", Weight: 1}, {Kind: "get", Weight: 1}}, spreadFirst, newSQL}, true
	case "etcd":
		return driverKind{[]string{"put", "get", "delete", "cas", "range_put", "lease_put", "compact"}, "put, get, delete, cas, range_put, lease_put, compact",
			[]string{"back", "serializable", "spread"}, []world.Operation{{Kind: "put", Weight: 1}, {Kind: "get", Weight: 1}}, spreadRoundRobin, newEtcd}, true
	}
	return driverKind{}, false
}

func newSettings(w *world.Workload) (*settings, error) {
	k, known := kinds(w.Driver)
	if !known {
		return nil, fmt.Errorf("unknown driver %q; drivers are http, redis, sql, etcd, command, composer", w.Driver)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Options)) {
		if !slices.Contains(k.options, name) {
			return nil, fmt.Errorf("driver %s has no option %q; it has %s", w.Driver, name, strings.Join(k.options, ", "))
		}
	}
	s := &settings{name: w.Name, clients: max(w.Clients, 1), rate: w.RatePerS, duration: time.Duration(w.DurationNs),
		limit: w.Operations, ppm: w.SpecialPPM, words: w.Dictionary,
		timeout: time.Duration(w.TimeoutNs), spread: cmp.Or(w.Options["spread"], k.spread), skip: w, once: w.Once}
	switch {
	case s.clients > maxClients:
		return nil, fmt.Errorf("%d clients; the limit is %d", s.clients, maxClients)
	case !(s.rate >= 0 && s.rate <= 1e9):
		return nil, fmt.Errorf("a rate of %v operations a second; it must be from 0 to 1e9", s.rate)
	case s.duration <= 0 && s.limit <= 0:
		return nil, fmt.Errorf("workload %q has neither a duration nor a number of operations, so it would never end", w.Name)
	case !slices.Contains(spreads, s.spread):
		return nil, fmt.Errorf("no spread %q; there are %s", s.spread, strings.Join(spreads, ", "))
	}
	if s.verb = "append"; w.Options["model"] == rwRegister {
		s.verb = "w"
	}
	if s.timeout <= 0 {
		s.timeout = defaultTimeoutNs
	}
	mix := w.Mix
	if len(mix) == 0 {
		mix = k.mix
	}
	for _, o := range mix {
		if !slices.Contains(k.operations, strings.ToLower(o.Kind)) {
			return nil, fmt.Errorf("driver %s has no operation %q; it has %s", w.Driver, o.Kind, k.names)
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
	if s.weight == 0 {
		return nil, fmt.Errorf("workload %q: no operation has a weight above 0", w.Name)
	}
	if err := s.plan(w, &k); err != nil {
		return nil, err
	}
	var err error
	s.dialect, err = k.dialect(w)
	return s, err
}

// counts of what became of operations.
type counts struct{ ok, fail, info, skipped int }

func (s *settings) run(seed uint64, report *reporter) (counts, error) {
	var special []string
	if s.ppm > 0 {
		var err error
		if special, err = specials(seed, s.words); err != nil {
			return counts{}, err
		}
	}
	start := time.Now()
	clients := make([]client, s.clients)
	var all sync.WaitGroup
	for i := range clients {
		name := "c" + strconv.Itoa(i)
		if s.name != "" {
			name = s.name + "/" + name
		}
		clients[i] = client{settings: s, number: i, name: name, report: report, start: start, conns: newConnections(s.dialect.targets()),
			chooser: chooser{seed: seed, client: i, clients: s.clients, name: name, mix: s.mix, total: s.weight,
				counts: make([]uint64, len(s.mix)), verb: s.verb, special: special, ppm: s.ppm}}
		all.Go(func() {
			clients[i].run()
		})
	}
	all.Wait()
	if len(s.schedule) > 0 {
		time.Sleep(s.duration - time.Since(start)) // faults may come after the last operation
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
