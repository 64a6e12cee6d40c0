package runner_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// toys is an engine whose worlds draw a number at each event, and whose hash is the row of them. Setup is 10 events long.
type toys struct {
	boots, open int
	slow        bool  // events take time
	fails       error // of Fork
	full        bool  // there is no room
	most        int   // worlds that may be open; 0 is no bound
	bytes       int64 // of a world at its boot
	eventBytes  int64 // of a world for each of its events
	eventNs     int64 // how long a world waits for each of its events; 0 is 1
}

type toy struct {
	of    *toys
	src   *tape.Source
	event uint64
	sum   string
	ready bool
}

func (e *toys) Room() bool          { return !e.full }
func (e *toys) MachineBytes() int64 { return 0 }

const (
	toySetup  = 10
	toyEvents = 5000
)

func (e *toys) Boot(spec *world.Spec, t tape.Tape, _ engine.Options) (engine.World, error) {
	if e.most > 0 && e.open >= e.most {
		return nil, errors.New("no more processes")
	}
	e.boots++
	e.open++
	w := &toy{of: e, src: tape.NewSource(t)}
	w.src.Clock(w.now)
	return w, nil
}

func (w *toy) now() int64 { return int64(w.event) * max(w.of.eventNs, 1) }

func (w *toy) Advance(u engine.Until) (record.Reason, error) {
	for w.event < toyEvents {
		if w.event == toySetup && !w.ready {
			if u.Ready {
				return record.Ready, nil
			}
			w.ready = true
			w.src.Ready()
		}
		if u.Event > 0 && w.event >= u.Event || u.TimeNs > 0 && w.now() >= u.TimeNs {
			return record.ReachedUntil, nil
		}
		w.event++
		if v := w.src.Choose("x", 1000); w.event < 100 || v == 0 {
			w.sum += fmt.Sprint(v, " ")
		}
		if w.of.slow && w.event%250 == 0 {
			time.Sleep(10 * time.Millisecond) // snapshots are taken by real time
		}
	}
	return record.Finished, nil
}

func (w *toy) Fork(_ *world.Spec, t tape.Tape, _ engine.Options) (engine.World, error) {
	if w.of.fails != nil {
		return nil, w.of.fails
	}
	w.of.open++
	c := *w
	c.src = tape.NewSource(t)
	c.src.Clock(c.now)
	s := w.src.State()
	s.Tape = t
	c.src.Restore(s)
	return &c, nil
}

func (w *toy) Follows(t tape.Tape) bool             { return w.src.Follows(t) }
func (w *toy) Moment() (event uint64, timeNs int64) { return w.event, w.now() }
func (w *toy) Inspect() (engine.Inspection, error)  { return nil, engine.ErrUnsupported }
func (w *toy) Outcome() *record.Outcome             { return &record.Outcome{Events: w.event, Hash: w.sum} }
func (w *toy) Bytes() int64                         { return w.of.bytes + w.of.eventBytes*int64(w.event) }
func (w *toy) Close() error {
	if w.of != nil {
		w.of.open--
		w.of = nil
	}
	return nil
}

// work asks for a run of a tape, with what set adds.
func work(spec *world.Spec, t tape.Tape, set func(*runner.Work)) *runner.Work {
	w := &runner.Work{Request: runner.Play(t), Spec: spec}
	set(w)
	return w
}

