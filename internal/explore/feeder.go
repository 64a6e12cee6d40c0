package explore

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// feeder asks a strategy for tapes, and lets it learn from runs when the feedback delay is over: in run order, and each time before the
// same run is asked for, however fast runs were.
type feeder struct {
	strategy search.Strategy
	learned  uint64        // the strategy has learned from the runs below this one
	queue    []*search.Run // those from there on that have ended
	kept     func(came []*search.Entry, left []string)
	fromBoot bool
	along    bool // tapes are beginnings of others
}

func newFeeder(c *Campaign) *feeder {
	f := &feeder{strategy: c.Strategy, kept: c.Kept}
	if f.strategy == nil {
		f.strategy = search.Tapes(search.Random, func(run uint64) tape.Tape { return search.RandomTape(c.Seed, run) })
	}
	name := f.strategy.Name()
	f.fromBoot, f.along = c.FromBoot, search.KindOf(name).Extends
	return f
}

// timed is the strategy if it uses times of the run without faults, else nil.
func (f *feeder) timed() search.Timed {
	timed, _ := f.strategy.(search.Timed)
	return timed
}

// begins reports the run without faults to a strategy that uses its times.
func (f *feeder) begins(calm *check.Judged) {
	if timed := f.timed(); timed != nil && calm != nil && calm.ReadyNs > 0 && len(calm.Heals) > 0 {
		timed.Begins(search.Calm{ReadyNs: calm.ReadyNs, ChaosNs: calm.ChaosNs, HealNs: calm.Heals[0], Clients: clientsOf(calm), Drained: drained(calm)})
	}
}

// drained reports whether the faults of a run ended with the work of its drivers.
func drained(o *check.Judged) bool {
	for i := range o.Drivers {
		d := &o.Drivers[i]
		done := slices.ContainsFunc(o.Marks, func(m record.Mark) bool {
			return m.Workload == d.Workload && m.Type == history.Done && m.TimeNs <= o.ChaosEndNs
		})
		if !done && d.TimeNs > o.ChaosEndNs {
			return false
		}
	}
	return len(o.Drivers) > 0
}

// clientsOf counts the operations of the clients that read nothing after the faults: what clients read back must be read however short the run.
func clientsOf(o *check.Judged) []search.Client {
	at := map[string]int{}
	var list []search.Client
	later := map[string]bool{}
	for i := range o.History {
		h := &o.History[i]
		if h.Type != history.Invoke {
			continue
		}
		name := world.ClientName(h.Client)
		k, known := at[name]
		if !known {
			k = len(list)
			at[name] = k
			list = append(list, search.Client{Name: name})
		}
		list[k].Operations++
		later[name] = later[name] || h.TimeNs > o.ChaosEndNs && history.IsRead(h.Op)
	}
	return slices.DeleteFunc(list, func(c search.Client) bool { return later[c.Name] })
}

// counted takes in a run that has ended. Runs come in order.
func (f *feeder) counted(r *result) {
	if f.strategy.FeedbackDelay() == 0 {
		return
	}
	run := &search.Run{Number: r.job.ID, Candidate: search.Candidate{Tape: r.job.Tape, Origin: r.job.Origin}}
	if r.reply != nil {
		run.Seen, run.Machine = r.reply.Seen, r.reply.Summary.Machine
	}
	if r.job.ID == baselineRun {
		f.strategy.Learn(run)
		return
	}
	f.queue = append(f.queue, run)
}

func (f *feeder) learn() {
	f.strategy.Learn(f.queue[0])
	f.queue = f.queue[1:]
	f.learned++
	if k, ok := f.strategy.(search.Keeper); ok && f.kept != nil {
		if came, left := k.Changes(); len(came)+len(left) > 0 {
			f.kept(came, left)
		}
	}
}

// learnRest reports the runs that have ended when no further tape is asked for.
func (f *feeder) learnRest() {
	for len(f.queue) > 0 {
		f.learn()
	}
}

// job gives a run, or nil if it must wait for others to end, of which all below ended have; or if there is none left, which is
// so when all have ended.
func (f *feeder) job(run, ended uint64) *Job {
	if delay := f.strategy.FeedbackDelay(); delay > 0 && run >= delay {
		if ended <= run-delay {
			return nil
		}
		for f.learned <= run-delay {
			f.learn()
		}
	}
	for {
		c, answer := f.strategy.Next(run)
		switch {
		case answer == search.Here:
			c.FromBoot = c.FromBoot || f.fromBoot
			return &Job{ID: run, Request: runner.Request{Candidate: c, Along: f.along}}
		case answer == search.Exhausted || f.learned >= ended:
			return nil
		}
		f.learn()
	}
}
