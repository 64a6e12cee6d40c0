package shrink

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Search is the shrinking of one run.
type Search struct {
	Spec *world.Spec // uncut
	// Found is the tape that was found, with which faults can be injected at other moments. Without it, that is not tried.
	Found   *tape.Tape
	Try     Try
	Workers int // runs at once
	// MaxRuns, MaxCPU and MaxTime bound the search; 0 is no bound. CPU time is that of the runs, as Try counts it.
	MaxRuns int
	MaxCPU  time.Duration
	MaxTime time.Duration
	// Progress is called after each step, by one goroutine at a time.
	Progress func(Progress)
}

// Progress is how far a search has come.
type Progress struct {
	Runs  int
	Stage string
	Size  Size // of the smallest run so far
}

// Result is the smallest run that was found, replayed.
type Result struct {
	Case
	*Run
	Shrunk
}

// Shrunk is the result of a search for a smaller run.
type Shrunk struct {
	From Size `json:"from"`
	To   Size `json:"to"`
	Runs int  `json:"runs"`
	// CPUNs is the CPU time of the runs; 0 if it was not counted.
	CPUNs int64 `json:"cpu_ns,omitempty"`
	// Needed are the decisions of the smallest run of which each was tried alone and could not go.
	Needed int `json:"needed,omitempty"`
	// Minimal means that no single decision of the tape can be taken away: each was tried, and the failure was gone.
	Minimal bool `json:"minimal"`
	// End says why a search ended that did not prove this; empty if it did.
	End string `json:"end,omitempty"`
}

// Errors of a run that cannot be shrunk.
var (
	ErrGone   = errors.New("its run does not show the failure")
	ErrBare   = errors.New("a run with only its decisions does not fail in the same way")
	ErrVaries = errors.New("its run does not repeat")
)

// MaxRounds bounds how often all stages are gone through; each but the last has made the run smaller.
const MaxRounds = 8

// slackNs is the time, in ns, by which a run may exceed the failure while things are removed, since that may delay the
// failure.
const slackNs = 250_000_000

// Shrink makes the run of a Case smaller. The error is ErrGone, ErrBare, ErrVaries, or one of the first run's.
func (s *Search) Shrink(ctx context.Context, from Case) (*Result, error) {
	w := &work{Search: s, outer: ctx, lost: map[[sha256.Size]byte]bool{}, deaf: map[string]bool{},
		budget: budget{ctx: ctx, maxRuns: s.MaxRuns, maxCPU: s.MaxCPU, maxTime: s.MaxTime, began: time.Now()}}
	if s.MaxTime > 0 {
		var cancel context.CancelFunc
		w.ctx, cancel = context.WithTimeout(ctx, s.MaxTime)
		defer cancel()
	}
	first, err := w.try(ctx, from, true)
	switch {
	case err != nil:
		return nil, err
	case !first.Same:
		return nil, ErrGone
	}
	start := sizeOf(s.Spec, &from.Cut, first.Outcome)
	bare := Case{Bare(from.Tape, first.Outcome.Decisions), from.Cut}
	w.start = start
	run, err := w.try(ctx, bare, false)
	switch {
	case err != nil:
		return nil, err
	case !run.Same:
		return nil, ErrBare
	case len(first.Outcome.Decisions) < tape.MaxDecisions && run.Outcome.Hash != first.Outcome.Hash:
		return nil, ErrVaries
	}
	w.accept(bare, run)
	w.proven, w.provenRun = bare, run
	w.reduce()
	w.secondWay(bare, run)
	r := &Result{w.proven, w.provenRun, Shrunk{From: start, To: sizeOf(s.Spec, &w.proven.Cut, w.provenRun.Outcome), Runs: w.runs, CPUNs: int64(w.cpu),
		Needed: w.needed(), Minimal: w.minimal}}
	if !r.Minimal {
		r.End = w.why()
	}
	return r, nil
}

