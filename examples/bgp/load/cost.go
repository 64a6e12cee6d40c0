package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/live/internal/bgp"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/table"
)

// The stream of updates: a quarter of an hour, with a mean number of prefixes a second.
const (
	streamUs = 900_000_000
	rate     = 60
)

// stream sends updates to a table again and again, as fast as the router takes them, until its context ends. The messages are made before: a router that handles them all is what bounds their number.
func stream(ctx context.Context, s *speaker, t *table.Table, seed uint64) error {
	var messages [][]byte
	events, err := t.Updates(seed, streamUs, rate)
	if err != nil {
		return err
	}
	for e := range events {
		b, err := bgp.AppendMessage(nil, e.Update, bgp.AS4)
		if err != nil {
			return err
		}
		messages = append(messages, b)
	}
	for {
		for _, b := range messages {
			if ctx.Err() != nil {
				return s.flush()
			}
			if err := s.write(b); err != nil {
				return err
			}
		}
	}
}

// use is what a router has done and used until a time.
type use struct {
	at      time.Time
	updates int // that it has received
	cpu     time.Duration
	system  time.Duration // of cpu, what the kernel used for it
	faults  int           // pages that it touched first or copied (proc_pid_stat(5))
}

func (p *process) use() (u use, err error) {
	if u.updates, err = p.updates(); err != nil {
		return u, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return u, err
	}
	words := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if u.faults, err = strconv.Atoi(words[7]); err != nil {
		return u, err
	}
	ticks, err := strconv.Atoi(words[12])
	if err != nil {
		return u, err
	}
	u.system = time.Duration(ticks) * 10 * time.Millisecond // with the usual 100 ticks a second
	u.cpu, err = cpuTime(p.pid)
	u.at = time.Now()
	return u, err
}

// phase is what a router did between two times.
type phase struct {
	perSecond float64 // updates
	perUpdate float64 // seconds of CPU time
	kernel    float64 // of perUpdate
	busy      float64 // CPUs
	faults    int
}

func between(a, b use) phase {
	elapsed, n, cpu := b.at.Sub(a.at).Seconds(), float64(b.updates-a.updates), (b.cpu - a.cpu).Seconds()
	return phase{n / elapsed, cpu / n, (b.system - a.system).Seconds() / n, cpu / elapsed, b.faults - a.faults}
}

// stay sends updates to a table for a time, as fast as the router takes them, and prints how many it took each second.
func stay(p *process, s *speaker, t *table.Table, seed uint64, length time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	sent := make(chan error, 1)
	go func() { sent <- stream(ctx, s, t, seed+1) }()
	before, err := p.updates()
	for second := 1; err == nil; second++ {
		select {
		case err := <-sent:
			return err
		case <-time.After(time.Second):
		}
		n := 0
		n, err = p.updates()
		fmt.Printf("second %d: %d updates\n", second, n-before)
		before = n
	}
	return err
}