// Whatever tapes are run in whatever order, each run is the one from its boot; and they begin where they may.
func TestSnapshotsChangeNoRun(t *testing.T) {
	e := &toys{slow: true}
	s := &runner.Snapshots{Budget: runner.Budget{Most: 6}}
	spec := &world.Spec{}
	later := 0
	check := func(tp tape.Tape, along bool) runner.Begin {
		t.Helper()
		got, began, err := s.Do(e, work(spec, tp, func(w *runner.Work) { w.Along = along }))
		if err != nil {
			t.Fatal(err)
		}
		want, err := runner.Do(&toys{}, spec, tp, engine.Options{}, record.Position{})
		if err != nil || got.Hash != want.Hash || got.Events != want.Events || got.Reason != want.Reason {
			t.Errorf("%s, begun at %d: %s %d %s, and from its boot %s %d %s (%v)", tp.Name(), began.Event, got.Hash, got.Events,
				got.Reason, want.Hash, want.Events, want.Reason, err)
		}
		if began.Event > toySetup {
			later++
		}
		return began
	}
	if b := check(tape.Tape{Seed: 1}, false); b.Event != 0 {
		t.Errorf("the first run begins at %d", b.Event)
	}
	for seed := range uint64(4) {
		if b := check(tape.FromReady(1, 10+seed), false); b.Event != toySetup || !b.Ready {
			t.Errorf("a run with the boot of another one begins at %+v", b)
		}
	}
	if b := check(tape.Tape{Seed: 2}, false); b.Event != 0 {
		t.Errorf("a run of another seed begins at %d", b.Event)
	}
	base := tape.Tape{Seed: 1, Edits: []tape.Edit{{Op: tape.Set, Stream: "x", From: 4000, Value: 0}}}
	check(base, true)
	for from := uint64(0); from < toyEvents; from += 250 {
		check(tape.Tape{Seed: 1, Edits: append(base.Edits[:1:1], tape.Edit{Op: tape.Set, Stream: "x", From: from, Value: 0})}, true)
	}
	if later < 8 {
		t.Errorf("%d of 20 runs that differ from another one late begin behind setup", later)
	}
	if e.open > 6 {
		t.Errorf("%d worlds are open", e.open)
	}
	s.Close()
	if e.open != 0 {
		t.Errorf("%d worlds are left", e.open)
	}
}

// Runs that differ from one virtual time on share a snapshot before that, wherever it lies between two time steps of a world that waits.
func TestSnapshotsBeforeAMoment(t *testing.T) {
	const stepNs = 10_000_000
	e := &toys{eventNs: stepNs}
	s := &runner.Snapshots{}
	defer s.Close()
	spec := &world.Spec{TimeStepNs: stepNs}
	for _, atNs := range []int64{1000 * stepNs, 2000*stepNs + 1, 3000*stepNs + stepNs/2, 4000*stepNs - 1} {
		for seed := range uint64(3) {
			tp := tape.FromReady(1, 2).Behind(atNs, seed)
			got, began, err := s.Do(e, work(spec, tp, func(w *runner.Work) { w.PartNs = atNs }))
			if err != nil {
				t.Fatal(err)
			}
			want, err := runner.Do(&toys{eventNs: stepNs}, spec, tp, engine.Options{}, record.Position{})
			if err != nil || got.Hash != want.Hash {
				t.Errorf("a run that differs from %d ns on is another one: %s, from its boot %s (%v)", atNs, got.Hash, want.Hash, err)
			}
			if early := atNs - int64(began.Event)*stepNs; seed > 0 && (early <= 0 || early > 3*stepNs) {
				t.Errorf("a run that differs from %d ns on begins %d ns before that", atNs, early)
			}
		}
	}
}

// What a workload skips matters from the end of setup on, and until when a run goes never.
func TestSnapshotsOfCutWorlds(t *testing.T) {
	e := &toys{}
	s := &runner.Snapshots{}
	defer s.Close()
	for i, c := range []struct {
		cut  *world.Cut
		want uint64
	}{
		{&world.Cut{}, 0}, {&world.Cut{}, toySetup},
		{&world.Cut{Skip: []world.Skip{{Client: "c1"}}}, toySetup},
		{&world.Cut{EndNs: 100}, toySetup},
		{&world.Cut{EndNs: toySetup - 1}, 0},
		{&world.Cut{Idle: []string{"n1"}}, 0},
		{&world.Cut{Idle: []string{"n1"}, EndNs: 100}, toySetup},
	} {
		w := work(c.cut.Apply(&world.Spec{}), tape.Tape{Seed: 1}, func(w *runner.Work) { w.Cut = c.cut })
		if _, began, err := s.Do(e, w); err != nil || began.Event != c.want {
			t.Errorf("%d: begins at %d: %v", i, began.Event, err)
		}
	}
	if j, began, err := s.Do(e, work(&world.Spec{}, tape.Tape{Seed: 1}, func(w *runner.Work) { w.Until = 5 })); err != nil ||
		began.Event != 0 || j.Events != 5 {
		t.Errorf("a run that ends within setup begins at %d and has %d events: %v", began.Event, j.Events, err)
	}
}

