package sdk

import (
	"fmt"
	"slices"
	"time"
)

// Progress watches that a part of the program makes progress after the faults have ended.
type Progress struct {
	run    *Run
	name   string
	within time.Duration
	steps  int         // since Quiet
	timer  *time.Timer // from Quiet on
}

// Progress starts a watch of something that the program does repeatedly, or until it is done. The run fails, and its
// Context is cancelled, if no step follows Quiet, or if more than within passes between two steps, by the clock of the
// test or of its bubble. If the run has still not ended after another within, the program panics with the run's story.
func (r *Run) Progress(name string, within time.Duration) *Progress {
	if within <= 0 {
		panic(fmt.Sprintf("sdk: %s must make progress within %v, which must be longer", name, within))
	}
	p := &Progress{run: r, name: name, within: within}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watched = append(r.watched, p)
	if r.calm {
		p.start()
	}
	return p
}

// Step records a step.
func (p *Progress) Step() {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	if p.timer != nil {
		p.steps++
		p.timer.Reset(p.within)
	}
}

// Done ends the watch, because the work is complete.
func (p *Progress) Done() {
	p.Step()
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	p.stop()
	p.run.watched = slices.DeleteFunc(p.run.watched, func(x *Progress) bool { return x == p })
}

// start starts the watch. The caller has the run's lock.
func (p *Progress) start() {
	p.timer = time.AfterFunc(p.within, func() {
		p.run.mu.Lock()
		defer p.run.mu.Unlock()
		if !slices.Contains(p.run.watched, p) { // it ended meanwhile
			return
		}
		p.run.fail(fmt.Sprintf("%s made no progress for %v, though there are no more faults", p.name, p.within))
		p.run.cancel()
		p.timer = time.AfterFunc(p.within, func() {
			p.run.mu.Lock()
			defer p.run.mu.Unlock()
			if slices.Contains(p.run.watched, p) {
				panic("sdk: a run hangs: it did not end after its Context was cancelled\n" + p.run.text())
			}
		})
	})
}

// stop ends the timer. The caller has the run's lock.
func (p *Progress) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// endWatches judges the watches at the end of a run. The caller has the run's lock.
func (r *Run) endWatches() {
	for _, p := range r.watched {
		p.stop()
		switch {
		case len(r.failures) > 0: // which may be why it ended early
		case !r.calm:
			r.fail("the progress of " + p.name + " is unknown, since the faults have not ended: call Quiet")
		case p.steps == 0:
			r.fail(p.name + " made no progress after the faults had ended")
		}
	}
	r.watched = nil
}
