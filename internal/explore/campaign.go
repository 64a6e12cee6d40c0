package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/cpus"
	"github.com/bloodhound-dst/bloodhound/internal/explore/search"
	"github.com/bloodhound-dst/bloodhound/internal/filedigest"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Window bounds how many runs per worker may be finished out of order before the campaign waits for the oldest one.
const Window = 8

// MaxConsecutiveLost is the number of runs in a row that the engine or the machine may fail before a campaign gives
// up: it would fail all others too.
const MaxConsecutiveLost = 3

// Samples: runs without a violation that are replayed too, from their boot. They are three in a row of each ReplayEvery, of which
// one began at its boot, one, most often, at the end of setup, and one at a later snapshot. A leak of chance that an engine does
// not know of shows there, and not first when a bug is to be replayed; and so does a snapshot that changes a run.
const (
	ReplayEvery = 100
	samples     = 3
	// Many campaigns find a violation in their first runs, whose replay shows the same, so the samples come after these. In a world whose runs take
	// long, someone who waits learns it from the first run.
	firstSample = 9
	sampleAfter = 5 * time.Second
)

// samples reports whether a run is replayed though it violates nothing. A short campaign has its samples at its end.
func (c *Campaign) samples(id uint64) bool {
	first := uint64(firstSample)
	if c.Runs > 0 {
		first = min(first, max(c.Runs, samples)-samples)
	}
	if k := id % ReplayEvery; k >= first && k < first+samples {
		return true
	}
	return id < first && time.Since(c.start) > sampleAfter && !c.sampled.Swap(true)
}

// Campaign is a search over tapes.
type Campaign struct {
	// Test is the stable name of the test that the campaign is of: its failures are those of this test.
	Test  string
	Setup *Setup
	Seed  uint64
	// Strategy finds the tapes; nil is search.Random. A campaign uses it up.
	Strategy  search.Strategy
	Runs      uint64 // how many; 0 is no bound
	Timeout   time.Duration
	Workers   int
	KeepGoing bool // go on after a violation
	// EndsRefused ends the campaign with the first run in which a program leaves for a call that the engine refuses.
	EndsRefused bool
	FromBoot    bool // all runs begin at their boot, and at no snapshot
	// Behaviours has Totals.Curve count what runs reach, whatever the Strategy learns.
	Behaviours    bool
	BaselineFirst bool // begin with a run without faults, if there are any
	// Retries is how often a run is made again whose violation did not replay; 0 is never.
	Retries int
	Command Command
	// Here, if it is not nil, makes runs in this process and not in workers of Command: for engines whose worlds can do no harm to it.
	Here Runner
	// Code asks runs for the blocks of programs that they execute, if it is not nil.
	Code *Code
	// Ran is called for each run, in run order. It must not change what it is given.
	Ran func(*Ran)
	// Finished is called after each run, in run order; it must not keep the Totals.
	Finished func(*Totals)
	// UnderWay is called now and then while the first run of each worker is under way, and in the run without faults: before Finished
	// has anything to tell. Workers call it at the same time.
	UnderWay func(*FirstRun)
	// Found is called for the first run of each distinct failure, with its whole Outcome.
	Found func(*Failure, *check.Judged)
	// Kept is called when the corpus of the Strategy changes, if it is a search.Keeper.
	Kept func(came []*search.Entry, left []string)
	// Derived gets the Spec with rules that were derived from the moments of the run without faults: runs from then on are its. It may be nil.
	Derived func(*world.Spec)
	// Note is called for what the user should know while the campaign runs.
	Note func(string)

	began time.Time // by the clock of files
	start time.Time // of Run
	// sampled says that a run was replayed early, since runs take long.
	sampled *atomic.Bool
}

// FirstRun is how far one of the first runs has come.
type FirstRun struct {
	Baseline bool // it is the run without faults
	Progress
}

