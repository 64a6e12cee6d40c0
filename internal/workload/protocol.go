package workload

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/workload/kinds"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Protocols has the makers of protocols that a program links, by the name of the driver.
type Protocols map[string]func(*world.Workload) (Protocol, error)

// Protocol is a driver on top of a client library. The library must send an operation once: whatever retries, reconnects or buffers by
// itself is turned off.
type Protocol interface {
	// Connect opens a connection of a client to a server, for operations, and gives up at the deadline. It sends nothing of an operation.
	// The client's name stays the same on all its connections.
	Connect(target, client string, deadline time.Time) (Session, error)
}

// Session is one connection of one client. Its caller uses it by one goroutine, and closes it after any result but ok.
type Session interface {
	// Perform sends the operation once and says what the answer proves, at the latest at the deadline.
	Perform(o *Request, deadline time.Time) Result
	io.Closer
}

// Leaser is a Protocol whose servers offer a received message again when it was not acknowledged for a time.
type Leaser interface{ Lease() time.Duration }

// Request is an operation as a Session sees it.
type Request struct {
	Kind   string // in the words of package kinds
	Key    string
	Value  string // what is written, published, or acknowledged
	Expect string // of cas: the value to replace
}

// Result says what became of an operation.
type Result struct{ result }

// OK is the result of an operation whose answer is complete. output is what was read, found whether there was something.
func OK(output string, found bool) Result { return Result{ok(output, found)} }

// Fail is the result of an operation of which nothing was done, with the proof.
func Fail(format string, args ...any) Result { return Result{fail(format, args...)} }

// Info is the result of an operation that may take effect now, later or never, with the reason.
func Info(format string, args ...any) Result { return Result{info(format, args...)} }

// Output returns the value that an operation read, and whether it was ok, for tests.
func (r Result) Output() (output string, ok bool) { return r.output, r.typ == history.Ok }

// Unknown reports whether an operation may or may not have taken effect, for tests.
func (r Result) Unknown() bool { return r.typ == history.Info }

// protocolDialect lets a Protocol perform operations.
type protocolDialect struct {
	addrs    []string
	protocol Protocol
}

// newField makes the dialect of a driver of the program bloodhound-drivers. Without protocols only the configuration is checked.
func newField(w *world.Workload, protocols Protocols) (dialect, error) {
	k, _ := kinds.Named(w.Driver)
	if len(w.Targets) == 0 {
		return nil, fmt.Errorf("workload %q has no target; give one such as %s", w.Name, k.Target)
	}
	d := &protocolDialect{addrs: w.Targets}
	if protocols == nil {
		return d, nil
	}
	make := protocols[w.Driver]
	if make == nil {
		return nil, fmt.Errorf("this driver program does not know %q; bloodhound-drivers does", w.Driver)
	}
	var err error
	d.protocol, err = make(w)
	return d, err
}

func (d *protocolDialect) targets() int           { return len(d.addrs) }
func (d *protocolDialect) node(target int) string { return d.addrs[target] }

func (d *protocolDialect) perform(cs *connections, target int, o *operation, deadline time.Time) result {
	s, _ := cs.sessions[target].(Session)
	if s == nil {
		var err error
		if s, err = d.protocol.Connect(d.addrs[target], cs.client, deadline); err != nil {
			return fail("not connected: %v", err)
		}
		cs.sessions[target] = s
	}
	r := s.Perform(&Request{Kind: o.entry.Kind, Key: o.key, Value: o.value, Expect: o.expect}, deadline)
	if r.typ != history.Ok {
		cs.drop(target)
	}
	return r.result
}

// Messages.

// Limits of receiving what is left.
const (
	maxDrained  = 10_000 // messages of one key
	drainRetry  = 100 * time.Millisecond
	drainPeriod = 30 * time.Second
	// readyPeriod bounds how long a driver tries to reach a server before it says that it is ready.
	readyPeriod = 20 * time.Second
)

// Names, after the client's, under which a client records what it does besides the operations that it chooses: the numbers of those stay
// the same then, by which a Skip names them.
const (
	acking      = "/ack"
	subscribing = "/subscribe"
	draining    = "/drain"
)

// side is a name under which a client records operations besides those that it chooses.
type side struct {
	name    string
	retired int
}

// group names the consumers with which a client shares the messages of an operation.
func (c *client) group(kind string) string {
	switch {
	case !slices.Contains(c.kind.Receives, kind) && kind != "ack" && kind != "subscribe":
		return ""
	case slices.Contains(c.kind.Apart, kind), kind == "subscribe":
		return c.name
	}
	return c.settings.group
}

// Group names the consumers of a workload, which share its queues. A driver that tries everything again after the last heal is one of them.
func Group(w *world.Workload) string {
	return strings.TrimSuffix(w.Name, strings.TrimSuffix(world.RecoveryClients, "/"))
}

// aside performs an operation under another name, and reports whether it was ok.
func (c *client) aside(name, kind, group string, target int, key, value string) (result, error) {
	i := slices.IndexFunc(c.sides, func(s side) bool { return s.name == name })
	if i < 0 {
		i = len(c.sides)
		c.sides = append(c.sides, side{name: name})
	}
	s := &c.sides[i]
	o := operation{entry: &entry{Operation: world.Operation{Kind: kind}}, key: key, value: value}
	r, err := c.record(identityOf(c.name+name, s.retired), group, target, &o)
	if r.typ == history.Info {
		s.retired++
	}
	return r, err
}

// receive does an operation that receives a message: it subscribes before the first one, and acknowledges the message. act performs the
// operation itself.
func (c *client) receive(kind, key string, target int, act func() (result, error)) (result, error) {
	if slices.Contains(c.kind.Subscribes, kind) && !c.subscribed[key] {
		r, err := c.aside(subscribing, "subscribe", c.group("subscribe"), target, key, "")
		if err != nil || r.typ != history.Ok {
			return r, err
		}
		if c.subscribed == nil {
			c.subscribed = map[string]bool{}
		}
		c.subscribed[key] = true
	}
	r, err := act()
	if err != nil || r.typ != history.Ok || !r.found || !slices.Contains(c.kind.Acks, kind) {
		return r, err
	}
	_, err = c.aside(acking, "ack", c.group(kind), target, key, r.output)
	return r, err
}

// drain receives what is left of some keys, until nothing comes.
func (c *client) drain(kind string, keys []string) error {
	defer c.conns.close()
	until := time.Now().Add(drainPeriod)
	lease := time.Duration(0)
	if d, ok := c.dialect.(*protocolDialect); ok {
		if l, ok := d.protocol.(Leaser); ok {
			lease = l.Lease()
		}
	}
	for round := range 2 {
		for _, key := range keys {
			if slices.Contains(c.kind.Subscribes, kind) && !c.subscribed[key] {
				continue
			}
			for k := 0; k < maxDrained && time.Now().Before(until); k++ {
				target := c.target(k, key)
				r, err := c.receive(kind, key, target, func() (result, error) {
					return c.aside(draining, kind, c.group(kind), target, key, "")
				})
				if err != nil {
					return err
				}
				if r.typ != history.Ok {
					c.moved++
					time.Sleep(drainRetry)
				} else if !r.found {
					break
				}
			}
		}
		if lease == 0 || round > 0 {
			break
		}
		time.Sleep(lease) // what was sent to a client that did not get it comes again
	}
	return nil
}