// work is a search under way.
type work struct {
	*Search
	budget
	turn
	outer context.Context
	start Size // of the run that is shrunk
	// Case and Run are the smallest so far.
	Case
	*Run
	// proven is the smallest that has been replayed.
	proven    Case
	provenRun *Run
	provenAt  int // runs made by then
	stage     string
	lost      map[[sha256.Size]byte]bool // Cases that are known not to show the failure
	deaf      map[string]bool            // clients whose driver leaves nothing out
	oneWay    bool                       // single faults are not tried
	aloneLed  bool                       // they were, and led on
	leapt     int                        // faults of the run from which no leap led on
	leaps     float64                    // the part of the budget that leaps have used
	renewals  uint64                     // runs in which the failure was sought anew
	varies    bool                       // a smaller run did not repeat
	minimal   bool
	cut       bool // a stage of this round was left before its end
}

// halving is the stage that gains most, and may need many runs for it.
const halving = "halving the operations"

// proofEvery is the number of runs after which a smaller run is made again, also within a stage: whatever ends the search, no more than these runs are lost.
const proofEvery = 10

// secondWay shrinks the run once more without the stage of single faults, if that had led on and there is enough left of the budget: where one way
// ends in a run of which nothing can go, the other may lead to a smaller one. The smaller of the two counts.
func (w *work) secondWay(bare Case, run *Run) {
	first := *w
	size := func(w *work) Size { return sizeOf(w.Spec, &w.proven.Cut, w.provenRun.Outcome) }
	if !w.aloneLed || w.spent() || w.varies || w.part() >= secondShare || size(&first).Operations <= fewestOperations {
		return
	}
	w.oneWay, w.leapt, w.minimal = true, 0, false
	w.accept(bare, run)
	w.proven, w.provenRun = bare, run
	w.reduce()
	if !size(w).Less(size(&first)) {
		w.Case, w.Run, w.proven, w.provenRun = first.Case, first.Run, first.proven, first.provenRun
		w.minimal, w.varies = first.minimal, first.varies
	}
}

// Up to which part of the budget a second way begins, and how few operations need none.
const (
	secondShare      = 0.5
	fewestOperations = 4
)

func (w *work) reduce() {
rounds:
	for range MaxRounds {
		before := w.size()
		w.cut = false
		for _, stage := range []struct {
			name string
			do   func()
		}{
			{"ending the run earlier", func() { w.end(slackNs) }},
			{"trying single faults", w.alone},
			{halving, w.halve}, // early: all runs after it take half as long
			{"removing random decisions", w.noise},
			{"removing faults", w.faults},
			{"removing many decisions", w.many},
			{"removing operations", w.operations},
			{"removing operations, moving faults", w.elsewhere},
			{"moving faults", w.leap},
			{"removing nodes", w.nodes},
			{"removing decisions", w.decisions},
			{"shortening faults", w.durations},
			{"ending the run earlier", func() { w.end(0) }},
			{"trying each decision", w.singles},
		} {
			w.enter(stage.name, true)
			w.turn.patient = stage.name == halving
			stage.do()
			w.cut = w.cut || w.over()
			if !w.replay() || w.spent() {
				return
			}
			if w.late() {
				break rounds
			}
		}
		if w.size() == before && !w.cut {
			break
		}
	}
	// Whatever else was left before its end: that no single decision can go is proven with all that remains.
	w.enter("trying each decision", false)
	w.singles()
	w.minimal = w.replay() && !w.spent()
}

// enter begins a stage, which may be bounded.
func (w *work) enter(stage string, bounded bool) { w.stage, w.turn = stage, w.beginStage(bounded) }

// late reports whether the rest of the budget is what the proof takes that no single decision can go: a run for each decision, and one from its
// boot, which takes the longest, for what it has come to.
func (w *work) late() bool { return w.budget.late(len(removable(w.Run)) + 1 + 3*max(w.Workers, 1)) }

func (w *work) size() Size { return sizeOf(w.Spec, &w.Cut, w.Outcome) }

// over reports whether the stage is to be left.
func (w *work) over() bool {
	return w.spent() || w.varies || w.bounded && w.late() || w.budget.over(&w.turn)
}

// why says what ended the search before its end.
func (w *work) why() string {
	if w.varies {
		return "a smaller run did not repeat"
	}
	return w.budget.why()
}