// Ran is a run of a campaign that has ended.
type Ran struct {
	Tape   tape.Tape
	Origin search.Origin
	// Seen and Summary are nil if the run was lost.
	Seen    *search.Seen
	Summary *Summary
	// Measured are the features that Setup.Measure asks for.
	Measured []coverage.Feature
	// Varies is why the run cannot be made again; empty if it can, as far as is known.
	Varies string
}

// result is the result of one run.
type result struct {
	job     *Job
	reply   *Reply // nil if the run was lost or cut short
	lost    string
	broken  bool // lost by a panic
	deaths  []string
	differs string // in what the replay was another run
	reads   bool   // it was, because a program reads its own code
	// unproven is the property of a violation whose replay was cut short.
	unproven string
	// unsteady is a violation that did not replay and was tried again.
	unsteady *Unsteady
	// moved are the binaries that make another run when their blocks are watched.
	moved []string
}

// Run runs the campaign until it is done or ctx ends.
func (c *Campaign) Run(ctx context.Context) *Totals {
	began := time.Now()
	c.start, c.began, c.sampled = began, filedigest.Now(), new(atomic.Bool)
	// The end of the timeout interrupts runs, but not the replay of a violation that was found in time.
	outer := ctx
	ctx, stop := context.WithCancel(outer)
	defer stop()
	runs := ctx
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		runs, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	col := c.beginCampaign()
	t := col.totals
	col.done = !c.baseline(runs, ctx, col)
	c.begun(col)
	jobs := make(chan *Job)
	results := c.startWorkers(runs, ctx, t.Workers, jobs)
	c.hand(runs, col, jobs, results, func() { t.WallNs = time.Since(began).Nanoseconds() })
	if !col.done && runs.Err() != nil {
		t.Stopped = TimedOut
		if outer.Err() != nil {
			t.Stopped = Interrupted
		}
	}
	close(jobs)
	if col.done {
		stop() // runs after the last one that counts
	}
	for r := range results {
		col.takeResult(r)
		if col.done {
			stop()
		}
	}
	col.flush()
	col.feeder.learnRest()
	t.Search = col.feeder.strategy.Standing()
	t.WallNs = time.Since(began).Nanoseconds()
	return t
}

// beginCampaign makes the collector, and asks workers for what the strategy learns.
func (c *Campaign) beginCampaign() *collector {
	t := &Totals{Seed: c.Seed, RulesVersion: c.Setup.Spec.RulesVersion, Workers: max(c.Workers, 1)}
	feed := newFeeder(c)
	setup := *c.Setup
	delay := feed.strategy.FeedbackDelay()
	setup.Learn = delay > 0 || c.Behaviours
	if w, ok := feed.strategy.(search.Watcher); ok {
		setup.Unwatched = slices.DeleteFunc(slices.Clone(coverage.Domains), w.Watches)
	}
	c.Setup = &setup
	t.Search, t.FeedbackDelay = feed.strategy.Standing(), delay
	return &collector{campaign: c, totals: t, waiting: map[uint64]*result{}, stacks: map[string]string{}, feeder: feed}
}

// begun follows the run without faults: a strategy may have nothing to learn in this world.
func (c *Campaign) begun(col *collector) {
	t, strategy := col.totals, col.feeder.strategy
	delay := strategy.FeedbackDelay()
	if delay != t.FeedbackDelay {
		setup := *c.Setup
		setup.Learn = delay > 0 || c.Behaviours
		c.Setup, t.FeedbackDelay = &setup, delay
	}
	_, timed := strategy.(search.Timed)
	if idle := t.Workers - int(delay); delay > 0 && idle > 0 && c.Note != nil && (!timed || t.Baseline.Done) {
		c.Note(fmt.Sprintf("%d of %s %s idle: %s runs at most %s at once (exploration.feedback_delay)", idle,
			plural.Count(t.Workers, "worker"), plural.Verb(idle, "is", "are"), strategy.Name(), plural.Count(delay, "world")))
	}
}

