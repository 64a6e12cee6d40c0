//go:build linux && amd64

package main

import (
	"fmt"
	"os/exec"
	"time"
)

// engines compares the engines that repeat runs: campaigns of one world whose runs begin at a snapshot at the end of setup.
func (b *bench) engines() ([]row, error) {
	if err := installed("qemu-system-x86_64"); err != nil {
		return nil, err
	}
	var rows []row
	var native spent
	for _, name := range []string{"native", "vm"} {
		const few, more = 2, 10
		boot, err := b.spend(name, few)
		if err != nil {
			return nil, err
		}
		all, err := b.spend(name, more)
		if err != nil {
			return nil, err
		}
		run := spent{(all.wall - boot.wall) / (more - few), (all.cpu - boot.cpu) / (more - few)}
		r := row{what: fmt.Sprintf("the quickstart by the engine %s, from snapshots", name), measured: fmt.Sprintf("%.2f runs/s", 1/run.wall.Seconds()),
			detail: fmt.Sprintf("%.2f s of CPU a run; the campaign's first %d runs, with its boot: %.1f s of CPU", run.cpu.Seconds(), few, boot.cpu.Seconds())}
		if name == "native" {
			native = run
		} else {
			r.detail += fmt.Sprintf("; %.0f times the CPU time of native", run.cpu.Seconds()/native.cpu.Seconds())
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// spent is what a campaign takes.
type spent struct{ wall, cpu time.Duration }

func (b *bench) spend(engine string, runs int) (spent, error) {
	c := exec.Command(b.program, "explore", "../examples/quickstart/fixed.yaml", "--engine", engine, "--workers", "1", "--seeds", fmt.Sprint(runs), "--json")
	var document struct{}
	began := time.Now()
	err := decode(c, &document)
	wall := time.Since(began)
	if err != nil {
		return spent{}, err
	}
	return spent{wall, c.ProcessState.UserTime() + c.ProcessState.SystemTime()}, nil
}
