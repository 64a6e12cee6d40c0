package sim

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/stray"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A run is suspicious if the process started goroutines during it that may belong to it. Suspicious runs are repeated
// under an execution trace, until one of them shows goroutines that ran outside the world. That takes some milliseconds
// a run, and goroutines of others also make runs suspicious.
const (
	maxSuspects = 64
	// seekShare is the part of a campaign's time that may be spent on it, as a divisor. A few runs are always made.
	seekShare = 100
	seekRuns  = 2
)

// suspect is a suspicious run.
type suspect struct {
	spec *world.Spec
	tape tape.Tape
}

// suspects are the suspicious runs of a simulation, and what is known of them.
type suspects struct {
	sync.Mutex
	list []suspect // the first ones, and then the last ones
	seen int
	last stray.Mark // the end of the run before
	left string     // what was seen of goroutines that had not ended with their run; empty if nothing was
	// found are the goroutines of the first run that has any.
	found []stray.Group
	of    tape.Tape
	// hidden says why it could not be found out; nil if it could.
	hidden error
}

func (s *suspects) add(spec *world.Spec, t tape.Tape) {
	s.Lock()
	defer s.Unlock()
	if s.seen++; len(s.list) < maxSuspects {
		s.list = append(s.list, suspect{spec, t})
		return
	}
	const first = maxSuspects / 2
	s.list[first+s.seen%(maxSuspects-first)] = suspect{spec, t}
}

// startMark returns the mark from which on goroutines count for a run. Timers of the run before may have started some since its end.
func (s *suspects) startMark() stray.Mark {
	s.Lock()
	defer s.Unlock()
	if s.last == (stray.Mark{}) {
		return stray.Now()
	}
	return s.last
}

// end notes the end of a run.
func (s *suspects) end(from stray.Mark, spec *world.Spec, t tape.Tape) {
	now := stray.Now()
	if from.Suspicious(now) {
		s.add(spec, t)
	}
	s.Lock()
	defer s.Unlock()
	s.last = now
}

// seek looks for goroutines outside the world in suspicious runs, and forgets these.
func (s *simulation) seek(ctx context.Context, budget time.Duration) {
	x := &s.suspects
	x.Lock()
	defer x.Unlock()
	list := x.list
	x.list, x.seen = nil, 0
	began := time.Now()
	for i := range list {
		if len(x.found) > 0 || ctx.Err() != nil || i >= seekRuns && time.Since(began) > budget {
			break
		}
		x.found, x.hidden = s.watched(list[i], stray.Watch)
		x.of = list[i].tape
	}
	if len(list) > 0 && len(x.found) == 0 && x.hidden == nil {
		x.found, x.hidden = s.watched(list[0], stray.WatchTimers)
		x.of = list[0].tape
	}
}

// watched makes a run again while its goroutines are watched.
func (s *simulation) watched(x suspect, by func(func()) ([]stray.Group, error)) (found []stray.Group, err error) {
	w := watch(s.Hang, func() { s.hang(x.tape) })
	defer w.stopWatching()
	s.stages.do(func() {
		found, err = by(func() {
			run, failed := runner.Boot(s.quiet, x.spec, x.tape, engine.Options{Pulse: &w.Pulse})
			if failed != nil {
				return
			}
			defer run.Close()
			// An error was reported when the run was made before.
			_ = run.Advance(record.Position{})
		})
	})
	return found, err
}

// strays describes the goroutines that ran outside the world, and how to bring them in; empty if none were found. The doubt says why some may have
// run all the same; empty if there is none.
func (s *simulation) strays() (text, doubt string) {
	s.suspects.Lock()
	defer s.suspects.Unlock()
	list := s.suspects.found
	switch {
	case len(list) == 0 && s.suspects.left != "":
		return s.suspects.left + "; " + s.switched(), ""
	case len(list) == 0 && s.suspects.hidden != nil:
		return "", fmt.Sprintf("cannot tell whether goroutines ran outside the world: %v", s.suspects.hidden)
	case len(list) == 0:
		return "", ""
	}
	var b strings.Builder
	count := 0
	kinds := map[stray.Kind]bool{}
	for _, g := range list {
		count += g.Count
		kinds[g.Kind] = true
	}
	fmt.Fprintf(&b, "%s ran outside the world: the tape does not decide when, and bugs that depend on it stay hidden", goroutines(count))
	for i, g := range list {
		if i == maxPlaces {
			fmt.Fprintf(&b, "\n  and at %d more places", len(list)-i)
			break
		}
		switch {
		case g.Kind == stray.Timer:
			fmt.Fprintf(&b, "\n  %d by time.AfterFunc, called at %s", g.Count, g.Place)
		case g.Within != "":
			fmt.Fprintf(&b, "\n  %d started by %s, called at %s", g.Count, g.Within, g.Place)
		default:
			fmt.Fprintf(&b, "\n  %d started at %s", g.Count, g.Place)
		}
	}
	for _, r := range []struct {
		kind   stray.Kind
		remedy string
	}{
		{stray.Process, s.switched()},
		{stray.Machine, "only goroutines of a Process can run in the world: describe a node that has some with " +
			"World.Process instead of World.Machine, and start none in other functions"},
		{stray.Module, "modules of the module cache stay as they are: copy the module into a folder, add a " +
			"replace directive for the folder to go.mod, and " + s.switched()},
		{stray.Standard, "goroutines of the standard library cannot run in a world: use Spawn, Sleep and messages of the Process, " +
			"or package sim/fake, instead"},
		{stray.Timer, "time.AfterFunc counts real time: let the Process Spawn another one that sleeps"},
	} {
		if kinds[r.kind] {
			b.WriteString("\n  " + r.remedy)
		}
	}
	if s.suspects.left != "" {
		b.WriteString("\n  seen besides: " + s.suspects.left)
	}
	return b.String(), ""
}

// maxPlaces bounds the places that are listed.
const maxPlaces = 10

func goroutines(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}

// switched says how go statements of processes become a part of the world.
func (s *simulation) switched() string {
	switch {
	case s.overlay != "":
		return "this program was built with switches, but not the files of these go statements: cgo may have written them"
	case s.alone == "":
		return "run the world in a test that calls Campaign.Test, with: bloodhound test --actor-mode --switches"
	}
	return fmt.Sprintf("run them in the world with: bloodhound test --actor-mode --switches %s -- -run "+
		"%s", testPackage(), s.alone)
}

// testPackage is the package whose tests this program has, as the go command names it.
func testPackage() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if path, ok := strings.CutSuffix(info.Path, ".test"); ok {
			return path
		}
	}
	return "."
}

// strayed puts what is known of goroutines outside the world into the result of a campaign.
func (s *simulation) strayed(r *result) {
	text, doubt := s.strays()
	switch {
	case doubt != "":
		r.Status.Notices = append(r.Status.Notices, doubt)
	case text == "":
	case r.Status.Violated || r.Status.Failed:
		fmt.Fprintf(&r.text, "note: in %s, %s\n\n", s.suspects.of.Name(), text)
	default:
		r.Status.Unrepeatable = true
		r.Diverged = text
		fmt.Fprintf(&r.text, "not reproducible: in %s, %s\n\n", s.suspects.of.Name(), text)
	}
}
