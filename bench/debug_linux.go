//go:build linux && amd64

package main

import (
	"debug/elf"
	"fmt"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/debug"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// debugBackNs is the virtual time that is gone back over, and debugSteps how many steps backward are made at each place.
const (
	debugBackNs = 10e9
	debugSteps  = 20
)

// debug measures how long a debugger waits: to go back over virtual time, and for single steps backward.
func (b *bench) debug() ([]row, error) {
	if err := installed("etcd"); err != nil {
		return nil, err
	}
	back, err := b.back("worlds/etcd-loaded.yaml")
	if err != nil {
		return nil, err
	}
	steps, err := b.stepsBack("../examples/quickstart/fixed.yaml", "main.(*Core).commitTo")
	return append(back, steps), err
}

// timeline begins a timeline of a world's run at a virtual time.
func (b *bench) timeline(path string, atNs int64) (*debug.Timeline, error) {
	o := engine.Options{Dir: b.dir, Driver: b.program}
	spec, booted, err := b.boot(path, engine.Options{})
	if err != nil {
		return nil, err
	}
	if _, err := booted.Advance(engine.Until{TimeNs: atNs}); err != nil {
		return nil, err
	}
	w, err := debug.NewWorld(booted, spec, tape.Tape{Seed: 1}, o)
	if err != nil {
		return nil, err
	}
	return debug.New(w, runner.Budget{})
}

// servers are the main threads of nodes n1, n2 and n3.
func servers(w debug.World) (list []engine.Thread, err error) {
	all, err := w.Threads()
	for _, t := range all {
		if t.PPID == 0 && t.PID == t.TID && slices.Contains([]string{"n1", "n2", "n3"}, t.Node) {
			list = append(list, t)
		}
	}
	if err == nil && len(list) != 3 {
		err = fmt.Errorf("%d servers run", len(list))
	}
	return list, err
}

// back goes back over a part of a run in which nothing stops: a breakpoint and a watchpoint in each process that are never met.
func (b *bench) back(path string) ([]row, error) {
	const begin = 10e9
	t, err := b.timeline(path, begin)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	threads, err := servers(t.World())
	if err != nil {
		return nil, err
	}
	f, err := elf.Open(threads[0].Program)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	kinds := map[string]*debug.Stops{"a breakpoint": {}, "a watchpoint": {}}
	for _, th := range threads {
		kinds["a breakpoint"].Breakpoints = append(kinds["a breakpoint"].Breakpoints, engine.Breakpoint{Node: th.Node, PID: th.PID, Address: f.Entry})
		kinds["a watchpoint"].Watchpoints = append(kinds["a watchpoint"].Watchpoints,
			engine.Watchpoint{Node: th.Node, PID: th.PID, Address: f.Entry &^ 7, Bytes: 8})
	}
	began := time.Now()
	if _, err := t.GotoUntil(engine.Until{TimeNs: begin + debugBackNs}); err != nil {
		return nil, err
	}
	forward, end := time.Since(began), t.Position()
	var rows []row
	for _, what := range []string{"a breakpoint", "a watchpoint"} {
		var took []time.Duration
		for range 5 {
			if err := t.Goto(end); err != nil {
				return nil, err
			}
			began := time.Now()
			if stop, err := t.Back(kinds[what]); err != nil || stop.Kind != debug.AtBegin {
				return nil, fmt.Errorf("back: %+v, %w", stop, err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		rows = append(rows, row{"reverse-continue over 10 virtual seconds of etcd x3 under 20 operations/s, " + what +
			" in each server", fmt.Sprintf("%.2f s", took[2].Seconds()), "2 s",
			fmt.Sprintf("that is never met; up to event %d, %d snapshots; from %.2f to %.2f s, forward the first time %.2f s",
				end.Event, len(t.Snapshots()), took[0].Seconds(), took[4].Seconds(), forward.Seconds())})
	}
	return rows, nil
}

// stepsBack goes to calls of a function, and from there step by step backward.
func (b *bench) stepsBack(path, function string) (r row, err error) {
	t, err := b.timeline(path, 1e9)
	if err != nil {
		return r, err
	}
	defer t.Close()
	s := &debug.Stops{}
	threads, err := servers(t.World())
	if err != nil {
		return r, err
	}
	address, err := addressOf(threads[0].Program, function)
	if err != nil {
		return r, err
	}
	for _, th := range threads {
		s.Breakpoints = append(s.Breakpoints, engine.Breakpoint{Node: th.Node, PID: th.PID, Address: address})
	}
	var first, next []time.Duration
	for range debugSteps {
		stop, err := t.Continue(s)
		if err != nil || stop.Kind != debug.ByBreakpoint {
			return r, fmt.Errorf("%s is never called: %+v, %w", function, stop, err)
		}
		here := t.Position()
		for n := range debugSteps {
			began := time.Now()
			if _, err := t.StepBack(stop.Thread); err != nil {
				return r, err
			}
			if took := time.Since(began); n == 0 {
				first = append(first, took)
			} else {
				next = append(next, took)
			}
		}
		if err := t.Goto(here); err != nil {
			return r, err
		}
	}
	slices.Sort(first)
	slices.Sort(next)
	return row{"a step backward in the quickstart", fmt.Sprintf("%.0f ms", ms(next[len(next)/2])), "100 ms",
		fmt.Sprintf("median of %d; nine of ten within %.0f ms; the first one from a breakpoint %.0f ms, nine of ten within %.0f ms",
			len(next), ms(next[len(next)*9/10]), ms(first[len(first)/2]), ms(first[len(first)*9/10]))}, nil
}

// addressOf is the address of a function of a program that lies where its file says.
func addressOf(program, function string) (uint64, error) {
	f, err := elf.Open(program)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == function })
	if i < 0 {
		return 0, fmt.Errorf("%s has no function %s", program, function)
	}
	return symbols[i].Value, nil
}
