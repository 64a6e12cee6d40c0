package inproc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// ErrFailed says that an operation certainly did nothing. An operation whose error wraps it is recorded as failed.
// After any other error it is unknown whether the operation took effect or still will.
var ErrFailed = errors.New("the operation has done nothing")

// ErrSkipped is the error of an operation that a shrunk run leaves out.
var ErrSkipped = errors.New("left out")

// ErrNotFound is the error of an operation that succeeded and found no value.
var ErrNotFound = errors.New("not found")

// Operation performs one operation of a client and records its invocation and its return in the history. A process has
// one operation in flight at a time. If the result of an operation is unknown, the client's further operations are
// recorded under another name, since the operation may still be in flight. A shrunk run may leave operations out, and
// then do is not called.
func (p *Process) Operation(op Op, do func() (output string, err error)) (string, error) {
	p = p.own(callOperation)
	r := p.run
	if op.Kind == "" {
		panic(fmt.Sprintf("inproc: an operation of %s has no Kind; name it, such as put or transfer", p.thread))
	}
	if p.operating != "" {
		panic(fmt.Sprintf("inproc: the operation %s of %s begins before its operation %s has ended; a process has one operation at a time: "+
			"end it first, or Spawn a process for the other", op.Kind, p.thread, p.operating))
	}
	turn := p.turns
	p.turns++
	client := strings.ReplaceAll(p.thread, ".", "-") // a dot is what retired names have
	if w := r.workload(p.name); w != nil && w.Skips(client, turn) {
		return "", ErrSkipped
	}
	if p.retired > 0 {
		client += "." + strconv.Itoa(p.retired)
	}
	e := history.Event{Client: client, Type: history.Invoke, Op: op.Kind, Key: op.Key, Input: op.Input, Expect: op.Expect, Node: op.Node}
	r.director.Operations++
	e.Number = r.event(callOperation, p.Node, p, int64(turn), 0, hashText(op.Kind)^hashText(op.Key)*3^hashText(op.Input)*5, op.Kind)
	e.TimeNs = r.now
	r.out.History = append(r.out.History, e)
	p.operating = op.Kind
	defer func() { p.operating = "" }()
	output, err := do()
	r.now += r.spec.Cost.CallNs
	e.Type, e.Output = history.Ok, output
	switch {
	case err == nil:
		e.Found = history.IsRead(op.Kind)
	case errors.Is(err, ErrNotFound):
		e.Output = ""
	case errors.Is(err, ErrFailed):
		e.Type, e.Error = history.Fail, err.Error()
	default:
		e.Type, e.Error = history.Info, err.Error()
		p.retired++
	}
	e.Number = r.event(callReturn, p.Node, p, int64(turn), int64(len(e.Type)), hashText(string(e.Type))^hashText(e.Output), string(e.Type))
	e.TimeNs = r.now
	r.out.History = append(r.out.History, e)
	return output, err
}

// workload gives the one of a client, or nil.
func (r *run) workload(client string) *world.Workload {
	for i := range r.spec.Workloads {
		if r.spec.Workloads[i].Name == client {
			return &r.spec.Workloads[i]
		}
	}
	return nil
}

// log takes in a line of a node's log.
func (r *run) log(n *Node, stream, text string) {
	line := record.LogLine{Position: record.PositionAt(r.events), TimeNs: r.now, Node: n.name, Stream: stream, Text: text}
	if r.reached != nil && n.server {
		r.reach(coverage.Log, string(coverage.Template(nil, text)))
	}
	r.director.Log(line, 0)
}
