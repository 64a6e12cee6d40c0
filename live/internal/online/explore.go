// Package online explores live processes while they run: it asks each for a checkpoint every so often, has explorers try inputs
// in it that lead to other paths, and reports what they find. What that costs the machine is bounded.
package online

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/live/internal/attach"
	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
	"github.com/bloodhound-dst/bloodhound/live/internal/checkpoint"
	"github.com/bloodhound-dst/bloodhound/live/internal/config"
	"github.com/bloodhound-dst/bloodhound/live/internal/search"
)

// Explored is the result of exploring one checkpoint.
type Explored struct {
	Node    string
	Handler string
	*search.Result
	Program string        // the file of the process
	Paused  time.Duration // for how long the process stood still
	Ready   time.Duration // from the request for a checkpoint until it took inputs
	Took    time.Duration
	CPU     time.Duration // of the explorers and the checkpoint
	// Stuck counts runs that waited until their time was over, and Starved those that the machine had hardly run by then.
	Stuck, Starved int
	// Pages is how many pages an explorer touched first or copied, on average.
	Pages int
	// ResidentBytes is the memory of the checkpoint at its end, and OwnBytes what of it no other process shares: pages that the process has written since.
	ResidentBytes, OwnBytes int64
	// Known says which of the failures that were given were there again.
	Known []bool
	// BIRD is set for a session of a BIRD, whose Paths are the routes that were tried. It is nil for a handler of Go
	// code.
	BIRD *Probed
}

// Task is one handler of a live process, with what is wanted of it.
type Task struct {
	Node    config.Node
	Handler string
	Change  []byte // a configuration that copies take; nil is none
	Known   []search.Finding
}

// exploring is the state while one checkpoint is explored.
type exploring struct {
	*Explored
	ctx     context.Context
	from    *attach.Attached
	budget  *config.Budget
	pace    *Pace
	builder bv.Builder
	err     error // of the checkpoint: it has ended
}

// Explore takes a checkpoint of a process and explores a handler in it.
func Explore(ctx context.Context, t *Task, b *config.Budget, pace *Pace) (*Explored, error) {
	if t.Node.BIRD != nil {
		x, err := exploreBIRD(ctx, t, b, pace)
		if err != nil {
			err = fmt.Errorf("%s: %w", t.Node.Name, err)
		}
		return x, err
	}
	begun := time.Now()
	from, end, err := takeCheckpoint(ctx, &t.Node, attach.Request{Handler: t.Handler, Change: t.Change, MemoryBytes: b.MemoryBytes})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Node.Name, err)
	}
	end = sync.OnceValue(end)
	defer end()
	defer context.AfterFunc(ctx, func() { end() })()
	if err := pace.join(from.PID); err != nil {
		return nil, err
	}
	if err := from.Ready(); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Node.Name, err)
	}
	ready := time.Since(begun)
	x := &exploring{ctx: ctx, from: from, budget: b, pace: pace,
		Explored: &Explored{Node: t.Node.Name, Handler: t.Handler, Program: from.Program, Paused: from.Paused, Ready: ready, Result: &search.Result{}}}
	for _, f := range t.Known {
		run := x.run(f.Values())
		x.Known = append(x.Known, slices.Contains(run.Failures, f.Failure()))
	}
	until := begun.Add(b.Explore)
	if x.err == nil {
		x.Result = search.Search(search.Options{Paths: b.Paths,
			Stop: func() bool { return x.err != nil || ctx.Err() != nil || time.Now().After(until) }}, x.run)
	}
	x.ResidentBytes, x.OwnBytes = memory(from.PID)
	own := pace.checkpoint(from.PID)
	pace.spent(own)
	x.CPU += own
	x.Took = time.Since(begun)
	if x.err != nil {
		return nil, fmt.Errorf("%s: %w", t.Node.Name, x.err)
	}
	if x.Stuck > 0 && x.Stuck == x.Paths {
		return nil, fmt.Errorf("%s: the handler %s does not return in a copy, where no other goroutine runs: it "+
			"waits for one, or for a lock that one held; give live.Service a Hold that takes the "+
			"lock", t.Node.Name, t.Handler)
	}
	if n := x.Paths + len(t.Known); n > 0 {
		x.Pages /= n
	}
	return x.Explored, nil
}

// takeCheckpoint returns a checkpoint of a process, or of another one that has restored a snapshot of its state. end closes it.
func takeCheckpoint(ctx context.Context, n *config.Node, q attach.Request) (from *attach.Attached, end func() error, err error) {
	if n.Restore != nil {
		r, err := restore(ctx, n, q)
		if err != nil {
			return nil, nil, err
		}
		return r.Attached, r.Close, nil
	}
	if from, err = attach.Ask(n.Socket, q); err != nil {
		return nil, nil, err
	}
	return from, from.Close, nil
}