// compare sends updates as fast as the router takes them, in phases of a length: in one of each pair a command runs, such as one that explores the router. Pairs begin with either in turn.
// It prints each phase, and how much the command has changed.
func compare(p *process, s *speaker, t *table.Table, seed uint64, o *options) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sent := make(chan error, 1)
	go func() { sent <- stream(ctx, s, t, seed+1) }()
	wait := func(d time.Duration) error {
		select {
		case err := <-sent:
			return err
		case <-time.After(d):
			return nil
		}
	}
	if err := wait(o.phase); err != nil { // the heap of the router grows to what updates need
		return err
	}
	var wall, cpu, kernel []float64
	for i := range o.pairs {
		var both [2]phase
		for j := range 2 {
			with := (i + j + 1) % 2
			from, err := p.use()
			if err != nil {
				return err
			}
			var c *exec.Cmd
			if with == 1 {
				c = exec.Command("sh", "-c", "exec "+o.compare)
				c.Stdout, c.Stderr = os.Stdout, os.Stderr
				if err := c.Start(); err != nil {
					return err
				}
			}
			if err := wait(o.phase); err != nil {
				return err
			}
			if c != nil {
				c.Process.Signal(unix.SIGINT) // it may have ended
				ended := time.AfterFunc(patience, func() { c.Process.Kill() })
				c.Wait()
				ended.Stop()
			}
			to, err := p.use()
			if err != nil {
				return err
			}
			ph := between(from, to)
			both[with] = ph
			fmt.Printf("pair %d, %s: %.0f updates/s, %.1f ms of CPU time for 1,000 updates, of it %.1f in the kernel, %.2f CPUs, %d pages\n",
				i+1, [2]string{"without", "with"}[with], ph.perSecond, 1e6*ph.perUpdate, 1e6*ph.kernel, ph.busy, ph.faults)
		}
		wall = append(wall, both[1].perSecond/both[0].perSecond-1)
		cpu = append(cpu, both[1].perUpdate/both[0].perUpdate-1)
		kernel = append(kernel, (both[1].kernel-both[0].kernel)/both[0].perUpdate)
	}
	fmt.Printf("with it: updates/s %s; CPU time of an update %s, in the kernel alone %s\n", change(wall), change(cpu), change(kernel))
	return nil
}

// change is the median of relative changes, with an interval that has it in 95 % of cases if there are enough of them.
func change(list []float64) string {
	slices.Sort(list)
	n := len(list)
	// The median is below the k-th smallest value if fewer than k of n fair coins show heads.
	k, below, term := 0, 0.0, 1.0
	for range n {
		term /= 2
	}
	for ; k < n/2; k++ {
		if below += term; 2*below > 0.05 {
			break
		}
		term *= float64(n-k) / float64(k+1)
	}
	median := (list[(n-1)/2] + list[n/2]) / 2
	low := max(k-1, 0)
	return fmt.Sprintf("%+.1f %% (%+.1f to %+.1f)", 100*median, 100*list[low], 100*list[n-1-low])
}

// replay sends updates at their times, and prints how long the router took until it announced them to another neighbour.
func replay(s, to *speaker, t *table.Table, seed uint64, length time.Duration) error {
	events, err := t.Updates(seed+1, length.Microseconds(), rate)
	if err != nil {
		return err
	}
	var lock sync.Mutex
	pending := map[netip.Prefix]time.Time{}
	var delays []time.Duration
	received := func(u *bgp.Update) {
		now := time.Now()
		lock.Lock()
		defer lock.Unlock()
		for _, p := range slices.Concat(u.Withdrawn, u.Announced) {
			if at, ok := pending[p]; ok {
				delays = append(delays, now.Sub(at))
				delete(pending, p)
			}
		}
	}
	to.received.Store(&received)
	begin, prefixes, messages := time.Now(), 0, 0
	for e := range events {
		select {
		case err := <-s.done:
			return err
		case err := <-to.done:
			return err
		case <-time.After(time.Until(begin.Add(time.Duration(e.TimeUs) * time.Microsecond))):
		}
		lock.Lock()
		for _, p := range slices.Concat(e.Update.Withdrawn, e.Update.Announced) {
			pending[p] = time.Now()
			prefixes++
		}
		lock.Unlock()
		if err := s.update(e.Update); err != nil {
			return err
		}
		if err := s.flush(); err != nil {
			return err
		}
		messages++
	}
	time.Sleep(time.Second)
	lock.Lock()
	defer lock.Unlock()
	if len(delays) == 0 {
		return fmt.Errorf("the router announced none of %d updates", messages)
	}
	slices.Sort(delays)
	at := func(part float64) time.Duration {
		return delays[int(part*float64(len(delays)-1))].Round(time.Microsecond)
	}
	fmt.Printf("%d updates with %d prefixes in %v, of which %d were announced: after %v (median), %v (99 %%), %v (99.9 %%), %v at most\n",
		messages, prefixes, length, len(delays), at(0.5), at(0.99), at(0.999), at(1))
	return nil
}