// try makes a run, at the cost of the budget.
func (w *work) try(ctx context.Context, c Case, proof bool) (*Run, error) {
	r, err := w.Try(ctx, c, proof)
	w.paid(r)
	return r, err
}

func (w *work) paid(r *Run) {
	w.runs++
	if r != nil {
		w.cpu += time.Duration(r.CPUNs)
	}
}

// grown reports whether a run is larger than the one that is to be shrunk: what it has in the place of a decision that is gone is no gain then.
func (w *work) grown(r *Run) bool {
	now := sizeOf(w.Spec, &w.Cut, r.Outcome)
	return now.Operations > w.start.Operations || now.Faults > w.start.Faults || now.Decisions > w.start.Decisions
}

// needed counts the decisions of the smallest run without which, one at a time, the failure is gone.
func (w *work) needed() (n int) {
	for i := range removable(w.provenRun) {
		if w.lost[key(lacking(w.proven, w.provenRun, i))] {
			n++
		}
	}
	return n
}

// lacking is a Case whose run is r, without the i-th decision that may go.
func lacking(c Case, r *Run, i int) Case {
	gone := removable(r)[i]
	c.Tape = Bare(c.Tape, chosen(r, func(d tape.Decision) bool { return d != gone }))
	return c
}

func (w *work) accept(c Case, r *Run) {
	// Edits that the run did not use are no part of it.
	c.Tape = Bare(c.Tape, r.Outcome.Decisions)
	w.Case, w.Run = c, r
	w.turn.idle, w.turn.runsBy = w.part(), w.runs
}

// replay makes the smallest run again, if it is a new one, before it is believed. If it comes out differently the
// search is over, with the last run that did repeat.
func (w *work) replay() bool {
	switch {
	case w.varies:
		return false
	case w.Run == w.provenRun:
		return true
	}
	again, err := w.try(w.outer, w.Case, true) // also when the budget has ended
	if err != nil {
		return false
	}
	if !again.Same || again.Outcome.Hash != w.Outcome.Hash {
		w.varies = true
		return false
	}
	w.Run = again
	w.proven, w.provenRun, w.provenAt = w.Case, again, w.runs
	return true
}

// first tries n cases in their order, some at once, and takes the first that shows the failure and is good. It returns
// its place, or -1.
func (w *work) first(n int, nth func(i int) Case, good func(*Run) bool) int {
	type tried struct {
		made bool
		run  *Run
		err  error
	}
	batch := max(w.Workers, 1)
	for at := 0; at < n && !w.over(); at += batch {
		here := min(batch, n-at)
		if w.MaxRuns > 0 {
			here = min(here, w.MaxRuns-w.runs)
		}
		now := make([]Case, here)
		for i := range now {
			now[i] = nth(at + i)
		}
		results := make([]tried, len(now))
		var all sync.WaitGroup
		for i := range now {
			if w.lost[key(now[i])] {
				continue
			}
			results[i].made = true
			all.Go(func() {
				results[i].run, results[i].err = w.Try(w.ctx, now[i], false)
			})
		}
		all.Wait()
		for _, r := range results {
			if r.made {
				w.paid(r.run)
			}
		}
		for i, r := range results {
			switch {
			case r.err != nil && w.ctx.Err() != nil:
			case r.run == nil || !r.run.Same || w.grown(r.run) || good != nil && !good(r.run):
				w.lost[key(now[i])] = true
			default:
				w.accept(now[i], r.run)
				w.report()
				if w.runs-w.provenAt >= proofEvery {
					w.replay()
				}
				return at + i
			}
		}
		w.report()
	}
	return -1
}

func (w *work) report() {
	if w.Progress != nil {
		w.Progress(Progress{w.runs, w.stage, w.size()})
	}
}

// any is first for a list of cases.
func (w *work) any(cases []Case, good func(*Run) bool) int {
	return w.first(len(cases), func(i int) Case { return cases[i] }, good)
}

func key(c Case) [sha256.Size]byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic("shrink: " + err.Error()) // plain data
	}
	return sha256.Sum256(b)
}