// Where worlds cannot be copied, or no memory is left, runs begin at their boot.
func TestNoSnapshots(t *testing.T) {
	for name, c := range map[string]struct {
		fails error
		full  bool
		tried bool
	}{
		"no copy":   {errors.New("no more processes"), false, true},
		"no memory": {nil, true, false},
	} {
		e := &toys{fails: c.fails, full: c.full}
		s := &runner.Snapshots{}
		for range 3 {
			j, began, err := s.Do(e, work(&world.Spec{}, tape.Tape{Seed: 1}, func(w *runner.Work) { w.Along = true }))
			if err != nil || began.Event != 0 || j.Events != toyEvents {
				t.Errorf("%s: %v, begins at %d, %d events", name, err, began.Event, j.Events)
			}
		}
		if e.open != 0 || (s.Refused != nil) != c.tried {
			t.Errorf("%s: %d worlds are left, refused: %v", name, e.open, s.Refused)
		}
	}
}

// Where a run fails for want of what snapshots hold, it is made without them, and so are all later ones.
func TestSnapshotsGiveWay(t *testing.T) {
	for _, fromBoot := range []bool{false, true} {
		e := &toys{most: 1}
		s := &runner.Snapshots{}
		for i := range 3 {
			j, began, err := s.Do(e, work(&world.Spec{}, tape.Tape{Seed: uint64(i)}, func(w *runner.Work) { w.FromBoot = fromBoot && i > 0 }))
			if err != nil || began.Event != 0 || j.Events != toyEvents {
				t.Errorf("run %d: %v, begins at %d", i, err, began.Event)
			}
		}
		if s.Refused == nil || e.open != 0 {
			t.Errorf("refused: %v, %d worlds are left", s.Refused, e.open)
		}
	}
}

// Snapshots have no more memory together than they may. A budget for none of them is refused with its remedy, and one for none but those at
// the end of setup has these.
func TestSnapshotsHaveABudget(t *testing.T) {
	const setupBytes = 100<<20 + toySetup<<20
	for name, c := range map[string]struct {
		budget int64
		open   int // worlds that are left at most
		began  uint64
		fails  bool
	}{
		"none": {setupBytes - 1<<20, 0, 0, true},
		"one":  {setupBytes, 1, toySetup, false},
		"two":  {2 * setupBytes, 2, toySetup, false},
	} {
		e := &toys{slow: name == "one", bytes: 100 << 20, eventBytes: 1 << 20}
		s := &runner.Snapshots{Budget: runner.Budget{MemoryBytes: c.budget, Most: 1000}}
		var began runner.Begin
		for seed := range uint64(3) {
			for _, tp := range []tape.Tape{{Seed: 1}, tape.FromReady(1, 10+seed), {Seed: 20 + seed}} {
				j, b, err := s.Do(e, work(&world.Spec{}, tp, func(w *runner.Work) { w.Along = name == "one" }))
				if err != nil || j.Events != toyEvents {
					t.Fatalf("%s: %v", name, err)
				}
				if len(tp.Edits) > 0 && b.Ready {
					began = b
				}
			}
		}
		// It measures those of the last run
		if _, _, err := s.Do(e, work(&world.Spec{}, tape.Tape{Seed: 50}, func(w *runner.Work) { w.Until = 5 })); err != nil {
			t.Fatal(err)
		}
		if e.open > c.open || began.Event != c.began || (s.Refused != nil) != c.fails {
			t.Errorf("%s: %d worlds are left, a run with the boot of another one begins at %d, refused: %v", name, e.open, began.Event, s.Refused)
		}
		if c.fails && s.Refused.Error() != "a snapshot of this world needs 110.0 MiB, and all snapshots of a worker may use 109.0 MiB; "+
			runner.MemoryRemedy {
			t.Error(s.Refused)
		}
		s.Close()
	}
}