// startWorkers starts workers that take jobs until there are no more. The channel of results is closed when all have ended.
func (c *Campaign) startWorkers(runs, replays context.Context, count int, jobs <-chan *Job) <-chan *result {
	results := make(chan *result)
	var workers sync.WaitGroup
	for range count {
		workers.Go(func() {
			c.serve(runs, replays, jobs, results)
		})
	}
	go func() {
		workers.Wait()
		close(results)
	}()
	return results
}

// hand gives jobs to workers and takes their results, until there are no more jobs to give or the campaign is over. tick is called
// after each step.
func (c *Campaign) hand(runs context.Context, col *collector, jobs chan<- *Job, results <-chan *result, tick func()) {
	next := uint64(0)
	window := uint64(Window * col.totals.Workers)
	var job *Job // run next, if it is known
	for {
		over := runs.Err() != nil || col.done
		if !over && job == nil && col.last == nil && (c.Runs == 0 || next < c.Runs) && next < col.next+window {
			if job = col.feeder.job(next, col.next); job != nil && !c.cover(job, col) {
				job, col.done = nil, true
			}
		}
		var to chan<- *Job
		if job != nil && col.last == nil {
			to = jobs
		}
		if over || to == nil && next == col.next {
			return
		}
		select {
		case to <- job:
			next++
			job = nil
		case r := <-results:
			col.takeResult(r)
		case <-runs.Done():
		}
		tick()
	}
}

// collector puts results into run order.
type collector struct {
	campaign *Campaign
	totals   *Totals
	waiting  map[uint64]*result
	next     uint64  // the run that is due
	last     *uint64 // the earliest violation: no run after it counts
	done     bool
	lostRow  int
	stacks   map[string]string // of panics, each with the first run in which it came
	unable   bool              // no snapshots can be taken
	feeder   *feeder
	programs programs

	behaviours map[uint64]bool // that runs have reached
}

func (c *collector) takeResult(r *result) {
	if c.done {
		return
	}
	c.waiting[r.job.ID] = r
	if c.stops(r) && (c.last == nil || r.job.ID < *c.last) {
		c.last = &r.job.ID
	}
	for {
		r, ok := c.waiting[c.next]
		if !ok || c.done {
			return
		}
		delete(c.waiting, c.next)
		c.next++
		c.recordCode(r)
		c.feeder.counted(r)
		c.ended(r)
		c.count(r)
	}
}

// ended reports a run that was not cut short to who asked for it.
func (c *collector) ended(r *result) {
	if c.campaign.Ran == nil || r.reply == nil && r.lost == "" {
		return
	}
	ran := &Ran{Tape: r.job.Tape, Origin: r.job.Origin}
	if r.reply != nil {
		ran.Seen, ran.Summary, ran.Measured, ran.Varies = r.reply.Seen, r.reply.Summary, r.reply.Measured, r.differs
		if ran.Summary.Repeat.Failed() {
			ran.Varies = ran.Summary.Repeat.Reason
		}
	}
	c.campaign.Ran(ran)
}

// flush counts what finished behind a run that never did, when a campaign is cut short.
func (c *collector) flush() {
	for end := c.next + uint64(len(c.waiting)) + uint64(Window*c.totals.Workers); len(c.waiting) > 0 && c.next <= end && !c.done; c.next++ {
		if r, ok := c.waiting[c.next]; ok {
			delete(c.waiting, c.next)
			c.recordCode(r)
			c.ended(r)
			c.count(r)
		}
	}
}

// stops reports whether the campaign ends with this run.
func (c *collector) stops(r *result) bool {
	if r.reply != nil && (r.reply.Summary.Mistake != "" || r.reply.Summary.Reason == record.Unstartable) {
		return true
	}
	if c.campaign.EndsRefused && r.reply != nil && Refusal(r.reply.Summary.Verdicts) != nil {
		return true
	}
	return !c.campaign.KeepGoing && r.reply != nil && (r.differs != "" || len(Violated(r.reply.Summary.Verdicts)) > 0)
}

// died counts the worker processes that a run has cost.
func (c *collector) died(r *result) {
	c.totals.Deaths += uint64(len(r.deaths))
	for _, d := range r.deaths {
		c.note(fmt.Sprintf("%s: %s; tried again", r.job, d))
	}
}

