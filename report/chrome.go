package report

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/fault"
	"github.com/bloodhound-dst/bloodhound/history"
)

// The Chrome trace-event format ("Trace Event Format", Google, 2016), which ui.perfetto.dev opens: nodes are
// processes, threads are threads, log lines are instants on a thread of their own; faults are asynchronous spans of
// the process "faults", operations are spans of the process "operations", one thread a client. Times are virtual, in
// microseconds with nanoseconds behind the point.
type chromeSink struct {
	w      *bufio.Writer
	filter Filter
	first  bool
	pids   map[string]int
	tids   map[string]int
	err    error
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
	Args  map[string]any `json:"args,omitempty"` // encoding/json sorts the keys
}

func newChromeSink(w io.Writer, f Filter) *chromeSink {
	c := &chromeSink{w: bufio.NewWriterSize(w, 1<<16), filter: f, first: true, pids: map[string]int{}, tids: map[string]int{}}
	c.w.WriteString(`{"displayTimeUnit":"ns","traceEvents":[`)
	return c
}

func micros(ns int64) json.Number {
	return json.Number(strconv.FormatFloat(float64(ns)/1e3, 'f', 3, 64))
}

func (c *chromeSink) put(e *chromeEvent) {
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
		c.put(&chromeEvent{Name: "process_name", Phase: "M", Ts: "0", Pid: pid, Args: map[string]any{"name": process}})
	}
	key := process + "\x00" + thread
	tid, ok = c.tids[key]
	if !ok {
		tid = len(c.tids) + 1
		c.tids[key] = tid
		c.put(&chromeEvent{Name: "thread_name", Phase: "M", Ts: "0", Pid: pid, Tid: tid, Args: map[string]any{"name": thread}})
	}
	return pid, tid
}

func (c *chromeSink) Event(e *engine.Event) {
	if !c.filter.Keep(e) {
		return
	}
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
	c.put(&chromeEvent{Name: e.Call, Cat: string(ClassOf(e)), Phase: "i", Scope: "t", Ts: micros(e.TimeNs), Pid: pid, Tid: tid, Args: args})
}

func (c *chromeSink) Log(l engine.LogLine) {
	pid, tid := c.place(l.Node, "log "+l.Stream)
	c.put(&chromeEvent{Name: l.Text, Cat: "log", Phase: "i", Scope: "t", Ts: micros(l.TimeNs), Pid: pid, Tid: tid})
}

func (c *chromeSink) Finish(o *engine.Outcome) error {
	if o != nil {
		for i := range o.Ledger.Strikes {
			c.strike(&o.Ledger.Strikes[i])
		}
		c.operations(o)
		for _, v := range o.Verdicts {
			if v.Status == engine.Violated {
				pid, tid := c.place("verdicts", v.Property)
				c.put(&chromeEvent{Name: "violated: " + v.Property, Cat: "verdict", Phase: "i", Scope: "g", Ts: micros(v.TimeNs),
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

func (c *chromeSink) strike(s *fault.Strike) {
	pid, tid := c.place("faults", s.Target)
	e := chromeEvent{Name: string(s.Kind) + " " + s.Target, Cat: "fault", Phase: "b", ID: "fault-" + strconv.Itoa(s.ID),
		Ts: micros(s.StartNs), Pid: pid, Tid: tid, Args: map[string]any{"event": s.Event, "observed": s.Observed}}
	c.put(&e)
	e.Phase, e.Ts, e.Args = "e", micros(s.EndNs), nil
	c.put(&e)
}

// operations writes a span for each operation, from invoke to return. One whose fate is unknown lasts to the end of
// the run and says so. A client has one operation in flight.
func (c *chromeSink) operations(o *engine.Outcome) {
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
		c.put(&chromeEvent{Name: strings.TrimSpace(call.Op + " " + call.Key), Cat: "operation", Phase: "X", Ts: micros(call.TimeNs),
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
