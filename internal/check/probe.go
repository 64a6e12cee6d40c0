package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// finalPhase is when all faults are over and the world has settled.
const finalPhase = "final"

// Bounds of what a verdict shows of the output of probes, in bytes. Of the first violation it shows further lines.
const (
	maxOutputShown = 400
	maxLinesShown  = 30
	maxLineBytes   = 4 << 10
)

// What may be wrong by a probe: what it says, as said has it.
var (
	probeFailed = failure.Declare("probe/failed")
	probeLate   = failure.Declare("probe/late") // after the start or after a heal, which is the first field
)

// said returns a probe's answer for causes: the first line of a user's program or function; of the probes that come
// with Bloodhound, whose words are Bloodhound's own, their codes.
func said(p *world.Property, q *record.Probe) []string {
	if !p.Check.Type.Kind().Words {
		if q.Cause != nil {
			return append([]string{string(q.Cause.Code)}, q.Cause.Fields...)
		}
		return []string{lineOf(q.Output)}
	}
	switch q.ExitCode {
	case world.ProbeViolated:
	case world.ProbeNoAnswer:
		return []string{"no-answer"}
	default:
		return []string{"failed"}
	}
	code := world.ProbeCode(q.Output)
	if code != world.QueryRefused.Code {
		return []string{code}
	}
	_, words, _ := strings.Cut(lineOf(q.Output), ": "+p.Check.Query+": ")
	return []string{code, words}
}

func probesOf(p *world.Property, out *record.Outcome) []record.Probe {
	var probes []record.Probe
	for _, q := range out.Probes {
		if q.Property == p.Name {
			probes = append(probes, q)
		}
	}
	return probes
}

// safe judges a safety property or an invariant: no probe may find it broken. A server that does not answer broke no
// promise of this kind, so such probes do not count, except in the final phase, when servers must answer again: without
// a look at what the chaos has left behind, nothing holds.
func safe(p *world.Property, out *record.Outcome) Verdict {
	v := verdict.New(p)
	probes := probesOf(p, out)
	v.Probes = len(probes)
	answered, silent := 0, 0
	var failed *record.Probe // the first probe that could not judge and may not be passed over
	broken := 0
	last := false // the final check was made
	for i := range probes {
		q := &probes[i]
		last = last || q.Phase == finalPhase
		switch {
		case q.ExitCode == world.ProbeHolds:
			answered++
		case q.ExitCode == world.ProbeViolated:
			broken++
			if broken == 1 {
				// The event is also the one of its end.
				v.Violate(q.Event, q.EndNs, probeFailed.Cause(said(p, q)...).Claim("the check failed: %s", firstLine(q.Output)))
			}
			if p.Check.Type.Kind().AsksNodes { // the report shows what each node said below what is wrong with the answers
				v.Evidence = append(v.Evidence, strings.Split(strings.TrimSpace(q.Output), "\n")...)
			} else if broken == 1 {
				v.Evidence = append(v.Evidence, inFull(q)...)
			} else if broken <= verdict.MaxEvidence {
				v.Evidence = append(v.Evidence, sentence(q))
			}
		case unanswered(p, q) && q.Phase != finalPhase:
			silent++
		case failed == nil:
			failed = q
		}
	}
	hang := hung(probes)
	switch {
	case broken > 0:
	case hang != nil:
		v.Reason = hangs(hang)
	case len(probes) == 0:
		v.Reason = "the check never ran"
	case failed != nil:
		v.Reason = "the check itself failed: " + sentence(failed)
	case answered == 0:
		v.Idle, v.Reason = true, fmt.Sprintf("none of %d probes got an answer", silent)
	case !last:
		v.Reason = "the final check never ran"
	default:
		v.Status = Holds
	}
	return v
}

// unanswered reports whether a probe says that it got no answer, and nothing else was wrong.
func unanswered(p *world.Property, q *record.Probe) bool {
	if p.Check.Type == world.Custom {
		return q.ExitCode == world.ProbeLater
	}
	return q.ExitCode == world.ProbeNoAnswer
}

