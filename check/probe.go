package check

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/engine"
	"github.com/bloodhound-dst/bloodhound/fault"
	"github.com/bloodhound-dst/bloodhound/world"
)

// Exit codes of a shell (POSIX.1-2017, XCU 2.8.2) that say that a script could not be executed.
const (
	notExecutable = 126
	notFound      = 127
)

// DefaultTimeoutNs is the time that a liveness property without a timeout has after each heal.
const DefaultTimeoutNs = 30_000_000_000

// finalPhase is when all faults are over and the world has settled.
const finalPhase = "final"

// maxOutputShown is how many bytes of a probe's output a verdict shows.
const maxOutputShown = 400

func probesOf(p *world.Property, out *engine.Outcome) []engine.Probe {
	var probes []engine.Probe
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
func safe(p *world.Property, out *engine.Outcome) engine.Verdict {
	v := verdict(p)
	probes := probesOf(p, out)
	v.Probes = len(probes)
	answered, silent := 0, 0
	var failed *engine.Probe // the first probe that could not judge and may not be passed over
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
				v.Status, v.Event, v.TimeNs = engine.Violated, q.Event, q.StartNs
				v.Reason = "the check failed: " + firstLine(q.Output)
			}
			if p.Check.Type == world.Agreement { // what each node said stands below what is wrong with it
				v.Evidence = append(v.Evidence, strings.Split(strings.TrimSpace(q.Output), "\n")...)
			} else if broken <= MaxEvidence {
				v.Evidence = append(v.Evidence, sentence(q))
			}
		case q.ExitCode == world.ProbeNoAnswer && p.Check.Type != world.Custom && q.Phase != finalPhase:
			silent++
		case failed == nil:
			failed = q
		}
	}
	switch {
	case broken > 0:
	case len(probes) == 0:
		v.Reason = "the check never ran"
	case failed != nil:
		v.Reason = "the check itself failed: " + sentence(failed)
	case answered == 0:
		v.Reason = fmt.Sprintf("none of %d probes got an answer", silent)
	case !last:
		v.Reason = "the final check never ran"
	default:
		v.Status = engine.Holds
	}
	return v
}

// live judges a liveness property: after each heal, a probe must succeed before the timeout is over. Where the next
// fault strikes first, that heal promises nothing. Without any heal, the time counts from the first probe. Any exit code
// but 0 means "not yet", unless no probe could be executed at all.
func live(p *world.Property, out *engine.Outcome) engine.Verdict {
	v := verdict(p)
	probes := probesOf(p, out)
	v.Probes = len(probes)
	if len(probes) == 0 {
		v.Reason = "the check never ran"
		return v
	}
	timeout := p.TimeoutNs
	if timeout <= 0 {
		timeout = DefaultTimeoutNs
	}
	heals := out.Heals
	of := func(heal int64) func(*engine.Probe) bool {
		return func(q *engine.Probe) bool { return q.AfterHealNs == heal }
	}
	if len(heals) == 0 {
		heals = []int64{probes[0].StartNs}
		of = func(int64) func(*engine.Probe) bool { return func(*engine.Probe) bool { return true } }
	}
	proven := 0
	var unsure, excused string
	for _, heal := range heals {
		w := window{healNs: heal, endNs: heal + timeout}
		w.fill(probes, of(heal))
		struck, complete := interrupted(out.Ledger, w)
		switch {
		case w.proof != nil:
			proven++
		case struck:
			excused = fmt.Sprintf("after each heal the next fault struck within %s, before the check succeeded", seconds(timeout))
		case out.VirtualNs < w.endNs:
			unsure = fmt.Sprintf("the run ended %s after the heal at %s, before the timeout of %s", seconds(out.VirtualNs-heal),
				seconds(heal), seconds(timeout))
		case w.count == 0:
			unsure = fmt.Sprintf("the check never ran within %s after the heal at %s", seconds(timeout), seconds(heal))
		case !complete:
			unsure = "the ledger does not list all strikes, so it is not known whether the heals lasted"
		case w.ran == 0:
			unsure = "the check itself failed: " + sentence(w.last)
		default:
			v.Status, v.Event, v.TimeNs = engine.Violated, w.last.Event, w.endNs
			v.Reason = fmt.Sprintf("not within %s after a heal: %s", seconds(timeout), firstLine(w.last.Output))
			v.Evidence = []string{fmt.Sprintf("%s the last fault ended", seconds(heal)),
				fmt.Sprintf("%d probes failed until %s, the last one:", w.count, seconds(w.endNs)), sentence(w.last)}
			return v
		}
	}
	switch {
	case unsure != "":
		v.Reason = unsure
	case proven == 0:
		v.Reason = excused
	default:
		v.Status = engine.Holds
	}
	return v
}

// window is the time after one heal, and what the probes found in it.
type window struct {
	healNs int64
	endNs  int64
	count  int           // probes that began in it
	ran    int           // those of them that could be executed
	proof  *engine.Probe // the first success that came in time
	last   *engine.Probe
}

func (w *window) fill(probes []engine.Probe, belongs func(*engine.Probe) bool) {
	for i := range probes {
		q := &probes[i]
		if !belongs(q) || q.StartNs > w.endNs {
			continue
		}
		w.count++
		w.last = q
		if q.ExitCode >= 0 && q.ExitCode != notExecutable && q.ExitCode != notFound {
			w.ran++
		}
		if q.ExitCode == world.ProbeHolds && q.EndNs <= w.endNs && w.proof == nil {
			w.proof = q
		}
	}
}

// interrupted tells whether a fault struck within the window, and whether the ledger lists enough to say no.
func interrupted(l fault.Ledger, w window) (struck, complete bool) {
	for _, s := range l.Strikes {
		if s.StartNs >= w.healNs && s.StartNs < w.endNs { // one that strikes in the moment of the heal comes after it
			return true, true
		}
	}
	return false, len(l.Strikes) < fault.MaxStrikes
}

func sentence(q *engine.Probe) string {
	text := fmt.Sprintf("%s (event %d) in phase %s: exit code %d", seconds(q.StartNs), q.Event, q.Phase, q.ExitCode)
	if out := strings.TrimSpace(q.Output); out != "" {
		if len(out) > maxOutputShown {
			out = out[:maxOutputShown] + "..."
		}
		text += ": " + out
	}
	return text
}

func firstLine(output string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	if len(line) > maxOutputShown {
		line = line[:maxOutputShown] + "..."
	}
	if line == "" {
		return "it says nothing"
	}
	return line
}
