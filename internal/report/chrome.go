package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// The Chrome trace-event format ("Trace Event Format", Google, 2016), which ui.perfetto.dev opens: nodes are
// processes, threads are threads, log lines are instants on a thread of their own; faults are asynchronous spans of
// the process "faults", operations are spans of the process "operations", one thread a client. A message is a flow, from the call
// that sent it to the call that read its last byte: these calls are spans, of what a call takes. Counters report how many messages no call
// has read yet, how many operations are in flight and how many faults are in force. Times are virtual, in microseconds with nanoseconds
// behind the point.
type chromeSink struct {
	w        *bufio.Writer
	filter   Filter
	first    bool
	pids     map[string]int
	tids     map[string]int
	err      error
	callNs   int64
	messages *diagramSink
	sends    map[uint64]chromeEvent // the start of a flow, by the event that sent a message
	current  *chromeEvent           // the call that is written now, nil if the filter drops it
	unread   int
}

// chromeEvent is one record of the format. Fields are those of the format's own short names.
type chromeEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	Ts    json.Number    `json:"ts"`
	Dur   json.Number    `json:"dur,omitempty"`
	Pid   int            `json:"pid"`
	Tid   int            `json:"tid"`
	ID    string         `json:"id,omitempty"`
	Scope string         `json:"s,omitempty"`
	Bind  string         `json:"bp,omitempty"`
	Args  map[string]any `json:"args,omitempty"` // encoding/json sorts the keys
}

func newChromeSink(w io.Writer, f Filter, spec *world.Spec) *chromeSink {
	c := &chromeSink{w: bufio.NewWriterSize(w, 1<<16), filter: f, first: true, pids: map[string]int{}, tids: map[string]int{},
		callNs: max(spec.Cost.CallNs, 1), messages: newTracker(spec), sends: map[uint64]chromeEvent{}}
	c.messages.sent, c.messages.known = c.sent, c.known
	c.w.WriteString(`{"displayTimeUnit":"ns","traceEvents":[`)
	return c
}

func micros(ns int64) json.Number {
	return json.Number(strconv.FormatFloat(float64(ns)/1e3, 'f', 3, 64))
}

func (c *chromeSink) writeEvent(e *chromeEvent) {
	b, err := json.Marshal(e)
	if err != nil {
		c.err = err
		return
	}
	if !c.first {
		c.w.WriteByte(',')
	}
	c.first = false
	c.w.WriteByte('\n')
	c.w.Write(b)
}

// place returns the numbers of a process and a thread, and names them when they are new.
func (c *chromeSink) place(process, thread string) (pid, tid int) {
	pid, ok := c.pids[process]
	if !ok {
		pid = len(c.pids) + 1
		c.pids[process] = pid
		c.writeEvent(&chromeEvent{Name: "process_name", Phase: "M", Ts: "0", Pid: pid, Args: map[string]any{"name": process}})
	}
	key := process + "\x00" + thread
	tid, ok = c.tids[key]
	if !ok {
		tid = len(c.tids) + 1
		c.tids[key] = tid
		c.writeEvent(&chromeEvent{Name: "thread_name", Phase: "M", Ts: "0", Pid: pid, Tid: tid, Args: map[string]any{"name": thread}})
	}
	return pid, tid
}

// sent begins the flow of a message at the call that is written now.
func (c *chromeSink) sent(m *Message) {
	if c.current == nil {
		return
	}
	e := *c.current
	e.Name, e.Cat, e.Phase, e.Dur, e.Args = m.From+" to "+m.To, "message", "s", "", map[string]any{"bytes": m.Bytes, "via": m.Via}
	e.ID = "message-" + strconv.FormatUint(m.SentEvent, 10)
	c.sends[m.SentEvent] = e
	c.unread++
	c.count("messages unread", m.SentNs, c.unread)
}

// known ends the flow of a message at the call that is written now, and drops that of a message that no call will read.
func (c *chromeSink) known(l diagramLine) {
	if l.Message == nil {
		return
	}
	start, ok := c.sends[l.Message.SentEvent]
	if !ok {
		return
	}
	delete(c.sends, l.Message.SentEvent)
	c.unread--
	if l.Message.ReadEvent == 0 || c.current == nil {
		return
	}
	c.count("messages unread", l.Message.ReadNs, c.unread)
	end := *c.current
	end.Name, end.Cat, end.ID, end.Phase, end.Bind, end.Dur, end.Args = start.Name, start.Cat, start.ID, "f", "e", "", nil
	c.writeEvent(&start)
	c.writeEvent(&end)
}

// count writes a counter's value from a time on.
func (c *chromeSink) count(name string, ns int64, value int) {
	pid, _ := c.place("world", "faults and phases")
	c.writeEvent(&chromeEvent{Name: name, Phase: "C", Ts: micros(ns), Pid: pid, Args: map[string]any{"value": value}})
}

// Event writes a call, and follows the messages in it, whether the filter keeps it or not.
func (c *chromeSink) Event(e *record.Event) {
	c.current = nil
	if c.filter.Keep(e) {
		c.call(e)
	}
	c.messages.Event(e)
}

