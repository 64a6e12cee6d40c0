//go:build linux && amd64

package linux

import "github.com/bloodhound-dst/bloodhound/internal/engine/native/kernel"

// NextDue is the time of the next thing that happens by itself.
func NextDue(k *Kernel) (int64, bool) {
	for len(k.Timers) > 0 && void(k, k.Timers[0]) {
		k.Timers.Pop()
	}
	due, ok := k.Net.NextDue()
	if len(k.Timers) > 0 && (!ok || k.Timers[0].At < due) {
		due, ok = k.Timers[0].At, true
	}
	return due, ok
}

// void reports whether a timer has nothing to do any more, so that the clock need not stop there.
func void(k *Kernel, t kernel.Timer) bool {
	switch t.Kind {
	case kernel.TimerThread:
		th := k.Threads[t.A]
		return th == nil || th.State != kernel.Blocked || !th.Call.HasUntil || th.Call.Until != t.At
	case kernel.TimerFile:
		f := k.TimerFDs[t.A]
		return f == nil || f.Gen != t.B
	case kernel.TimerReal:
		p := k.Procs[t.A]
		return p == nil || p.Zombie || p.Real.Gen != t.B
	case kernel.TimerPosix:
		return k.PosixTimer(t.A, t.B) == nil
	case kernel.TimerMemory:
		return false
	case kernel.TimerBurn:
		th := k.Threads[t.A]
		return th == nil || th.State == kernel.Dead || th.BurnsNs != t.B || t.B == 0 || !k.Proc(th).TimesCPU()
	case kernel.TimerBusy:
		th := k.Threads[t.A]
		return th == nil || th.State == kernel.Dead || th.BusyNs != t.B
	}
	panic("kernel: timer of unknown kind")
}

// Fire does everything that is due now.
func Fire(k *Kernel) {
	for len(k.Timers) > 0 && k.Timers[0].At <= k.Now {
		t := k.Timers.Pop()
		if void(k, t) {
			continue
		}
		switch t.Kind {
		case kernel.TimerThread:
			k.Awake(k.Threads[t.A])
		case kernel.TimerFile:
			timerfdDue(k, k.TimerFDs[t.A])
		case kernel.TimerReal:
			realDue(k, k.Procs[t.A])
		case kernel.TimerPosix:
			k.PosixDue(t.A, t.B)
		case kernel.TimerMemory:
			n := k.Nodes[t.A]
			n.Memory.Armed = false
			limitMemory(k, n)
		case kernel.TimerBurn:
			th := k.Threads[t.A]
			if k.CPUDue(th); th.State != kernel.Dead {
				k.BurnOn(th)
			}
		case kernel.TimerBusy:
			k.Unbusy(k.Threads[t.A])
		}
	}
	if due, ok := k.Net.NextDue(); ok && due <= k.Now {
		k.Net.Advance(netEnv{k})
	}
}