func (c *collector) count(r *result) {
	t := c.totals
	c.died(r)
	switch {
	case r.lost != "":
		c.lose(r)
		return
	case r.reply == nil: // cut short
		if r.unproven != "" {
			c.note(fmt.Sprintf("%s violated %s, but its replay was cut short: it does not count", r.job, r.unproven))
		}
		return
	}
	c.lostRow = 0
	s := r.reply.Summary
	t.took(r.reply)
	t.add(s, r.job.Tape)
	if why := r.reply.NoSnapshots; why != "" && !c.unable {
		c.unable = true
		c.note("snapshots are off, so runs start from boot, which takes longer: " + why)
	}
	t.Once = t.Once || s.Repeat.Once
	if s.Repeat.Failed() {
		t.unrepeatable(Unrepeatable{r.job.ID, r.job.Tape, s.Repeat.Reason})
	}
	if r.unsteady != nil && len(t.Unsteady) < MaxFailures {
		t.Unsteady = append(t.Unsteady, r.unsteady)
	}
	violated := Violated(s.Verdicts)
	switch {
	case r.differs != "" && !s.Repeat.Reproducible: // as the engine said
	case r.differs != "" && len(violated) > 0:
		t.unrepeatable(Unrepeatable{r.job.ID, r.job.Tape, "the violation of " + violated[0].Property + " did not replay: " + r.differs})
	case r.differs != "":
		t.unrepeatable(Unrepeatable{r.job.ID, r.job.Tape, "its replay differs: " + r.differs})
	case len(violated) > 0:
		t.Violated++
		for _, v := range violated {
			f, fresh := t.fail(r.job, s, v)
			if fresh {
				f.Failure = Identify(c.campaign.Test, c.campaign.Setup.Spec, f.Tape, &v)
			}
			if fresh && c.campaign.Found != nil {
				c.campaign.Found(f, r.reply.Outcome)
			}
		}
	}
	t.Search = c.feeder.strategy.Standing()
	c.point(r)
	c.done = c.stops(r)
	if c.campaign.Finished != nil {
		c.campaign.Finished(t)
	}
}

// lose counts a run that the engine or the machine has failed, and decides whether the campaign goes on. A panic ends a run for what
// its programs did, so that after a run that succeeded there is hope for further ones.
func (c *collector) lose(r *result) {
	t := c.totals
	t.lose(Lost{r.job.ID, r.job.Tape, r.lost})
	first, stack, _ := strings.Cut(r.lost, "\n")
	if like := c.stacks[stack]; r.broken && like != "" {
		c.note(fmt.Sprintf("%s is lost, with the same stack as %s: %s", r.job, like, first))
	} else {
		c.note(fmt.Sprintf("%s is lost: %s", r.job, r.lost))
	}
	if r.broken && c.stacks[stack] == "" {
		c.stacks[stack] = r.job.String()
	}
	if c.lostRow++; c.lostRow >= MaxConsecutiveLost && (!r.broken || t.Runs == 0) {
		c.note(fmt.Sprintf("%s in a row were lost: giving up", plural.Count(c.lostRow, "run")))
		c.done = true
	}
}

// point adds to the campaign's curve.
func (c *collector) point(r *result) {
	t := c.totals
	if seen := r.reply.Seen; seen != nil {
		if c.behaviours == nil {
			c.behaviours = map[uint64]bool{}
		}
		for _, id := range seen.Reached {
			if len(c.behaviours) < maxBehaviours {
				c.behaviours[id] = true
			}
		}
	}
	p := Point{Run: t.Runs, Behaviours: len(c.behaviours), Failures: len(t.Failures)}
	for i := range t.Code {
		p.Code += t.Code[i].Covered
	}
	t.Curve.add(p)
}