func (c *chromeSink) call(e *record.Event) {
	node, thread := e.Node, e.Thread
	if node == "" {
		node, thread = "world", "faults and phases"
	}
	pid, tid := c.place(node, thread)
	args := map[string]any{"event": e.Number, "result": e.Result}
	if len(e.Args) > 0 {
		args["args"] = e.Args
	}
	if e.Detail != "" {
		args["detail"] = e.Detail
	}
	if e.Object != "" {
		args["object"] = e.Object
	}
	if e.Bytes != 0 {
		args["bytes"] = strconv.FormatUint(e.Bytes, 16)
	}
	out := &chromeEvent{Name: e.Call, Cat: string(classOf(e)), Phase: "i", Scope: "t", Ts: micros(e.TimeNs), Pid: pid, Tid: tid, Args: args}
	if class := classOf(e); e.Node != "" && (class == NetworkSend || class == NetworkRecv) { // a flow begins and ends at spans
		out.Phase, out.Scope, out.Dur = "X", "", micros(c.callNs)
	}
	c.writeEvent(out)
	c.current = out
}

func (c *chromeSink) Log(l record.LogLine) {
	pid, tid := c.place(l.Node, "log "+l.Stream)
	c.writeEvent(&chromeEvent{Name: l.Text, Cat: "log", Phase: "i", Scope: "t", Ts: micros(l.TimeNs), Pid: pid, Tid: tid})
}

func (c *chromeSink) Finish(o *check.Judged) error {
	if o != nil {
		var faults changes
		for i := range o.Ledger.Injections {
			s := &o.Ledger.Injections[i]
			c.injection(s)
			faults.span(s.StartNs, s.EndNs)
		}
		c.counter("faults in force", faults)
		c.operations(o)
		for _, v := range o.Verdicts {
			if v.Status == check.Violated {
				pid, tid := c.place("verdicts", v.Property)
				c.writeEvent(&chromeEvent{Name: "violated: " + v.Property, Cat: "verdict", Phase: "i", Scope: "g", Ts: micros(v.TimeNs),
					Pid: pid, Tid: tid, Args: map[string]any{"reason": v.Reason}})
			}
		}
	}
	c.w.WriteString("\n]}\n")
	if err := c.w.Flush(); err != nil {
		return err
	}
	return c.err
}

func (c *chromeSink) injection(s *fault.Injection) {
	pid, tid := c.place("faults", s.Target)
	e := chromeEvent{Name: string(s.Kind) + " " + s.Target, Cat: "fault", Phase: "b", ID: "fault-" + strconv.Itoa(s.ID),
		Ts: micros(s.StartNs), Pid: pid, Tid: tid, Args: map[string]any{"event": s.Event, "observed": s.Observed}}
	c.writeEvent(&e)
	e.Phase, e.Ts, e.Args = "e", micros(s.EndNs), nil
	c.writeEvent(&e)
}

// operations writes a span for each operation, from invoke to return. One whose fate is unknown lasts to the end of
// the run and says so. A client has one operation in flight.
func (c *chromeSink) operations(o *check.Judged) {
	var flight changes
	defer func() { c.counter("operations in flight", flight) }()
	open := map[string]*history.Event{}
	var clients []string // in the order of their first operation
	span := func(call, ret *history.Event) {
		pid, tid := c.place("operations", call.Client)
		args := map[string]any{"call_event": call.Number, "type": "pending"}
		end := o.VirtualNs
		if call.Input != "" {
			args["input"] = call.Input
		}
		if ret != nil {
			args["type"] = string(ret.Type)
			if ret.Type != history.Info {
				end = ret.TimeNs
			}
			if ret.Output != "" {
				args["output"] = ret.Output
			}
			if ret.Error != "" {
				args["error"] = ret.Error
			}
		}
		flight.span(call.TimeNs, end)
		c.writeEvent(&chromeEvent{Name: strings.TrimSpace(call.Op + " " + call.Key), Cat: "operation", Phase: "X", Ts: micros(call.TimeNs),
			Dur: micros(max(end-call.TimeNs, 1)), Pid: pid, Tid: tid, Args: args})
	}
	for i := range o.History {
		h := &o.History[i]
		call, known := open[h.Client]
		switch {
		case h.Type == history.Invoke:
			if !known {
				clients = append(clients, h.Client)
			}
			open[h.Client] = h
		case call != nil:
			span(call, h)
			open[h.Client] = nil
		}
	}
	for _, client := range clients {
		if call := open[client]; call != nil {
			span(call, nil)
		}
	}
}

// changes are the times at which a count changes, and by how much.
type changes [][2]int64

// span counts one from a time to another.
func (c *changes) span(fromNs, toNs int64) { *c = append(*c, [2]int64{fromNs, 1}, [2]int64{toNs, -1}) }

// counter writes a count at each of its changes.
func (c *chromeSink) counter(name string, list changes) {
	slices.SortStableFunc(list, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	value := int64(0)
	for i, change := range list {
		if value += change[1]; i+1 == len(list) || list[i+1][0] != change[0] {
			c.count(name, change[0], int(value))
		}
	}
}