// each takes away single things of n until none of them can go. without is the Case without one of those that are there now.
func (w *work) each(n func() int, without func(i int) Case, good func(*Run) bool) {
	for gone := true; gone && !w.over(); {
		gone = false
		for from := 0; from < n(); {
			start := from
			i := w.first(n()-from, func(i int) Case { return without(start + i) }, good)
			if i < 0 {
				break
			}
			gone = true // after which those before it may go, too
			from += i   // where now stands what followed
		}
	}
}

// end cuts off what comes after the failure and some slack.
func (w *work) end(slack int64) {
	if w.Verdict.TimeNs == 0 {
		return
	}
	now := w.Cut.EndNs
	if now == 0 {
		now = w.Outcome.VirtualNs
	}
	var cases []Case
	for _, end := range []int64{w.Verdict.TimeNs + 1 + slack, w.Verdict.TimeNs + w.Verdict.TimeNs/4 + slack} {
		if end < now-now/50 {
			c := w.Case
			c.Cut.EndNs = end
			cases = append(cases, c)
		}
	}
	w.any(cases, nil)
}

// chosen are the decisions of a run for which is holds.
func chosen(r *Run, is func(tape.Decision) bool) []tape.Decision {
	var list []tape.Decision
	for _, d := range r.Outcome.Decisions {
		if is(d) {
			list = append(list, d)
		}
	}
	return list
}

// keep is the Case of the present one's decisions for which is holds, and of its length.
func (w *work) keep(is func(tape.Decision) bool) Case {
	return Case{Bare(w.Tape, chosen(w.Run, func(d tape.Decision) bool { return isLength(d) || is(d) })), w.Cut}
}

// isFault distinguishes injected faults from other decisions, also from those about all faults of a rule.
func isFault(d tape.Decision) bool {
	return strings.HasPrefix(d.Stream, "fault/") && !fault.OfRun(d.Stream)
}

// isLength reports whether a decision makes the run shorter: without it, the run would grow.
func isLength(d tape.Decision) bool { return world.OfLength(d.Stream) }

func isOther(d tape.Decision) bool { return !isFault(d) && !isLength(d) }

// removable are the decisions that may go.
func removable(r *Run) []tape.Decision {
	return chosen(r, func(d tape.Decision) bool { return !isLength(d) })
}

// kindOf is the part of a stream's name that says what its draws decide.
func kindOf(d tape.Decision) string {
	parts := strings.Split(d.Stream, "/")
	if parts[0] == "net" {
		return "net/" + parts[len(parts)-1]
	}
	return strings.Join(parts[:min(2, len(parts)-1)], "/")
}

// noise takes away all decisions that are no faults, at once or a kind at a time.
func (w *work) noise() {
	if !slices.ContainsFunc(w.Outcome.Decisions, isOther) {
		return
	}
	plain, bounded := w.keep(isFault), w.keep(isFault)
	bounded.Cut.Skip = w.bounds()
	if w.any([]Case{plain, bounded}, nil) >= 0 {
		return
	}
	w.groups(func(d tape.Decision) string {
		if isFault(d) {
			return ""
		}
		if kind := kindOf(d); strings.HasPrefix(kind, "net/") {
			return kind
		}
		return d.Stream[:strings.Index(d.Stream+"/", "/")]
	})
}

// faults takes away faults: those of a kind, of a target, and then single ones.
func (w *work) faults() {
	for _, group := range []func(tape.Decision) string{kindOf, func(d tape.Decision) string { return d.Stream }} {
		w.groups(func(d tape.Decision) string {
			if !isFault(d) {
				return ""
			}
			return group(d)
		})
	}
	w.some(isFault, 0)
}

// Leaps: how many runs may look for fewer faults from each number of faults on, and how many draws of its stream an injected fault
// is moved by at most.
const (
	maxLeaps     = 96
	leapBatch    = 8 // between looks at the budget
	leapDraws    = 32
	maxLeapCount = 32 // faults; runs with more of them have no use for leaps
)