// cover asks a run for the blocks that it executes, if the campaign asks for it.
func (c *Campaign) cover(j *Job, col *collector) (ok bool) {
	if c.Code == nil {
		return true
	}
	var err error
	if j.Cover, err = c.Code.cover(); err != nil {
		col.totals.lose(Lost{j.ID, j.Tape, "cannot write the coverage state: " + err.Error()})
	}
	return err == nil
}

// recordCode adds the programs that a run has executed, and the blocks that it has hit in them.
func (c *collector) recordCode(r *result) {
	c.covered(r)
	c.ran(r)
}

// covered takes in which blocks of programs a run has executed. A search learns of those that are new.
func (c *collector) covered(r *result) {
	code := c.campaign.Code
	if code == nil || r.reply == nil {
		return
	}
	fresh := code.mergeHits(r.reply.Summary.Code)
	if ended := code.off(r.moved, movedBy); len(ended) > 0 {
		c.note(fmt.Sprintf("%s: coverage is off for %s: %s", r.job, names(code.State, ended), movedBy))
	}
	if seen := r.reply.Seen; seen != nil && !slices.Contains(c.campaign.Setup.Unwatched, coverage.Code) {
		for i := range fresh {
			for _, f := range fresh[i].Features() {
				if len(seen.Reached) < search.MaxReached {
					seen.Reached, seen.Texts = append(seen.Reached, f.ID), append(seen.Texts, f)
				}
			}
		}
	}
	c.totals.Code = CodeTotals(code.State)
	slices.SortStableFunc(c.totals.Code, CompareCode)
}

func (c *collector) note(text string) {
	if c.campaign.Note != nil {
		c.campaign.Note(text)
	}
}

// serve is one worker's life: it takes jobs until there are no more, on worker processes that are replaced when
// they die or are old. The end of runs interrupts runs, the end of replays the replays of violations too.
func (c *Campaign) serve(runs, replays context.Context, jobs <-chan *Job, results chan<- *result) {
	s := slot{campaign: c, limit: RunTime(c.Setup.Spec)}
	defer s.close()
	for job := range jobs {
		job.Progress = c.UnderWay != nil && (job.ID == baselineRun || job.ID < uint64(max(c.Workers, 1)))
		r := &result{job: job}
		r.reply, r.lost = s.runJob(runs, r)
		if r.reply == nil {
			results <- r
			continue
		}
		violated := Violated(r.reply.Summary.Verdicts)
		if r.reply.Summary.Repeat.Once { // a second run would be another one
			results <- r
			continue
		}
		if len(violated) > 0 || c.samples(job.ID) || job.ID == baselineRun && job.Cover != nil {
			second, lost := s.replay(replays, r)
			violated = Violated(r.reply.Summary.Verdicts)
			switch {
			case lost != "":
				r.differs = "its replay was lost: " + lost
			case second == nil && len(violated) > 0:
				r.unproven = violated[0].Property
				r.reply = nil
			case second != nil:
				r.differs = Differs(r.reply.Summary, second.Summary)
				if r.reads {
					r.differs = ReadsCode + ": " + r.differs
				}
				if b := r.reply.Began; b != nil && r.differs != "" {
					r.differs += fmt.Sprintf("; the first of the two began at a snapshot of event %d (explore "+
						"--from-boot uses no snapshots)", b.Event)
				}
				if r.differs != "" && r.reply.Summary.Repeat.Reproducible && second.Summary.Repeat.Reproducible {
					r.differs += s.parting(replays, r)
				}
				s.retry(replays, r)
			}
		}
		results <- r
	}
}

// replay makes a run again, without breakpoints if it was made with them.
func (s *slot) replay(ctx context.Context, r *result) (second *Reply, lost string) {
	return replay(r, func(j *Job) (*Reply, string) {
		once := &result{job: j}
		reply, lost := s.runJob(ctx, once)
		r.deaths = append(r.deaths, once.deaths...)
		return reply, lost
	})
}

// Pauses before a run is tried again whose program could not be started: while it is being built its file is missing, has
// no right to be executed yet, or is open for writing. Together they are about six seconds.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 3200 * time.Millisecond
)

