// Package controlled gives runs to the controlled TLC of ModelFuzz (Model-guided Fuzzing of Distributed Systems, OOPSLA 2025),
// which reports the states that they go through, and compares them with those of package tla.
package controlled

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/tla"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Event is what a system did, as it is reported to the controlled TLC of ModelFuzz (Model-guided Fuzzing of Distributed Systems,
// OOPSLA 2025). What it stands for is known to the server, which maps it to an action of its specification; it passes over events
// that it does not know.
type Event struct {
	Name   string
	Params map[string]any
	Reset  bool // ends the run
}

// ServerState is a state that the server was in.
type ServerState struct {
	Text string // as TLC writes it; empty if the server abstracts states
	Key  int64  // the fingerprint
}

// Server is a controlled TLC that listens.
type Server struct {
	URL string // such as http://localhost:2023
	// Client asks it; nil: one with a time limit of a minute.
	Client *http.Client
}

const (
	patience      = time.Minute
	mostStateByte = 256 << 20
)

// Execute has the server step its specification by the events of one run. It gives the states that the run goes through, from the
// initial one on. The server reports a state once in which actions that are not enabled leave it, and leaves out the last state
// of a run if its last action was not enabled.
func (s *Server) Execute(ctx context.Context, events []Event) ([]ServerState, error) {
	body, err := json.Marshal(append(events[:len(events):len(events)], Event{Reset: true}))
	if err != nil {
		return nil, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(s.URL, "/")+"/execute", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	client := s.Client
	if client == nil {
		client = &http.Client{Timeout: patience}
	}
	r, err := client.Do(q)
	if err != nil {
		return nil, fmt.Errorf("the controlled TLC does not answer: %w; start it with its specification, or give its address", err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, mostStateByte+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer of the controlled TLC breaks off: %w", err)
	case len(text) > mostStateByte:
		return nil, fmt.Errorf("the answer of the controlled TLC has more than %d MB", mostStateByte>>20)
	case r.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the controlled TLC refuses the run: %s: %s", r.Status, strings.TrimSpace(string(text)))
	}
	var answer struct {
		States []string
		Keys   []int64
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("the answer of %s is not one of a controlled TLC: %w", s.URL, err)
	}
	if len(answer.Keys) == 0 || len(answer.States) > 0 && len(answer.States) != len(answer.Keys) {
		return nil, fmt.Errorf("the answer of %s is not one of a controlled TLC: it has %d states and %d keys", s.URL, len(answer.States), len(answer.Keys))
	}
	list := make([]ServerState, len(answer.Keys))
	for i, key := range answer.Keys {
		list[i].Key = key
		if len(answer.States) > 0 {
			list[i].Text = answer.States[i]
		}
	}
	return list, nil
}

// Features are the states as what a run reached, for a search that they guide. Each occurs once.
func Features(states []ServerState) (list []coverage.Feature) {
	met := map[int64]bool{}
	for _, s := range states {
		if !met[s.Key] {
			met[s.Key] = true
			list = append(list, coverage.New(coverage.ModelState, fmt.Sprintf("tlc %016x", uint64(s.Key))))
		}
	}
	return list
}

// Told is a step of a run, as it is reported to the server and to package tla.
type Told struct {
	Event  Event
	Action string // of the specification; empty if the server does not know the event
	Args   []value.Value
}

// Differential is a run that a server and a specification of package tla were both stepped through.
type Differential struct {
	States int // that both went through, a state in which the run stays counted once
	Ours   int // of them are distinct, here
	Theirs int // and there, by their keys
	// First is the number of the first state that is not the same, from 0 on for the initial one; -1 if all are the same.
	First int
	// Why says what is different.
	Why string
}

// Differential gives a server the events of a run, and steps a specification by its actions, which should be those that the server takes the events for. Both
// begin in the only initial state, and stay where they are at an action that is not enabled. The error is that they cannot be compared.
func (s *Server) Differential(ctx context.Context, spec *tla.Spec, run []Told) (*Differential, error) {
	var events []Event
	for _, t := range run {
		events = append(events, t.Event)
	}
	theirs, err := s.Execute(ctx, events)
	if err != nil {
		return nil, err
	}
	ours, stays, err := stepped(spec, run)
	if err != nil {
		return nil, err
	}
	theirs = slices.CompactFunc(theirs, func(a, b ServerState) bool { return a.Key == b.Key })
	if stays && len(theirs) == len(ours)-1 {
		ours = ours[:len(theirs)]
	}
	d := &Differential{First: -1, States: min(len(ours), len(theirs))}
	here, there := map[uint64]bool{}, map[int64]bool{}
	for i := range d.States {
		here[value.Hash(ours[i])], there[theirs[i].Key] = true, true
		if theirs[i].Text == "" || d.First >= 0 {
			continue
		}
		state, err := spec.ReadState(theirs[i].Text)
		if err != nil {
			return nil, fmt.Errorf("state %d of the controlled TLC cannot be read: %w", i, err)
		}
		if value.Hash(state) != value.Hash(ours[i]) {
			d.First = i
			d.Why = fmt.Sprintf("state %d of the controlled TLC is\n%s\nand here it is\n%s", i, theirs[i].Text, spec.Text(tla.Step{State: ours[i]}))
		}
	}
	d.Ours, d.Theirs = len(here), len(there)
	switch {
	case d.First >= 0:
	case len(ours) != len(theirs):
		d.First, d.Why = d.States, fmt.Sprintf("the controlled TLC has %d states, and here there are %d: it takes other events for steps",
			len(theirs), len(ours))
	case d.Ours != d.Theirs:
		d.First, d.Why = d.States, fmt.Sprintf("the controlled TLC tells %d states apart, and here there are %d", d.Theirs, d.Ours)
	}
	return d, nil
}

// stepped are the states that the actions of a run lead through; stays reports whether the last one left the state as it was.
func stepped(spec *tla.Spec, run []Told) (states []tla.State, stays bool, err error) {
	ev := eval.NewEvaluator(spec)
	var found []tla.State
	keep := func(s tla.State) error {
		if !slices.ContainsFunc(found, func(o tla.State) bool { return value.Hash(o) == value.Hash(s) }) {
			found = append(found, slices.Clone(s))
		}
		return nil
	}
	if err := ev.Initial(keep); err != nil {
		return nil, false, err
	}
	if len(found) != 1 {
		return nil, false, fmt.Errorf("the specification has %d initial states: the controlled TLC draws one of them", len(found))
	}
	states = found[:1:1]
	actions := map[string]*eval.Operator{}
	for i, t := range run {
		if t.Action == "" {
			continue
		}
		action := actions[t.Action]
		if action == nil {
			if action, err = eval.ActionOf(spec, t.Action); err != nil {
				return nil, false, err
			}
			actions[t.Action] = action
		}
		last := states[len(states)-1]
		found = nil
		if err := ev.Step(last, action, t.Args, nil, keep); err != nil {
			return nil, false, err
		}
		if len(found) > 1 {
			return nil, false, fmt.Errorf("step %d, %s, leads to %d states: the controlled TLC takes the first of them", i+1, t.Action, len(found))
		}
		if stays = len(found) == 0 || value.Hash(found[0]) == value.Hash(last); !stays {
			states = append(states, found[0])
		}
	}
	return states, stays, nil
}
