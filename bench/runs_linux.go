//go:build linux && amd64

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
)

// quickstart runs tapes of the repaired store, one world at a time: of a world without faults, and of the example's.
func (b *bench) quickstart() ([]row, error) {
	least, err := b.campaign("worlds/hundred.yaml", "quickstart: three nodes, a driver, 100 operations, nothing else")
	if err != nil {
		return nil, err
	}
	whole, err := b.campaign("../examples/quickstart/fixed.yaml", "the same with faults, probes and 2.5 s to settle (`examples/quickstart/fixed.yaml`)")
	return []row{least, whole}, err
}

func (b *bench) campaign(path, what string) (row, error) {
	const runs = 20
	var doc struct {
		Campaign struct {
			Runs, Events uint64
			Virtual      int64 `json:"virtual_ns"`
			Wall         int64 `json:"wall_ns"`
		}
	}
	if err := b.call(&doc, "explore", path, "--workers", "1", "--seeds", fmt.Sprint(runs)); err != nil {
		return row{}, err
	}
	c := doc.Campaign
	wall := float64(c.Wall) / 1e9
	return row{what, fmt.Sprintf("%.1f runs/s", float64(c.Runs)/wall), "25 runs/s",
		fmt.Sprintf("%d events a run, %.0f /s; %.0f times as fast as real time", c.Events/c.Runs, float64(c.Events)/wall,
			float64(c.Virtual)/float64(c.Wall))}, nil
}

// failover boots redis-failover and lets 8 virtual seconds pass.
func (b *bench) failover() ([]row, error) {
	if err := installed("redis-server", "redis-sentinel"); err != nil {
		return nil, err
	}
	p, err := b.pass("../examples/redis-failover/bloodhound.yaml", engine.Until{TimeNs: 8e9})
	if err != nil {
		return nil, err
	}
	return []row{{"redis-failover: three servers, three sentinels, 8 virtual seconds",
		fmt.Sprintf("%.1f runs/s", 1/p.wall.Seconds()), "10 runs/s", p.detail()}}, nil
}

// etcd boots three nodes and waits for a leader; then a client asks for a virtual minute.
func (b *bench) etcd() ([]row, error) {
	if err := installed("etcd"); err != nil {
		return nil, err
	}
	leader, err := b.leader()
	if err != nil {
		return nil, err
	}
	boot, err := b.pass("worlds/etcd.yaml", leader)
	if err != nil {
		return nil, err
	}
	load, err := b.pass("worlds/etcd-loaded.yaml", engine.Until{TimeNs: leader.TimeNs + 60e9})
	if err != nil {
		return nil, err
	}
	return []row{
		{"etcd x3, from boot to an elected leader", fmt.Sprintf("%.1f runs/s", 1/boot.wall.Seconds()), "4 runs/s", boot.detail()},
		{"etcd x3, boot and 60 virtual seconds of 20 operations/s", fmt.Sprintf("%.2f runs/s", 1/load.wall.Seconds()), "", load.detail()},
		{"system calls and clock reads of it", fmt.Sprintf("%.0f /s", float64(load.events+load.clocks)/load.wall.Seconds()), "300,000 /s",
			fmt.Sprintf("%d calls, %d clock reads", load.events, load.clocks)},
	}, nil
}

// idle lets a virtual minute of three nodes of etcd pass that have a leader.
func (b *bench) idle() ([]row, error) {
	if err := installed("etcd"); err != nil {
		return nil, err
	}
	leader, err := b.leader()
	if err != nil {
		return nil, err
	}
	_, w, err := b.boot("worlds/etcd.yaml", engine.Options{})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if _, err := w.Advance(leader); err != nil {
		return nil, err
	}
	const idleNs = 60e9
	before := w.Outcome().Events
	start := time.Now()
	if _, err := w.Advance(engine.Until{TimeNs: leader.TimeNs + idleNs}); err != nil {
		return nil, err
	}
	took := time.Since(start)
	return []row{{"an idle cluster of three (etcd)", fmt.Sprintf("%.0f x real time", idleNs/1e9/took.Seconds()), "35 x",
		fmt.Sprintf("a virtual minute in %.2f s, %d events", took.Seconds(), w.Outcome().Events-before)}}, nil
}

// leader finds the virtual time at which the nodes of etcd.yaml have a leader.
func (b *bench) leader() (engine.Until, error) {
	const stepNs = 10e6
	elected := false
	_, w, err := b.boot("worlds/etcd.yaml",
		engine.Options{Log: func(l record.LogLine) { elected = elected || strings.Contains(l.Text, "elected leader") }})
	if err != nil {
		return engine.Until{}, err
	}
	defer w.Close()
	var at engine.Until
	for !elected {
		at.TimeNs += stepNs
		if reason, err := w.Advance(at); err != nil || reason != record.ReachedUntil {
			return at, fmt.Errorf("no leader after %d ms: %s %w", at.TimeNs/1e6, reason, err)
		}
	}
	return at, nil
}

// passed is a part of a run, from its boot on.
type passed struct {
	wall           time.Duration
	virtualNs      int64
	events, clocks uint64
}

func (p *passed) detail() string {
	return fmt.Sprintf("%d events in %.2f s of %.1f virtual seconds; %.0f times as fast as real time",
		p.events, p.wall.Seconds(), float64(p.virtualNs)/1e9, float64(p.virtualNs)/float64(p.wall.Nanoseconds()))
}

// pass boots a world, runs it so far and closes it, a few times. What it counts is the same each time.
func (b *bench) pass(path string, until engine.Until) (*passed, error) {
	var p passed
	once := func(o engine.Options) (time.Duration, error) {
		start := time.Now()
		_, w, err := b.boot(path, o)
		if err != nil {
			return 0, err
		}
		defer w.Close()
		if _, err := w.Advance(until); err != nil {
			return 0, err
		}
		p.events, p.virtualNs = w.Outcome().Events, w.Outcome().VirtualNs
		err = w.Close()
		return time.Since(start), err
	}
	if _, err := once(engine.Options{Observe: func(e *record.Event) { p.clocks += e.Clocks }}); err != nil {
		return nil, err
	}
	var err error
	p.wall, err = least(func() (time.Duration, error) { return once(engine.Options{}) })
	return &p, err
}

// loaded runs five virtual minutes of a cluster with a client and faults.
func (b *bench) loaded() ([]row, error) {
	r, err := b.run("worlds/loaded.yaml")
	if err != nil {
		return nil, err
	}
	return []row{{"five minutes of the quickstart's store at 100 operations/s, moderate faults", fmt.Sprintf("%.0f s", float64(r.Wall)/1e9), "30 s",
		fmt.Sprintf("%.0f s of virtual time, %d events, %d operations, %.1f times as fast as real time", float64(r.Virtual)/1e9,
			r.Events, r.Operations.Invoked, float64(r.Virtual)/float64(r.Wall))}}, nil
}

// summary is what is read of the document of a run.
type summary struct {
	Events     uint64
	Virtual    int64 `json:"virtual_ns"`
	Wall       int64 `json:"wall_ns"`
	Operations struct{ Invoked uint64 }
}

func (b *bench) run(path string) (*summary, error) {
	var doc struct{ Run summary }
	return &doc.Run, b.call(&doc, "run", path, "--seed", "1")
}

// call runs the program and decodes its document. What properties say is not judged here.
func (b *bench) call(document any, args ...string) error {
	return decode(exec.Command(b.program, append(args, "--json")...), document)
}

func decode(c *exec.Cmd, document any) error {
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == 1 || exit.ExitCode() == 5) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
	}
	return json.Unmarshal(out, document)
}