// live judges a liveness property: after the start and after each heal, a probe must succeed before the timeout is over.
// Where the next fault begins first, that heal promises nothing. What was never healed proves nothing of heals, so the start
// alone is enough only where there was no heal. Any exit code but 0 means "not yet", unless no probe could be executed at all.
func live(spec *world.Spec, p *world.Property, out *record.Outcome) Verdict {
	v := verdict.New(p)
	probes := probesOf(p, out)
	v.Probes = len(probes)
	if len(probes) == 0 {
		v.Reason = "the check never ran"
		return v
	}
	timeout := p.Timeout()
	begin := out.ReadyNs
	if begin == 0 && len(out.Heals) == 0 {
		begin = probes[0].StartNs
	}
	windows := windowsOf(begin, out.Heals, timeout)
	for i := range windows {
		windows[i].fill(probes)
	}
	proven := 0
	var unsure, excused string
	hang := hung(probes)
	for _, w := range windows {
		disturbed, complete := interrupted(out.Ledger, w)
		disturbed = disturbed || !w.heal && steady(&spec.Faults) && begin+spec.Faults.StartNs < w.endNs
		switch {
		case w.proof != nil:
			if w.heal || len(out.Heals) == 0 {
				proven++
			}
		case disturbed:
			excused = fmt.Sprintf("after each heal the next fault began within %s, before the check succeeded", verdict.Seconds(timeout))
		case hang != nil && hang.StartNs <= w.endNs:
			unsure = hangs(hang)
		case out.VirtualNs < w.endNs:
			unsure = fmt.Sprintf("the run ended %s after %s at %s, before the timeout of %s", verdict.Seconds(out.VirtualNs-w.fromNs), w.the(),
				verdict.Seconds(w.fromNs), verdict.Seconds(timeout))
		case w.count == 0 && slices.ContainsFunc(probes, func(q record.Probe) bool { return q.StartNs < w.fromNs && q.EndNs >= w.fromNs }):
			unsure = fmt.Sprintf("the check was already running at %s, and did not start again within %s after %s; "+
				"make it give up sooner, or raise the timeout",
				verdict.Seconds(w.fromNs), verdict.Seconds(timeout), w.the())
		case w.count == 0:
			unsure = fmt.Sprintf("the check never ran within %s after %s at %s", verdict.Seconds(timeout), w.the(), verdict.Seconds(w.fromNs))
		case !complete:
			unsure = "the ledger does not list all faults, so it is unknown whether the heals lasted"
		case w.ran == 0:
			unsure = "the check itself failed: " + sentence(w.last)
		case w.missed(p, probes):
			unsure = w.tooRare()
		default:
			what := "the last fault ended"
			if !w.heal {
				what = "the start: setup was over"
			}
			v.Violate(w.last.Event, w.endNs, probeLate.Cause(append([]string{w.code}, said(p, w.last)...)...).
				Claim("not within %s after %s: %s", verdict.Seconds(timeout), w.name, firstLine(w.last.Output)))
			v.Evidence = []string{fmt.Sprintf("%s %s", verdict.Seconds(w.fromNs), what),
				fmt.Sprintf("%d probes failed until %s, the last one:", w.count, verdict.Seconds(w.endNs)), sentence(w.last)}
			return v
		}
	}
	switch {
	case unsure != "":
		v.Reason = unsure
	case proven == 0:
		v.Reason = excused
	default:
		v.Status = Holds
	}
	return v
}

// hung is the probe that computed without end, or nil. It is the last one.
func hung(probes []record.Probe) *record.Probe {
	if k := len(probes) - 1; k >= 0 && probes[k].ExitCode == world.ProbeHung {
		return &probes[k]
	}
	return nil
}

func hangs(q *record.Probe) string {
	return fmt.Sprintf("the check itself hung at %s (event %d) in phase %s and was not run again: %s", verdict.Seconds(q.StartNs),
		q.Event, q.Phase, firstLine(q.Output))
}

// window is the time after the start or one heal, and what the probes found in it.
type window struct {
	name   string
	code   string // for causes
	heal   bool
	fromNs int64
	endNs  int64
	count  int           // probes that began in it
	ran    int           // those of them that could be executed
	proof  *record.Probe // the first success that came in time
	last   *record.Probe
}

