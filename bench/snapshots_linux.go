//go:build linux && amd64

package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// snapshotRuns is how many runs are made from boot, and from each snapshot.
const snapshotRuns = 7

// snapshots measures for the three standard worlds what one event costs, what of it is the switch between program and engine, and how many runs a
// second begin at their boot and at snapshots of several depths.
func (b *bench) snapshots() ([]row, error) {
	switchNs, _, err := b.compare("call", 300_000, 1)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, world := range []struct{ name, path, program, aim string }{
		{"quickstart, fixed", "../examples/quickstart/fixed.yaml", "go", "15 runs/s, 3 x"},
		{"redis-failover", "../examples/redis-failover/bloodhound.yaml", "redis-server", "3 x"},
		{"etcd x3 under 20 operations/s", "worlds/etcd-loaded.yaml", "etcd", "3 x"},
	} {
		if _, err := exec.LookPath(world.program); err != nil {
			continue
		}
		r, err := b.depths(world.path, switchNs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", world.path, err)
		}
		r[0].what, r[1].what, r[1].aim = "an event of "+world.name, "runs that begin at snapshots of "+world.name, world.aim
		whole, err := b.shares(world.path)
		if err != nil {
			return nil, err
		}
		whole.what = "a campaign of random tapes of " + world.name
		rows = append(rows, append(r, whole)...)
	}
	return rows, nil
}

// shareRuns is how many runs the two campaigns have that are compared.
const shareRuns = 30

// shares makes campaigns of the default strategy, with one worker, with snapshots and from boot.
func (b *bench) shares(path string) (row, error) {
	type campaign struct {
		Runs, Violated uint64
		Wall           int64 `json:"wall_ns"`
		Snapshots      struct{ Ready, Later uint64 }
	}
	var made [2]campaign
	var msARun [2]float64
	for k, flags := range [][]string{nil, {"--from-boot"}} {
		var doc struct{ Campaign campaign }
		c := exec.Command(b.program, slices.Concat([]string{"explore", path, "--workers", "1", "--seeds", strconv.Itoa(shareRuns),
			"--keep-going", "--no-shrink", "--seed", "1", "--json"}, flags)...)
		if err := decode(c, &doc); err != nil {
			return row{}, err
		}
		made[k], msARun[k] = doc.Campaign, ms(c.ProcessState.UserTime()+c.ProcessState.SystemTime())/float64(doc.Campaign.Runs)
	}
	rate := func(c campaign) float64 { return float64(c.Runs) / (float64(c.Wall) / 1e9) }
	with, boot := made[0], made[1]
	return row{measured: fmt.Sprintf("%.2f x", msARun[1]/msARun[0]), aim: "3 x", detail: fmt.Sprintf(
		"CPU time of a run from boot over that with snapshots, each with its part of the baseline run and of replays: %.0f over "+
			"%.0f ms; %.1f and %.1f runs/s; with snapshots %d of %d runs began at the end of setup, and %d behind it; %d and %d "+
			"runs failed, and were replayed from boot",
		msARun[1], msARun[0], rate(boot), rate(with), with.Snapshots.Ready, with.Runs, with.Snapshots.Later, boot.Violated, with.Violated)}, nil
}

// depths makes runs of a world from its boot, and from copies of it at the end of setup, half way, and at three and nine tenths of the way that are left.
func (b *bench) depths(path string, switchNs float64) ([]row, error) {
	spec, w, err := b.boot(path, engine.Options{})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if _, err := w.Advance(engine.Until{Ready: true}); err != nil {
		return nil, err
	}
	_, readyNs := w.Moment()
	o := engine.Options{Dir: b.dir, Driver: b.program}
	var events uint64
	var endNs int64
	boots, err := several(func(uint64) error {
		_, again, err := b.boot(path, engine.Options{})
		if err != nil {
			return err
		}
		defer again.Close()
		_, err = again.Advance(engine.Until{})
		events, endNs = again.Moment()
		return err
	})
	if err != nil {
		return nil, err
	}
	text := ""
	best := 0.0
	for _, depth := range []struct {
		name  string
		share float64
	}{{"the end of setup", 0}, {"half of the rest", 0.5}, {"three quarters", 0.75}, {"nine tenths", 0.9}} {
		if depth.share > 0 {
			if _, err := w.Advance(engine.Until{TimeNs: readyNs + int64(depth.share*float64(endNs-readyNs))}); err != nil {
				return nil, err
			}
		}
		_, now := w.Moment()
		took, err := several(func(seed uint64) error {
			c, err := w.Fork(spec, tape.Tape{Seed: 1}.Behind(now+1, seed), o)
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = c.Advance(engine.Until{})
			return err
		})
		if err != nil {
			return nil, err
		}
		times := boots.Seconds() / took.Seconds()
		text += fmt.Sprintf("; from %s %.1f /s, %.1f x", depth.name, 1/took.Seconds(), times)
		if depth.share == 0 {
			best = times
			text += fmt.Sprintf(" (it saves %.0f of %.0f ms)", ms(boots-took), ms(boots))
		}
	}
	each := float64(boots.Nanoseconds()) / float64(events)
	return []row{
		{"", fmt.Sprintf("%.1f us", each/1e3), "",
			fmt.Sprintf("%d events in %.0f ms, with the starts of programs; the switch to the engine and back is %.1f us of it, %.0f %%",
				events, ms(boots), switchNs/1e3, 100*switchNs/each)},
		{"", fmt.Sprintf("%.1f x", best), "", fmt.Sprintf("one core; from boot %.1f /s%s", 1/boots.Seconds(), text)},
	}, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// several measures something a few times, with seeds from 1 on, and gives the median.
func several(f func(seed uint64) error) (time.Duration, error) {
	var took []time.Duration
	for seed := range uint64(snapshotRuns) {
		began := time.Now()
		if err := f(seed + 1); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
