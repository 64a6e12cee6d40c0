package director

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Announcer is how far a driver is that announces where it is (world.Workload). The phases of the run follow those of its drivers that do.
type Announcer struct {
	Tag    int64 // of its job, 0 for a driver that announces nothing
	Ready  bool
	Done   bool
	DoneNs int64 // virtual time of its record "done"; 0 before that
	Told   bool  // to read back
	Over   bool  // it has ended
}

// readBackNs is how much of a run is kept for reading back, or a tenth of it if that is less.
const readBackNs = 5e9

// announced notes that a driver has started.
func (d *Director) announced(tag int64, i int) {
	if !d.spec.Workloads[i].Announces {
		return
	}
	if d.Announcers == nil {
		d.Announcers = make([]Announcer, len(d.spec.Workloads))
	}
	d.Announcers[i].Tag = tag
}

// announces reports whether a driver of the Spec says where it is.
func (d *Director) announces() bool {
	return slices.ContainsFunc(d.spec.Workloads, func(w world.Workload) bool { return w.Announces })
}

// readBack is the time that is kept for reading back.
func (d *Director) readBack() int64 {
	if !d.announces() {
		return 0
	}
	return min(int64(readBackNs), d.spec.MaxTimeNs/10)
}

// all reports whether there are drivers that announce where they are, and each of them has ended or is so far.
func (d *Director) all(far func(a *Announcer) bool) bool {
	some := false
	for i := range d.Announcers {
		a := &d.Announcers[i]
		if a.Tag != 0 && !a.Over && !far(a) {
			return false
		}
		some = some || a.Tag != 0
	}
	return some
}

func (d *Director) allDone() bool { return d.all(func(a *Announcer) bool { return a.Done }) }

// warnUnready warns of drivers that faults do not wait for any more.
func (d *Director) warnUnready() {
	for i, a := range d.Announcers {
		if l := &d.spec.Workloads[i]; a.Tag != 0 && !a.Ready {
			d.Warn(fmt.Sprintf("faults began before the driver of workload %q reported that it is ready", l.Name))
		}
	}
}

// readersWait reports whether drivers wait to be told to read back, and all others that announce where they are have ended.
func (d *Director) readersWait() bool {
	return d.allDone() && slices.ContainsFunc(d.Announcers, func(a Announcer) bool { return a.Done && !a.Over })
}

// workSettled returns the virtual time at which the settle time after the last driver's "done" is over. Servers may
// work on requests that a driver had stopped waiting for, so that driver must not read back at once.
func (d *Director) workSettled() int64 {
	last := int64(0)
	for i := range d.Announcers {
		if a := &d.Announcers[i]; a.Done && !a.Over {
			last = max(last, a.DoneNs)
		}
	}
	if last == 0 {
		return 0
	}
	return last + d.spec.Faults.SettleNs
}

// mark takes in a record of a job that says where a driver is. It returns what is wrong with it.
func (d *Director) mark(tag int64, e *history.Event) string {
	i := -1
	if tag != 0 && d.Jobs[tag-1].Kind == JobDriver {
		i = d.Jobs[tag-1].Index
	}
	if i < 0 || !d.spec.Workloads[i].Announces {
		return fmt.Sprintf("a record of type %q, by a driver whose workload does not have `announces: true` in its `config:`", e.Type)
	}
	a := &d.Announcers[i]
	switch e.Type {
	case history.Ready:
		a.Ready = true
	case history.Done:
		if !a.Done {
			a.DoneNs = e.TimeNs
		}
		a.Ready, a.Done = true, true
	case history.Check:
		if !a.Told {
			return `a record of type "check" before the world had settled; read a line from the standard input after "done", and write "check" then`
		}
	}
	name := d.spec.Workloads[i].Name
	if !slices.ContainsFunc(d.out.Marks, func(m record.Mark) bool { return m.Workload == name && m.Type == e.Type }) {
		d.out.Marks = append(d.out.Marks, record.Mark{Workload: name, Type: e.Type, Event: e.Number, TimeNs: e.TimeNs})
	}
	if d.Phase == PhaseCheck || d.Phase == PhaseFinal {
		d.tell()
	}
	d.Due = 0
	return ""
}

// tell has the drivers that wait read back.
func (d *Director) tell() {
	for i := range d.Announcers {
		a := &d.Announcers[i]
		if !a.Done || a.Told || a.Over {
			continue
		}
		a.Told = true
		j := &d.Jobs[a.Tag-1]
		d.act.Happen(d.spec.Nodes[j.Node].Name, world.CheckLine, a.Tag, d.spec.Workloads[i].Name)
		d.act.Order(j.Proc, []byte(world.CheckLine+"\n"))
	}
}