// missed reports whether the property may have come true in the window with no probe to see it, because probes are rare for so short a window: the last
// one that failed began long before its end, and the next one succeeded.
func (w *window) missed(p *world.Property, probes []record.Probe) bool {
	const near = 10 // one in so many parts of the window is near enough to its end
	short := (w.endNs - w.fromNs) / near
	if w.last == nil || p.Check.IntervalNs <= short || w.endNs-w.last.StartNs <= short {
		return false
	}
	for i := range probes {
		if q := &probes[i]; q.StartNs > w.last.StartNs && q.ExitCode >= 0 {
			return q.ExitCode == world.ProbeHolds
		}
	}
	return false
}

// tooRare is why a window with such a gap proves nothing.
func (w *window) tooRare() string {
	return fmt.Sprintf("the check last failed at %s, %s before the timeout ended, and then succeeded; shorten its interval, or raise the timeout",
		verdict.Seconds(w.last.StartNs), verdict.Seconds(w.endNs-w.last.StartNs))
}

func (w *window) the() string {
	if rest, ok := strings.CutPrefix(w.name, "a "); ok {
		return "the " + rest
	}
	return w.name
}

// steady reports whether packets or calls suffer as long as there are faults at all.
func steady(f *world.Faults) bool {
	return f.Enabled && fault.Has(f, func(r *fault.Row) bool { return !r.PerStep() })
}

// windowsOf are the times after the start, if it is not 0, and after each heal until the timeout is over.
func windowsOf(start int64, heals []int64, timeout int64) []window {
	var list []window
	if start > 0 {
		list = append(list, window{name: "the start", code: "start", fromNs: start, endNs: start + timeout})
	}
	for _, heal := range heals {
		list = append(list, window{name: "a heal", code: "heal", heal: true, fromNs: heal, endNs: heal + timeout})
	}
	return list
}

func (w *window) fill(probes []record.Probe) {
	for i := range probes {
		q := &probes[i]
		if w.heal && q.AfterHealNs != w.fromNs || !w.heal && q.StartNs < w.fromNs || q.StartNs > w.endNs {
			continue
		}
		w.count++
		w.last = q
		if q.ExitCode >= 0 && q.ExitCode != world.ProbeNotExecuted && q.ExitCode != world.ProbeNotFound {
			w.ran++
		}
		if q.ExitCode == world.ProbeHolds && q.EndNs <= w.endNs && w.proof == nil {
			w.proof = q
		}
	}
}

// interrupted reports whether a fault began within the window, and whether the ledger lists enough to say no.
func interrupted(l fault.Ledger, w window) (disturbed, complete bool) {
	for _, s := range l.Injections {
		down := s.ID == stopID && s.EndNs > w.fromNs
		if (s.StartNs >= w.fromNs || down) && s.StartNs < w.endNs { // one that begins in the moment of the heal comes after it
			return true, true
		}
	}
	return false, len(l.Injections) < fault.MaxInjections
}

// inFull is a probe with the lines of its output, such as the state of a model.
func inFull(q *record.Probe) []string {
	_, rest, more := strings.Cut(strings.TrimSpace(q.Output), "\n")
	if !more {
		return []string{sentence(q)}
	}
	lines := indented(rest)
	if left := len(lines) - maxLinesShown; left > 0 {
		lines = append(lines[:maxLinesShown], fmt.Sprintf("  ... and %d more lines", left))
	}
	for i, line := range lines {
		if len(line) > maxLineBytes {
			lines[i] = line[:maxLineBytes] + "..."
		}
	}
	return append([]string{when(q) + ": " + firstLine(q.Output)}, lines...)
}

func when(q *record.Probe) string {
	return fmt.Sprintf("%s (event %d) in phase %s: exit code %d", verdict.Seconds(q.StartNs), q.Event, q.Phase, q.ExitCode)
}

func sentence(q *record.Probe) string {
	text := when(q)
	if out := strings.TrimSpace(q.Output); out != "" {
		if len(out) > maxOutputShown {
			out = out[:maxOutputShown] + "..."
		}
		text += ": " + out
	}
	return text
}

func firstLine(output string) string {
	if line := lineOf(output); line != "" {
		return line
	}
	return "it says nothing"
}

// lineOf is the first line of an output, as far as it is shown.
func lineOf(output string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	if len(line) > maxOutputShown {
		line = line[:maxOutputShown] + "..."
	}
	return line
}