// starving is how many times the time of a path an explorer is waited for at most that other programs leave no CPU to.
const starving = 16

// run has an explorer try values of the inputs.
func (x *exploring) run(values []uint64) search.Run {
	x.pace.wait(x.ctx, x.from.PID)
	o := x.try(values, x.budget.PathTime)
	for patience := 1; o != nil && o.Status == checkpoint.Stuck && 2*o.CPU < x.budget.PathTime; patience *= 4 { // it waits, or got little of a busy machine
		if patience > starving {
			x.Starved++
			return search.Run{Ended: true}
		}
		var computes bool
		if o, computes = x.watched(values, time.Duration(patience)*x.budget.PathTime); o != nil && o.Status == checkpoint.Stuck && !computes {
			x.Stuck++
			return search.Run{Ended: true}
		}
	}
	if o == nil {
		return search.Run{Ended: true}
	}
	x.Pages += o.Faults
	switch o.Status {
	case checkpoint.Done:
		x.builder.Reset()
		run, err := search.ParseRun(&x.builder, o.Result)
		if err != nil {
			return search.Run{Ended: true, Failures: []search.Failure{{What: "the handler has overwritten the memory of its copy: " + err.Error()}}}
		}
		return *run
	case checkpoint.Crashed:
		return search.Run{Ended: true, Failures: []search.Failure{{What: "crash: " + reason(o.Log)}}}
	}
	return search.Run{Ended: true, Failures: []search.Failure{{What: fmt.Sprintf("the handler does not return within %v", x.budget.PathTime)}}}
}

// try has an explorer try values, and waits for it for a time. It gives nil when the checkpoint has ended.
func (x *exploring) try(values []uint64, patience time.Duration) *checkpoint.Outcome {
	o, err := x.from.Try(search.AppendValues(nil, values), patience)
	if err != nil {
		x.err = err
		return nil
	}
	x.pace.spent(o.CPU)
	x.CPU += o.CPU
	return o
}

// watched is try, and reports whether the explorer computes, or would if it had a CPU, rather than waits.
func (x *exploring) watched(values []uint64, patience time.Duration) (o *checkpoint.Outcome, computes bool) {
	end := make(chan bool)
	ended := make(chan bool)
	looks, runs := 0, 0
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-time.After(patience / 20):
				looks++
				if running(x.from.PID) {
					runs++
				}
			}
		}
	}()
	o = x.try(values, patience)
	close(end)
	<-ended
	return o, 2*runs > looks
}

// running reports whether the explorer of a checkpoint runs, or could.
func running(checkpoint int) bool {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", checkpoint, checkpoint))
	if err != nil {
		return false
	}
	text, err := os.ReadFile("/proc/" + strings.TrimSpace(string(children)) + "/stat")
	_, state, found := strings.Cut(string(text), ") ")
	return err == nil && found && strings.HasPrefix(state, "R")
}

// reason is the line of what a crashed explorer printed that says why.
func reason(log []byte) string {
	for _, text := range []string{"out of memory", "cannot allocate memory"} { // in words that depend on what else a copy has
		if bytes.Contains(log, []byte(text)) {
			return "the copy needs more than budget.memory_bytes"
		}
	}
	for line := range bytes.Lines(log) {
		for _, begin := range []string{"fatal error: ", "panic: "} {
			if bytes.HasPrefix(line, []byte(begin)) {
				return strings.TrimSpace(string(line))
			}
		}
	}
	if line, _, _ := bytes.Cut(bytes.TrimSpace(log), []byte("\n")); len(line) > 0 {
		return string(line)
	}
	return "it ended without a word"
}

// memory is the resident memory of a process, and what of it no other one shares (proc_pid_smaps(5)); 0 if it has ended.
func memory(pid int) (resident, own int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		var kb int64
		fmt.Sscan(value, &kb)
		switch name {
		case "Rss":
			resident = kb << 10
		case "Private_Clean", "Private_Dirty":
			own += kb << 10
		}
	}
	return resident, own
}

// Handlers are the names of those that a process has.
func Handlers(n *config.Node) ([]string, error) {
	if n.BIRD != nil {
		return birdHandlers(n)
	}
	a, err := attach.Ask(n.Socket, attach.Request{})
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return nil, fmt.Errorf("%s: no process answers at %s: %w; start it with BLOODHOUND_LIVE_SOCKET=%s", n.Name, n.Socket, dial.Err, n.Socket)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", n.Name, n.Socket, err)
	}
	return a.Handlers, nil
}