// leap looks for a failing run with fewer faults when none of them can just go: some of them, at moments nearby and of
// other durations. It comes before operations are taken away, while many of them can still see what is wrong.
func (w *work) leap() {
	for !w.over() {
		injections, others := chosen(w.Run, isFault), chosen(w.Run, func(d tape.Decision) bool { return !isFault(d) })
		n := len(injections)
		if n < 2 || n > maxLeapCount || n == w.leapt {
			return
		}
		fewer := func(r *Run) bool { return len(chosen(r, isFault)) < n }
		leap := func(i int) Case {
			to := moved(injections, i)
			if i%2 == 1 {
				to = w.instead(injections, i)
			}
			return Case{Bare(w.Tape, append(to, others...)), w.Cut}
		}
		led := false
		for i := 0; i < maxLeaps && !led && w.leaps < 1.0/leapShare; {
			before, batch := w.part(), min(leapBatch, maxLeaps-i)
			if one := w.ofOneRun(); one > 0 { // no more than the share has room for
				batch = min(batch, int((1.0/leapShare-w.leaps)/one)+1)
			}
			led = w.first(batch, func(k int) Case { return leap(i + k) }, fewer) >= 0
			w.leaps += w.part() - before
			i += batch
		}
		if !led {
			w.leapt = n
			return
		}
		w.faults()
	}
}

// moved gives some of the faults, fewer than there are, each at another moment and of another duration: a pure function
// of the faults and i.
func moved(injections []tape.Decision, i int) []tape.Decision {
	src := tape.NewSource(tape.Tape{Seed: uint64(i)})
	left := slices.Clone(injections)
	for keep := 1 + i%min(len(injections)-1, 3); len(left) > keep; {
		k := src.Choose("drop", uint64(len(left)))
		left = slices.Delete(left, int(k), int(k)+1)
	}
	for k := range left {
		d := &left[k]
		d.Index = max(d.Index+src.Choose("moment", 2*leapDraws+1), leapDraws) - leapDraws
		shape := (d.Value - 1) / fault.DurationSteps * fault.DurationSteps
		d.Value = min(1+shape+src.Choose("duration", fault.DurationSteps), max(d.N, 2)-1)
	}
	return left
}

// instead gives one injection for all of them, near the moment of one, at any target of its rule: a node that is cut off is
// what several links may come to. It is a pure function of the faults and i.
func (w *work) instead(injections []tape.Decision, i int) []tape.Decision {
	src := tape.NewSource(tape.Tape{Seed: uint64(i)})
	d := injections[src.Choose("strike", uint64(len(injections)))]
	if plan, err := fault.New(w.Spec); err == nil {
		for k := range plan.Rules {
			targets := plan.Rules[k].Targets
			if slices.ContainsFunc(targets, func(t fault.Target) bool { return t.Stream == d.Stream }) {
				d.Stream = targets[src.Choose("target", uint64(len(targets)))].Stream
				break
			}
		}
	}
	d.Index = max(d.Index+src.Choose("moment", 2*leapDraws+1), leapDraws) - leapDraws
	d.Value = 1 + src.Choose("duration", fault.DurationSteps) + fault.DurationSteps*src.Choose("shape", 2) // clamped by the draw
	return []tape.Decision{d}
}

// groupTries is how many tries in a row with groups of decisions may lead nowhere: single ones are tried after that.
const groupTries = 6

