//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/config"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// repeats is how often the short measurements are made; the best counts, since all that disturbs makes them slower.
const repeats = 3

// calls compares loops of the cheapest system call and of clock reads inside a world and outside.
func (b *bench) calls() ([]row, error) {
	const callsInside, callsOutside, clocks = 300_000, 30_000_000, 30_000_000
	in, out, err := b.compare("call", callsInside, callsOutside)
	if err != nil {
		return nil, err
	}
	clockIn, clockOut, err := b.compare("clock", clocks, clocks)
	if err != nil {
		return nil, err
	}
	return []row{
		{"intercepted system calls", fmt.Sprintf("%.0f /s", 1e9/in), "100,000 /s",
			fmt.Sprintf("getppid: %.1f us each; outside %.2f us", in/1e3, out/1e3)},
		{"clock reads", fmt.Sprintf("%.0f ns", clockIn), "20 ns", fmt.Sprintf("by our own vDSO; outside %.0f ns", clockOut)},
	}, nil
}

// compare gives the ns of one operation of the loop inside a world and outside.
func (b *bench) compare(mode string, inside, outside int) (in, out float64, err error) {
	in, err = best(func() (time.Duration, error) { return b.inside(mode, inside) }, func() (time.Duration, error) { return b.inside(mode, 0) }, inside)
	if err != nil {
		return 0, 0, err
	}
	out, err = best(func() (time.Duration, error) { return b.outside(mode, outside) }, func() (time.Duration, error) { return b.outside(mode, 0) }, outside)
	return in, out, err
}

// best measures count operations, less what the same program costs without them, and gives ns for one.
func best(full, none func() (time.Duration, error), count int) (float64, error) {
	a, err := least(full)
	if err != nil {
		return 0, err
	}
	n, err := least(none)
	return float64(a-n) / float64(count), err
}

// least measures something a few times.
func least(f func() (time.Duration, error)) (time.Duration, error) {
	var best time.Duration
	for range repeats {
		d, err := f()
		if err != nil {
			return 0, err
		}
		if best == 0 || d < best {
			best = d
		}
	}
	return best, nil
}

func (b *bench) inside(mode string, count int) (time.Duration, error) {
	return b.alone(fmt.Sprintf("%s %s %d", b.loop, mode, count))
}

func (b *bench) outside(mode string, count int) (time.Duration, error) {
	start := time.Now()
	err := exec.Command(b.loop, mode, fmt.Sprint(count)).Run()
	return time.Since(start), err
}

// alone runs a command as the only node of a world, and gives the time without that of booting it.
func (b *bench) alone(command string) (time.Duration, error) {
	path := filepath.Join(b.dir, "bloodhound.yaml")
	text := fmt.Sprintf("nodes: {n1: {command: %q}}\nsimulation: {max_time: 1h}\n", command)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return 0, err
	}
	_, w, err := b.boot(path, engine.Options{})
	if err != nil {
		return 0, err
	}
	defer w.Close()
	start := time.Now()
	_, err = w.Advance(engine.Until{})
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	if crashes := w.Outcome().Crashes; len(crashes) > 0 {
		return 0, fmt.Errorf("%s ended with exit code %d in its world: %v", command, crashes[0].ExitCode, crashes[0].Lines)
	}
	return took, nil
}

func (b *bench) boot(path string, o engine.Options) (*world.Spec, engine.World, error) {
	r, err := config.Load(config.Options{Path: path})
	if err != nil {
		return nil, nil, err
	}
	o.Dir, o.Driver = b.dir, b.program
	w, err := native.New().Boot(r.Spec, tape.Tape{Seed: 1}, o)
	return r.Spec, w, err
}

// against compares whole programs inside a world and outside, from start to end.
func (b *bench) against() ([]row, error) {
	var rows []row
	for _, p := range []struct {
		what   string
		script string
		needs  []string
	}{
		{"`xz` of 16 MB", `head -c 16000000 /dev/zero | xz -9 -T1 >/dev/null`, []string{"xz"}},
		{"python3 sorting a million numbers",
			`python3 -c 'import random; random.seed(1); sorted(random.random() for _ in range(1000000))'`, []string{"python3"}},
		{"sqlite3, 300 commits", `d=$(mktemp -d); { echo 'create table t(a);'; for i in $(seq 300); do echo "insert into t values($i);"; done; } | sqlite3 $d/db; rm -r $d`, []string{"sqlite3"}},
		{"redis-server under redis-benchmark, 20,000 requests",
			`redis-server --port 17371 --save "" >/dev/null & until redis-cli -p 17371 ping >/dev/null 2>&1; do sleep 0.01; done; redis-benchmark -p 17371 -c 20 -n 10000 -t set,get -q >/dev/null; kill $!; wait`, []string{"redis-server", "redis-benchmark"}},
	} {
		if err := installed(p.needs...); err != nil {
			rows = append(rows, row{what: p.what, measured: "skipped", detail: err.Error()})
			continue
		}
		script := filepath.Join(b.dir, "against.sh")
		if err := os.WriteFile(script, []byte(p.script), 0o644); err != nil {
			return nil, err
		}
		in, err := least(func() (time.Duration, error) { return b.alone("sh " + script) })
		if err != nil {
			return nil, err
		}
		out, err := least(func() (time.Duration, error) {
			start := time.Now()
			err := exec.Command("sh", script).Run()
			return time.Since(start), err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{what: p.what, measured: fmt.Sprintf("%.1f x", float64(in)/float64(out)),
			detail: fmt.Sprintf("wall time inside %.2f s over outside %.2f s", in.Seconds(), out.Seconds())})
	}
	return rows, nil
}
