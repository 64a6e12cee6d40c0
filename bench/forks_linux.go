//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
)

// forkTimes is how many copies are made of a world.
const forkTimes = 21

// forks copies worlds under load: how long that takes, and what a copy has of its own.
func (b *bench) forks() ([]row, error) {
	if err := installed("etcd"); err != nil {
		return nil, err
	}
	var rows []row
	for _, f := range []struct {
		name, path string
		until      engine.Until
		aim        string
	}{
		{"etcd x3 under 20 operations/s", "worlds/etcd-loaded.yaml", engine.Until{TimeNs: 20e9}, "30 ms, 10 MB"},
		{"quickstart", "../examples/quickstart/fixed.yaml", engine.Until{TimeNs: 2e9}, ""},
	} {
		r, err := b.fork(f.path, f.until)
		if err != nil {
			return nil, err
		}
		r.what, r.aim = "a copy of a running world: "+f.name, f.aim
		rows = append(rows, r)
	}
	return rows, nil
}

func (b *bench) fork(path string, until engine.Until) (r row, err error) {
	spec, w, err := b.boot(path, engine.Options{})
	if err != nil {
		return r, err
	}
	defer w.Close()
	if _, err := w.Advance(until); err != nil {
		return r, err
	}
	original := children(os.Getpid())
	var took []time.Duration
	var own []uint64
	for range forkTimes {
		before := machineWide()
		began := time.Now()
		c, err := w.Fork(spec, tape.Tape{Seed: 1}, engine.Options{Dir: b.dir, Driver: b.program})
		if err != nil {
			return r, err
		}
		took = append(took, time.Since(began))
		own = append(own, private(original)+max(machineWide(), before)-before)
		c.Close()
	}
	slices.Sort(took)
	slices.Sort(own)
	mb := func(v uint64) float64 { return float64(v) / (1 << 20) }
	r.measured = fmt.Sprintf("%.0f ms, %.1f MB", ms(took[forkTimes/2]), mb(own[forkTimes/2]))
	r.detail = fmt.Sprintf("medians of %d copies, from %.0f to %.0f ms and %.1f to %.1f MB of memory that only the copy has, with "+
		"page tables and stacks of the kernel; %d processes", forkTimes, ms(took[0]), ms(took[forkTimes-1]),
		mb(own[0]), mb(own[forkTimes-1]), len(original))
	return r, nil
}

// machineWide is memory of the whole machine for page tables and stacks of threads, and for files in memory, in bytes (proc_meminfo(5)).
func machineWide() uint64 { return amount("/proc/meminfo", "Shmem:", "PageTables:", "KernelStack:") }

// private is the memory that only children beside some others have, in bytes.
func private(besides []int) (total uint64) {
	for _, id := range children(os.Getpid()) {
		if !slices.Contains(besides, id) {
			total += amount(fmt.Sprintf("/proc/%d/smaps_rollup", id), "Private_Clean:", "Private_Dirty:")
		}
	}
	return total
}
