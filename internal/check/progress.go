package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check/histories"
	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// maxStreakShown bounds the attempts that the evidence of a streak lists, first and last ones.
const maxStreakShown = 6

// streak is the attempts at one thing that have failed since it last succeeded.
type streak struct {
	count int
	first []attempt // the first ones
	last  []attempt // the latest ones
}

func (s *streak) add(a attempt) {
	s.count++
	if len(s.first) < maxStreakShown/2 {
		s.first = append(s.first, a)
		return
	}
	if len(s.last) == maxStreakShown/2 {
		s.last = slices.Delete(s.last, 0, 1)
	}
	s.last = append(s.last, a)
}

// evidence lists a streak in words.
func (s *streak) evidence() []string {
	var lines []string
	for _, a := range s.first {
		lines = append(lines, a.String())
	}
	if more := s.count - len(s.first) - len(s.last); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	for _, a := range s.last {
		lines = append(lines, a.String())
	}
	return lines
}

// progressing judges that nothing is stuck: no kind of operation, key or job fails so many times in a row, and none
// hangs for so long. What overlaps a fault, or the grace after it, is not counted: it neither adds to a row nor ends it
// by failing. Where drivers broke down, abandonedNs is when the last one was over; otherwise it is 0. A history alone has no
// Spec.
func progressing(spec *world.Spec, p *world.Property, out *record.Outcome, abandonedNs int64) Verdict {
	v := verdict.New(p)
	attempts, jobs, err := attemptsOf(p, out, abandonedNs)
	if err != nil {
		return verdict.Undecided(p, "%v", err)
	}
	c := &p.Check
	allowed, without, err := allowanceOf(spec, p, out)
	if err != nil {
		return verdict.Undecided(p, "%v", err)
	}
	missing := histories.Unseen(c.Operations, invoked(out.History))
	stuck, when := longHang(c, allowed, attempts, without)
	row, at, doubt := longRow(c, allowed, attempts, without)
	switch {
	case row != nil && (stuck == nil || at <= when):
		v.Violate(row.event, at, row.Claim)
		v.Evidence = row.evidence
		return v
	case stuck != nil:
		v.Violate(stuck.event, when, stuck.Claim)
		v.Evidence = stuck.evidence
		return v
	case missing != "":
		return verdict.Undecided(p, "%s", missing)
	case len(attempts) == 0 && c.Jobs.Start != "":
		return verdict.Idle(p, "neither an operation nor a job was seen")
	case len(attempts) == 0:
		return verdict.Idle(p, "no operation was reported")
	case c.Jobs.Start != "" && jobs == 0:
		return verdict.Undecided(p, "no job was seen: no line of a program matched the patterns")
	case out.JobsLost > 0:
		return verdict.Undecided(p, "too many lines report jobs: %d lines beyond the limit were ignored", out.JobsLost)
	case doubt != "":
		return verdict.Undecided(p, "%s", doubt)
	case c.HangNs > 0 && !couldHang(c, allowed, attempts, out.VirtualNs):
		return verdict.Idle(p, "no operation was in flight for %s%s, so none could count as hanging", verdict.Seconds(c.HangNs), without.words)
	}
	v.Status = Holds
	if lasted, _ := faulty(&out.Ledger, 0); p.Tolerant() {
		for i := range attempts {
			if a := &attempts[i]; a.ok && !free(lasted, a.fromNs, a.toNs) && !allowed.covers(a) {
				v.Withstood++
			}
		}
	}
	return v
}

// excused are the times in which nothing counts: those of injections and the grace after them. It reports whether the ledger lists
// all faults.
func excused(c *world.Check, out *record.Outcome) (spans []span, complete bool) {
	if c.DuringFaults {
		return nil, true
	}
	spans, complete = faulty(&out.Ledger, c.GraceNs, c.Despite...)
	if c.GraceNs > 0 {
		spans = merged(append(spans, span{0, out.ReadyNs + c.GraceNs}))
	}
	return spans, complete
}

// What may be stuck: a subject, and the circumstance in which it counts.
var (
	failsAlways = failure.Declare("progress/fails")
	hangsOn     = failure.Declare("progress/hangs")
)

// finding is a violation in words, with its event and its evidence.
type finding struct {
	failure.Claim
	event    uint64
	evidence []string
}

// rowSubject identifies the attempts of a row of failures by their kind of operation, their key, or both.
type rowSubject struct{ kind, key string }

func (s rowSubject) String() string {
	switch {
	case s.kind == jobKind && s.key != "":
		return fmt.Sprintf("job %q", s.key)
	case s.key != "" && s.kind != "":
		return fmt.Sprintf("%s of key %q", s.kind, s.key)
	case s.key != "":
		return fmt.Sprintf("key %q", s.key)
	}
	return fmt.Sprintf("every %s", s.kind)
}

// code is the subject for causes.
func (s rowSubject) code() string {
	switch {
	case s.kind == jobKind && s.key != "":
		return jobKind
	case s.key != "" && s.kind != "":
		return s.kind + "/key"
	case s.key != "":
		return "key"
	}
	return "every/" + s.kind
}