// groups takes away all decisions of a group, for each group that has a name.
func (w *work) groups(name func(tape.Decision) string) {
	names := func() []string {
		var list []string
		for _, d := range removable(w.Run) {
			if n := name(d); n != "" && !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
		return list
	}
	w.lessen(names, func(gone map[string]bool) Case {
		return w.keep(func(d tape.Decision) bool { return !gone[name(d)] })
	}, nil, groupTries)
}

// many takes away many decisions at once, with few tries: operations that are left out give the rest another meaning.
func (w *work) many() { w.some(isOther, manyTries) }

// manyTries is how many runs in a row that do not fail end that.
const manyTries = 8

func (w *work) decisions() { w.some(isOther, 0) }

// singles proves that no single decision can go, or takes away those that can.
func (w *work) singles() {
	w.each(func() int { return len(removable(w.Run)) }, func(i int) Case { return lacking(w.Case, w.Run, i) }, nil)
}

// some takes away those decisions for which is holds. It gives up after so many tries in a row that led nowhere, if that is not 0.
func (w *work) some(is func(tape.Decision) bool, inVain int) {
	name := func(d tape.Decision) string { return fmt.Sprintf("%s %d", d.Stream, d.Index) }
	w.lessen(func() []string {
		var list []string
		for _, d := range chosen(w.Run, is) {
			list = append(list, name(d))
		}
		return list
	}, func(gone map[string]bool) Case {
		return w.keep(func(d tape.Decision) bool { return !is(d) || !gone[name(d)] })
	}, nil, inVain)
}

// fewClients is how many clients are taken away one by one; of more of them, rows.
const fewClients = 8

// hearing lists the clients of the run whose driver may leave operations out, and the number of the last operation of each.
func (w *work) hearing() (clients []string, last map[string]int) {
	last = map[string]int{}
	for _, o := range operations(&w.Cut, w.Outcome.History) {
		if w.deaf[o.client] {
			continue
		}
		if _, known := last[o.client]; !known {
			clients = append(clients, o.client)
		}
		last[o.client] = o.k
	}
	return clients, last
}

// bounds has clients end after their last operation of the run: what they would do later must not come earlier instead.
func (w *work) bounds() []world.Skip {
	clients, last := w.hearing()
	skip := slices.Clone(w.Cut.Skip)
	for _, c := range clients {
		skip = append(skip, world.Skip{Client: c, From: last[c] + 1})
	}
	return without(skip, nil)
}

// operations takes away the operations of whole clients, and then more of them. Clients of a driver that does not leave out
// what it is told to are left alone.
func (w *work) operations() {
	clients, _ := w.hearing()
	if len(clients) == 0 {
		return
	}
	bounded := w.Case
	bounded.Cut.Skip = w.bounds()
	if !slices.Equal(bounded.Cut.Skip, w.Cut.Skip) && w.any([]Case{bounded}, nil) < 0 {
		return
	}
	less := func(r *Run) bool { return fewer(r, w.Run) }
	for _, named := range []func(operation) bool{w.cited, w.quoted, w.concerned()} {
		if slices.ContainsFunc(operations(&w.Cut, w.Outcome.History), named) {
			w.any(w.withoutOperations(func(o operation) bool { return !named(o) }), less)
		}
	}
	w.dropClients(clients, less)
	w.forgetDeaf()
	name := func(o operation) string { return fmt.Sprintf("%s %d", o.client, o.k) }
	w.lessen(func() []string {
		var list []string
		for _, o := range operations(&w.Cut, w.Outcome.History) {
			if !w.deaf[o.client] {
				list = append(list, name(o))
			}
		}
		return list
	}, func(gone map[string]bool) Case {
		return w.leaveOut(func(o operation) bool { return gone[name(o)] })
	}, less, 0)
}

// forgetDeaf takes back what clients were told that do not listen.
func (w *work) forgetDeaf() {
	c := w.Case
	c.Cut.Skip = slices.DeleteFunc(slices.Clone(w.Cut.Skip), func(s world.Skip) bool { return w.deaf[s.Client] })
	if len(c.Cut.Skip) < len(w.Cut.Skip) {
		w.any([]Case{c}, nil)
	}
}

// halve takes away the later half of the operations of all clients, or the earlier one, or what is left of the two in between, as long as the
// failure stays: each time, runs take half as long.
func (w *work) halve() {
	less := func(r *Run) bool { return fewer(r, w.Run) }
	for !w.over() {
		all := slices.DeleteFunc(operations(&w.Cut, w.Outcome.History), func(o operation) bool { return w.deaf[o.client] })
		if len(all) < fewOperations {
			return
		}
		cut := func(from, to int) []Case {
			gone := map[operation]bool{}
			for _, o := range all[from:to] {
				gone[o] = true
			}
			cases := w.withoutOperations(func(o operation) bool { return gone[o] })
			for i := range cases {
				c := &cases[i]
				c.Cut.Skip = without(append(w.bounds(), c.Cut.Skip...), nil)
			}
			return cases
		}
		half, quarter := len(all)/2, len(all)/4
		if w.any(cut(half, len(all)), less) >= 0 {
			continue
		}
		beginning := func(part int) world.Cut { return cut(len(all)/part, len(all))[0].Cut }
		if len(all) >= renewedOperations && w.renew(beginning, less) {
			continue
		}
		if w.any(append(cut(0, half), cut(quarter, quarter+half)...), less) < 0 {
			return
		}
	}
}

// Renewals: from how many operations on a failure is sought anew, and in how many runs each time.
const (
	renewedOperations = 24
	maxRenewals       = 56
)

// renewedParts are the parts of the operations, one in so many, among which a failure is sought anew. The less a run does, the less time it takes
// and the more it gains, but the less likely it fails.
var renewedParts = []int{8, 8, 4, 4, 2, 2}

// renew looks for the failure with fewer operations and faults at other moments, as a campaign would: what depends on the moment of a fault is gone
// with any operation before it, and comes back at another moment. Every second run has one of the faults alone. All other chance is that of the tape
// that was found.
func (w *work) renew(beginning func(part int) world.Cut, less func(*Run) bool) bool {
	if w.Found == nil {
		return false
	}
	plan, err := fault.New(w.Spec)
	if err != nil {
		return false
	}
	var strikes []tape.Decision
	if injections := chosen(w.Run, isFault); len(injections) > 1 {
		strikes = w.strikes(plan, injections)
	}
	anew := func(part int) Case {
		cut := beginning(part)
		cut.EndNs = 0
		w.renewals++
		if n := uint64(len(strikes)); n > 0 && w.renewals%2 == 0 {
			if c, ok := w.anywhere(plan, strikes[w.renewals/2%n], cut, part, w.renewals); ok {
				return c
			}
		}
		t := tape.Tape{Seed: w.Found.Seed}
		// Of two edits that give a draw another seed, the later one counts; rates that the tape sets stay.
		t.Edits = append(slices.Clone(w.Found.Edits), tape.Edit{Op: tape.Reseed, Stream: fault.Streams, Ready: true, Seed: w.renewals})
		return Case{t, cut}
	}
	for i := 0; i < maxRenewals && !w.over(); i += len(renewedParts) {
		var cases []Case
		for _, part := range renewedParts {
			cases = append(cases, anew(part))
		}
		if w.any(cases, less) >= 0 {
			w.end(slackNs)
			return true
		}
	}
	return false
}

// fewOperations are so few that halving them makes no run shorter that counts.
const fewOperations = 16

// withoutOperations are cases without some operations: with faults at the moments that are now theirs, and as the tape has them.
func (w *work) withoutOperations(gone func(operation) bool) []Case {
	c := w.leaveOut(gone)
	as := c
	as.Tape = w.Case.Tape
	if key(as) == key(c) {
		return []Case{c}
	}
	return []Case{c, as}
}

// leaveOut is the case without some operations.
func (w *work) leaveOut(gone func(operation) bool) Case {
	c := w.Case
	c.Tape = Bare(c.Tape, w.follow(w.Outcome.Decisions, gone))
	var list []operation
	for _, o := range operations(&w.Cut, w.Outcome.History) {
		if gone(o) {
			list = append(list, o)
		}
	}
	c.Cut.Skip = without(w.Cut.Skip, list)
	return c
}

// dropClients takes away the operations of whole clients, and notes those whose driver goes on regardless.
func (w *work) dropClients(clients []string, less func(*Run) bool) {
	if len(clients) <= fewClients {
		for _, client := range clients {
			w.any([]Case{w.leaveOut(func(o operation) bool { return o.client == client })}, func(r *Run) bool {
				w.deaf[client] = countOperations(r, client) > 0
				return !w.deaf[client] && fewer(r, w.Run)
			})
		}
		return
	}
	w.any([]Case{w.leaveOut(func(operation) bool { return true })}, func(r *Run) bool {
		for _, client := range clients {
			w.deaf[client] = countOperations(r, client) > 0
		}
		return fewer(r, w.Run)
	})
	left := func() []string {
		var list []string
		for _, o := range operations(&w.Cut, w.Outcome.History) {
			if !w.deaf[o.client] && !slices.Contains(list, o.client) {
				list = append(list, o.client)
			}
		}
		return list
	}
	w.lessen(left, func(gone map[string]bool) Case {
		return w.leaveOut(func(o operation) bool { return gone[o.client] })
	}, less, 0)
}

// eventIn is how evidence cites an event.
var eventIn = regexp.MustCompile(`\bevent (\d+)`)

// cited reports whether the evidence cites an operation by its event: the others may not matter.
func (w *work) cited(o operation) bool {
	return slices.ContainsFunc(w.Verdict.Evidence, func(line string) bool {
		return slices.ContainsFunc(eventIn.FindAllStringSubmatch(line, -1), func(m []string) bool { return m[1] == strconv.FormatUint(o.event, 10) })
	})
}

// quoted reports whether the evidence names the key of an operation.
func (w *work) quoted(o operation) bool {
	return o.key != "" && slices.ContainsFunc(w.Verdict.Evidence, func(line string) bool { return strings.Contains(line, strconv.Quote(o.key)) })
}

// concerned reports whether an operation is of a client of which the evidence cites or names one: what it names may need
// what the same client did before.
func (w *work) concerned() func(operation) bool {
	clients := map[string]bool{}
	for _, o := range operations(&w.Cut, w.Outcome.History) {
		if w.cited(o) || w.mentioned(o) {
			clients[o.client] = true
		}
	}
	return func(o operation) bool { return clients[o.client] }
}

// mentioned reports whether the key of an operation stands in the evidence as a word.
func (w *work) mentioned(o operation) bool {
	if o.key == "" {
		return false
	}
	word := regexp.MustCompile(`(^|\W)` + regexp.QuoteMeta(o.key) + `(\W|$)`)
	return slices.ContainsFunc(w.Verdict.Evidence, word.MatchString)
}

// fewer reports whether a run has fewer operations than another one.
func fewer(a, b *Run) bool { return countOperations(a, "") < countOperations(b, "") }

// countOperations counts the operations of a client, or of all.
func countOperations(r *Run, client string) int {
	n := 0
	for _, o := range operations(&world.Cut{}, r.Outcome.History) {
		if client == "" || o.client == client {
			n++
		}
	}
	return n
}

// nodes leaves out programs of nodes. Where it takes decisions to make the run fail, it must take some without the node, too: a
// world that fails so from the start shows something else.
func (w *work) nodes() {
	needed := false
	calm := func(cut world.Cut) bool {
		r, err := w.try(w.ctx, Case{Bare(w.Tape, chosen(w.Run, isLength)), cut}, false)
		return err == nil && !r.Same
	}
	if len(removable(w.Run)) > 0 && calm(w.Cut) {
		needed = true
	}
	for i := range w.Spec.Nodes {
		n := &w.Spec.Nodes[i]
		if n.Role != world.Server || len(n.Command) == 0 || slices.Contains(w.Cut.Idle, n.Name) {
			continue
		}
		c := w.Case
		c.Cut.Idle = append(slices.Clone(w.Cut.Idle), n.Name)
		w.any([]Case{c}, func(*Run) bool { return !needed || calm(c.Cut) })
	}
}

// durations makes faults shorter: an injected fault's draw counts the steps of its duration from 1 on, for each of its shapes.
func (w *work) durations() {
	for i := 0; i < len(w.Outcome.Decisions) && !w.over(); i++ {
		d := w.Outcome.Decisions[i]
		if !isFault(d) {
			continue
		}
		steps := (d.Value - 1) % fault.DurationSteps
		var cases []Case
		for cut := steps; cut > 0; cut /= 2 { // the shortest first
			list := slices.Clone(w.Outcome.Decisions)
			list[i].Value = d.Value - cut
			cases = append(cases, Case{Bare(w.Tape, list), w.Cut})
		}
		w.any(cases, func(r *Run) bool {
			return len(r.Outcome.Decisions) <= len(w.Outcome.Decisions) && countOperations(r, "") <= countOperations(w.Run, "")
		})
	}
}
