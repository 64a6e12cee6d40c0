//go:build linux && amd64

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/config"
	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/engine/native"
	"github.com/bloodhound-dst/bloodhound/tape"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// repeats is how often the short measurements are made; the best counts, since all that disturbs makes them slower.
const repeats = 3

func run() error {
	dir, err := os.MkdirTemp("", "bloodhound-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{program: filepath.Join(dir, "bloodhound"), dir: dir, loop: filepath.Join(dir, "loop")}
	for program, source := range map[string]string{b.program: "./cmd/bloodhound", b.loop: "./bench/worlds/loop"} {
		if out, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s (run it from the root of the project): %w\n%s", source, err, out)
		}
	}
	fmt.Printf("machine: %s, %d CPUs, kernel %s, load average %s\n\n", cpuModel(), runtime.NumCPU(), word("/proc/sys/kernel/osrelease"), word("/proc/loadavg"))
	for _, measure := range []func() error{b.calls, b.clocks, b.quickstart, b.etcd, b.loaded} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

type bench struct {
	program, loop, dir string
}

// calls compares a loop of the cheapest system call inside a world and outside.
func (b *bench) calls() error {
	const inside, outside = 300_000, 30_000_000
	return b.compare("intercepted system calls (getppid)", "call", inside, outside)
}

func (b *bench) clocks() error {
	const inside, outside = 30_000_000, 30_000_000
	return b.compare("clock reads (own vDSO)", "clock", inside, outside)
}

func (b *bench) compare(what, mode string, inside, outside int) error {
	in, err := best(func() (time.Duration, error) { return b.inside(mode, inside) }, func() (time.Duration, error) { return b.inside(mode, 0) }, inside)
	if err != nil {
		return err
	}
	out, err := best(func() (time.Duration, error) { return b.outside(mode, outside) }, func() (time.Duration, error) { return b.outside(mode, 0) }, outside)
	if err != nil {
		return err
	}
	fmt.Printf("%-46s %12.0f /s  (%.0f ns each; outside %.0f ns; ratio %.1f)\n", what, 1e9/in, in, out, in/out)
	return nil
}

// best measures count operations, less what the same program costs without them, and gives ns for one.
func best(full, none func() (time.Duration, error), count int) (float64, error) {
	var least [2]time.Duration
	for range repeats {
		for i, f := range []func() (time.Duration, error){full, none} {
			d, err := f()
			if err != nil {
				return 0, err
			}
			if least[i] == 0 || d < least[i] {
				least[i] = d
			}
		}
	}
	return float64(least[0]-least[1]) / float64(count), nil
}

func (b *bench) inside(mode string, count int) (time.Duration, error) {
	path := filepath.Join(b.dir, "bloodhound.yaml")
	text := fmt.Sprintf("nodes: {n1: {command: %s %s %d}}\nsimulation: {max_time: 1h}\n", b.loop, mode, count)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return 0, err
	}
	w, err := b.boot(path, nil)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	start := time.Now()
	_, err = w.Advance(engine.Until{})
	return time.Since(start), err
}

func (b *bench) outside(mode string, count int) (time.Duration, error) {
	start := time.Now()
	err := exec.Command(b.loop, mode, fmt.Sprint(count)).Run()
	return time.Since(start), err
}

func (b *bench) boot(path string, log func(engine.LogLine)) (engine.World, error) {
	r, err := config.Load(config.Options{Path: path})
	if err != nil {
		return nil, err
	}
	return native.New().Boot(r.Spec, tape.Tape{Seed: 1}, engine.Options{Dir: b.dir, Self: b.program, Log: log})
}

// quickstart runs tapes of the repaired store, one world at a time.
func (b *bench) quickstart() error {
	const runs = 20
	var doc struct {
		Campaign struct {
			Runs, Events uint64
			Virtual      int64 `json:"virtual_ns"`
			Wall         int64 `json:"wall_ns"`
		}
	}
	if err := b.call(&doc, "explore", "examples/quickstart/fixed.yaml", "--workers", "1", "--seeds", fmt.Sprint(runs)); err != nil {
		return err
	}
	c := doc.Campaign
	wall := float64(c.Wall) / 1e9
	fmt.Printf("%-46s %12.2f /s  (%d runs, %.0f events/s, %.1f times as fast as real time)\n", "runs of the quickstart (fixed.yaml, one worker)",
		float64(c.Runs)/wall, c.Runs, float64(c.Events)/wall, float64(c.Virtual)/float64(c.Wall))
	return nil
}

// etcd boots three nodes, waits for a leader, and then lets a virtual minute pass.
func (b *bench) etcd() error {
	if _, err := exec.LookPath("etcd"); err != nil {
		fmt.Println("etcd x3: skipped, no etcd on this machine (Debian: etcd-server)")
		return nil
	}
	const idleNs = 60e9
	elected := false
	start := time.Now()
	w, err := b.boot("bench/worlds/etcd.yaml", func(l engine.LogLine) { elected = elected || strings.Contains(l.Text, "elected leader") })
	if err != nil {
		return err
	}
	defer w.Close()
	at := int64(0)
	for !elected {
		at += 10e6
		if reason, err := w.Advance(engine.Until{TimeNs: at}); err != nil || reason != engine.ReachedUntil {
			return fmt.Errorf("etcd: no leader after %d ms: %s %w", at/1e6, reason, err)
		}
	}
	boot, events := time.Since(start), w.Outcome().Events
	fmt.Printf("%-46s %12.2f s   (%.2f s of virtual time, %d events)\n", "etcd x3 from boot to an elected leader", boot.Seconds(), float64(at)/1e9, events)
	start = time.Now()
	if _, err := w.Advance(engine.Until{TimeNs: at + idleNs}); err != nil {
		return err
	}
	idle := time.Since(start)
	fmt.Printf("%-46s %12.2f s   (%d events, %.1f times as fast as real time)\n", "60 idle virtual seconds of it", idle.Seconds(),
		w.Outcome().Events-events, idleNs/1e9/idle.Seconds())
	return nil
}

// loaded runs five virtual minutes of a cluster with a client and faults.
func (b *bench) loaded() error {
	var doc struct {
		Run struct {
			Events     uint64
			Virtual    int64 `json:"virtual_ns"`
			Wall       int64 `json:"wall_ns"`
			Operations struct{ Invoked, OK, Fail, Info uint64 }
		}
	}
	if err := b.call(&doc, "run", "bench/worlds/loaded.yaml", "--seed", "1"); err != nil {
		return err
	}
	r := doc.Run
	fmt.Printf("%-46s %12.2f s   (%.0f s of virtual time, %d events, %d operations, %.1f times as fast as real time)\n", "five minutes at 100 operations/s, moderate faults",
		float64(r.Wall)/1e9, float64(r.Virtual)/1e9, r.Events, r.Operations.Invoked, float64(r.Virtual)/float64(r.Wall))
	return nil
}

// call runs the program and decodes its document. What properties say is not judged here.
func (b *bench) call(document any, args ...string) error {
	c := exec.Command(b.program, append(args, "--json")...)
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

func word(path string) string {
	b, _ := os.ReadFile(path)
	if f := strings.Fields(string(b)); len(f) > 0 {
		return f[0]
	}
	return "unknown"
}

func cpuModel() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, "\t :\n")
		}
	}
	return runtime.GOARCH
}
