package online

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/internal/config"
)

// burst is how much CPU time may be used at once, before waiting begins.
const burst = 2 * time.Second

// Pace keeps what exploring uses, in this process and in copies, below a number of CPUs on average.
type Pace struct {
	cpus    float64
	cgroup  string
	begun   time.Time
	used    time.Duration // by explorers and checkpoints that have ended
	skipped time.Duration // time in which nothing was used, and which is not made up for
}

// Lower gives this process the lowest priority and its place in the budget.
func Lower(b *config.LiveBudget) (*Pace, error) {
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		return nil, err
	}
	for _, t := range tasks { // threads that are made later have the priority of one of them
		id, _ := strconv.Atoi(filepath.Base(t))
		if err := unix.Setpriority(unix.PRIO_PROCESS, id, 19); err != nil && err != unix.ESRCH {
			return nil, fmt.Errorf("the priority cannot be lowered: %w", err)
		}
	}
	p := &Pace{cpus: b.CPUs, cgroup: b.Cgroup, begun: time.Now()}
	p.used = -p.own()
	return p, p.join(os.Getpid())
}

// join puts a process into the control group.
func (p *Pace) join(pid int) error {
	if p.cgroup == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(p.cgroup, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		return fmt.Errorf("the control group of the budget cannot be joined: %w; create the folder below /sys/fs/cgroup and let this user write its cgroup.procs, or remove budget.cgroup", err)
	}
	return nil
}

// own is the CPU time of this process.
func (p *Pace) own() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(unix.TimevalToNsec(u.Utime) + unix.TimevalToNsec(u.Stime))
}

// checkpoint is the CPU time of a checkpoint itself.
func (p *Pace) checkpoint(pid int) time.Duration {
	var t unix.Timespec
	const schedClock = 2 // of the clocks of processes: CPUCLOCK_SCHED
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// spent adds CPU time of processes that have ended.
func (p *Pace) spent(d time.Duration) { p.used += d }

// wait returns when more may be used.
func (p *Pace) wait(ctx context.Context, pid int) {
	for ctx.Err() == nil {
		used := p.used + p.own() + p.checkpoint(pid)
		may := time.Duration(float64(time.Since(p.begun)-p.skipped) * p.cpus)
		if may > used { // what was not used before does not count
			p.skipped += time.Duration(float64(may-used) / p.cpus)
			return
		}
		over := used - may - burst
		if over <= 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(float64(over) / p.cpus)):
		}
	}
}