// subjects lists the subjects to whose rows an attempt belongs.
func (a *attempt) subjects() []rowSubject {
	about := []rowSubject{{a.kind, ""}}
	if a.key != "" {
		about = append(about, rowSubject{a.kind, a.key})
		if a.kind != jobKind { // a job and a key may have one name
			about = append(about, rowSubject{"", a.key})
		}
	}
	return about
}

// tally counts the ended attempts at a subject, and those of them that count.
type tally struct {
	all, outside int
	succeeded    bool
}

// eachRow goes through the ends of attempts and calls visit with each row of failures that grows, until it says false. It counts
// the attempts at each subject that was tried. A success ends a row wherever it lies.
func eachRow(allowed allowance, attempts []attempt, visit func(s rowSubject, row *streak, a *attempt) bool) map[rowSubject]tally {
	ends := slices.DeleteFunc(slices.Clone(attempts), func(a attempt) bool { return !a.ended })
	slices.SortStableFunc(ends, func(a, b attempt) int { return cmp.Compare(a.toNs, b.toNs) })
	rows := map[rowSubject]*streak{}
	counted := map[rowSubject]tally{}
	for i := range ends {
		a := &ends[i]
		excused := allowed.covers(a)
		for _, s := range a.subjects() {
			n := counted[s]
			n.all++
			if !excused {
				n.outside++
			}
			n.succeeded = n.succeeded || a.ok
			counted[s] = n
			if a.ok {
				delete(rows, s)
			}
			if a.ok || excused {
				continue
			}
			r := rows[s]
			if r == nil {
				r = &streak{}
				rows[s] = r
			}
			if r.add(*a); !visit(s, r, a) {
				return counted
			}
		}
	}
	return counted
}

// longRow finds the first row of failures that is too long, and why the attempts say too little if there is none.
func longRow(c *world.Check, allowed allowance, attempts []attempt, without circumstance) (*finding, int64, string) {
	if c.Failures <= 0 {
		return nil, 0, ""
	}
	var found *finding
	var when int64
	counted := eachRow(allowed, attempts, func(s rowSubject, r *streak, a *attempt) bool {
		if r.count < c.Failures {
			return true
		}
		c := failsAlways.Cause(s.code(), without.code).Claim("%s failed %d times in a row%s, from %s on", s, r.count, without.words,
			verdict.Seconds(r.first[0].fromNs))
		found = &finding{c, a.event, r.evidence()}
		when = a.toNs
		return false
	})
	if found != nil {
		return found, when, ""
	}
	for i := range attempts {
		for _, s := range attempts[i].subjects() {
			switch n := counted[s]; {
			case n.all == 0 || n.succeeded:
			case n.outside == 0 && s.key == "":
				return nil, 0, fmt.Sprintf("%s failed only during a fault or the grace, so no failure was judged; set "+
					"during_faults, shorten the grace, begin with a warmup, or add time without faults", s)
			case n.all >= c.Failures && n.outside > 0:
				return nil, 0, fmt.Sprintf("%s failed all %d times, but only %d of these did not overlap a fault or the grace; "+
					"reduce `failures` or `grace`, or add time without faults", s, n.all, n.outside)
			}
		}
	}
	shorter := ""
	if c.GraceNs > 0 {
		without.words += " and its grace"
		shorter = " or `grace`"
	}
	most := 0
	for _, n := range counted {
		most = max(most, n.outside)
	}
	jobs := counted[rowSubject{kind: jobKind}].outside
	switch {
	case most < c.Failures:
		return nil, 0, fmt.Sprintf("%d failures in a row were not possible: no kind of operation, key or job had more than %d "+
			"attempts%s; lower `failures`%s, or lengthen the workload",
			c.Failures, most, without.words, shorter)
	case c.Jobs.Start != "" && c.HangNs == 0 && jobs < c.Failures:
		return nil, 0, fmt.Sprintf("no job could have failed %d times in a row: there were %d attempts%s; lower `failures`, or add `hang`",
			c.Failures, jobs, without.words)
	}
	return nil, 0, ""
}

// longHang finds what was under way for too long first.
func longHang(c *world.Check, allowed allowance, attempts []attempt, without circumstance) (*finding, int64) {
	if c.HangNs <= 0 {
		return nil, 0
	}
	var found *finding
	var when int64
	for i := range attempts {
		a := &attempts[i]
		if a.toNs-a.fromNs < c.HangNs {
			continue
		}
		for _, s := range allowed.counted(a) {
			if s.toNs-s.fromNs < c.HangNs {
				continue
			}
			if at := s.fromNs + c.HangNs; found == nil || at < when {
				when = at
				c := hangsOn.Cause(a.code(), without.code).Claim("%s was under way for %s%s, from %s on", a.subject(),
					verdict.Seconds(s.toNs-s.fromNs), without.words, verdict.Seconds(s.fromNs))
				found = &finding{c, a.event, []string{a.String()}}
			}
			break
		}
	}
	return found, when
}

// couldHang reports whether something was under way in a time that is long enough to see it hang, and early enough in it.
func couldHang(c *world.Check, allowed allowance, attempts []attempt, endNs int64) bool {
	for _, s := range allowed.countedInRun(endNs) {
		if s.toNs-s.fromNs >= c.HangNs && slices.ContainsFunc(attempts, func(a attempt) bool { return a.fromNs <= s.toNs-c.HangNs && a.toNs >= s.fromNs }) {
			return true
		}
	}
	return false
}