// pause waits before another try, longer each time, and reports whether there is one. What could not be started after all
// pauses is not waited for again until a run succeeds.
func (s *slot) pause(ctx context.Context) bool {
	s.paused = max(2*s.paused, firstPause)
	if s.paused > lastPause {
		return false
	}
	select {
	case <-time.After(s.paused):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// slot is the place of one worker process.
type slot struct {
	paused   time.Duration // the last pause, since the last run that succeeded
	campaign *Campaign
	limit    time.Duration
	worker   *Worker
	place    *cpus.Place // where the worker runs
	parted   bool        // parting was called for a run
}

func (s *slot) close() {
	if s.worker != nil {
		s.worker.Close()
		s.worker = nil
	}
	s.leave()
}

// leave gives the worker's CPU to others.
func (s *slot) leave() {
	if s.place != nil {
		s.place.Leave()
		s.place = nil
	}
}

// runJob runs a job, once more on a fresh process if the first one dies. It returns neither a reply nor why the run was
// lost if ctx ended before the run did.
func (s *slot) runJob(ctx context.Context, r *result) (reply *Reply, lost string) {
	for attempt := 0; ctx.Err() == nil; attempt++ {
		reply, err := s.try(ctx, r.job)
		if err == nil && ctx.Err() != nil {
			s.close()
			if reply.Summary == nil || reply.Summary.Reason == record.Stopped {
				return nil, ""
			}
		}
		switch {
		case err == nil && reply.Unstarted && s.pause(ctx):
			attempt-- // no process died
			continue
		case err == nil && reply.Unstarted && ctx.Err() != nil:
			return nil, ""
		case err == nil && reply.Error != "":
			r.broken = reply.Broken
			return nil, reply.Error
		case err == nil && reply.Summary == nil:
			return nil, "the worker's answer has no summary"
		case err == nil:
			s.paused = 0
			return reply, ""
		case ctx.Err() != nil:
			return nil, ""
		case !isDeath(err) || attempt == 1:
			return nil, err.Error()
		}
		r.deaths = append(r.deaths, err.Error())
	}
	return nil, ""
}

func (s *slot) try(ctx context.Context, job *Job) (*Reply, error) {
	if here := s.campaign.Here; here != nil {
		return here(s.campaign.Setup, job, func(Progress) {}, ctx.Done()), nil
	}
	if s.worker != nil && (s.worker.Runs >= RunsPerWorker || s.place.Better()) {
		s.close()
	}
	if s.worker == nil {
		s.place = cpus.TakePlace()
		w, err := StartWorker(s.campaign.Command, s.campaign.Setup, s.place.CPU)
		if err != nil {
			s.leave()
			return nil, err
		}
		s.worker = w
	}
	end := s.place.Turn(ctx)
	reply, err := s.worker.Do(ctx, job, s.limit, func(p Progress) {
		if tell := s.campaign.UnderWay; tell != nil {
			tell(&FirstRun{job.ID == baselineRun, p})
		}
	})
	end()
	switch {
	case err != nil:
		s.worker = nil
		s.leave()
	case reply.Last:
		s.close()
	}
	return reply, err
}

// Differs says in what two runs of one tape differ, or nothing if they are the same run.
func Differs(a, b *Summary) string {
	var diffs []string
	diff := func(what string, x, y any) {
		if x != y {
			diffs = append(diffs, fmt.Sprintf("%s %v, then %v", what, x, y))
		}
	}
	diff("trace hash", a.Hash, b.Hash)
	diff("strict hash", a.StrictHash, b.StrictHash)
	diff("events", a.Events, b.Events)
	diff("end", a.Reason, b.Reason)
	diff("verdicts", statuses(a.Verdicts), statuses(b.Verdicts))
	return strings.Join(diffs, "; ")
}

func statuses(verdicts []check.Verdict) string {
	var list []string
	for _, v := range verdicts {
		list = append(list, v.Property+" "+string(v.Status))
	}
	return strings.Join(list, ", ")
}
