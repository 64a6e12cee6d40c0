package online

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bloodhound-dst/bloodhound/live/internal/config"
)

// burst is how much CPU time may be used at once, before waiting begins.
const burst = 2 * time.Second

// Pace keeps what exploring uses, in this process and in copies, below a number of CPUs on average.
type Pace struct {
	cpus    float64
	list    []int
	cgroup  string
	begun   time.Time
	used    time.Duration // by explorers and checkpoints that have ended
	skipped time.Duration // time in which nothing was used, and which is not made up for
}

// Lower has this process run when a CPU has nothing else to do, and gives it its place in the budget.
func Lower(b *config.Budget) (*Pace, error) {
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		return nil, err
	}
	for _, t := range tasks { // threads that are made later have the priority of one of them
		id, _ := strconv.Atoi(filepath.Base(t))
		if err := unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE, Nice: 19}, 0); err != nil && err != unix.ESRCH {
			return nil, fmt.Errorf("the priority cannot be lowered: %w", err)
		}
	}
	if session, err := unix.Getsid(0); err == nil && session == os.Getpid() {
		// The kernel may share CPUs among sessions first (sched(7)): priorities count within each. It is no error where it does not.
		os.WriteFile("/proc/self/autogroup", []byte("19"), 0)
	}
	p := &Pace{cpus: b.CPUs, list: b.CPUList, cgroup: b.Cgroup, begun: time.Now()}
	p.used = -p.own()
	return p, p.join(os.Getpid())
}

// join puts a process on the CPUs of the budget, and into its control group.
func (p *Pace) join(pid int) error {
	if err := p.pin(pid); err != nil {
		return err
	}
	if p.cgroup == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(p.cgroup, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		return fmt.Errorf("the control group of the budget cannot be joined: %w; create the folder below /sys/fs/cgroup and let "+
			"this user write its cgroup.procs, or remove budget.cgroup", err)
	}
	return nil
}

// pin has all threads of a process run on the CPUs of the budget.
func (p *Pace) pin(pid int) error {
	if p.list == nil {
		return nil
	}
	var set unix.CPUSet
	for _, c := range p.list {
		set.Set(c)
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return err
	}
	for _, t := range tasks {
		id, _ := strconv.Atoi(filepath.Base(t))
		if err := unix.SchedSetaffinity(id, &set); err != nil && err != unix.ESRCH {
			return fmt.Errorf("explorers cannot run on the CPUs %v of budget.cpu_list: %w; `nproc --all` prints how many there are", p.list, err)
		}
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
