package runner_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/runner"
	"github.com/bloodhound-dst/bloodhound/internal/runner/engines"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/testkit/enginetest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// broken is a world in which every second write is lost.
func broken(modes string) *world.Spec {
	return &world.Spec{
		Nodes:     []world.Node{{Name: "server", Role: world.Server, Env: []string{"FAKE=" + modes}}, {Name: "load", Role: world.Client}},
		Workloads: []world.Workload{{Node: "load"}},
		Properties: []world.Property{{Name: "linear", Kind: world.Safety, Check: world.Check{Type: world.Linearizability,
			Subject: world.Subject{Model: "register"}}}},
	}
}

func TestRunIsJudgedAtItsEnd(t *testing.T) {
	j, err := runner.Do(enginetest.New(), broken(enginetest.Broken), tape.Tape{Seed: 1}, engine.Options{Behaviour: true}, record.Position{})
	if err != nil {
		t.Fatal(err)
	}
	if j.Reason != record.Finished || len(j.Verdicts) == 0 || j.Verdicts[0].Status != check.Violated || len(j.Near) == 0 || j.WallNs == 0 {
		t.Errorf("%s, verdicts %v, near %v, %d ns", j.Reason, j.Verdicts, j.Near, j.WallNs)
	}
}

func TestRunThatWasCutIsNotJudged(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	for name, c := range map[string]struct {
		until record.Position
		o     engine.Options
		want  record.Reason
	}{
		"at a position":   {record.PositionAt(20), engine.Options{}, record.ReachedUntil},
		"by an interrupt": {record.Position{}, engine.Options{Interrupt: closed}, record.Stopped},
	} {
		j, err := runner.Do(enginetest.New(), broken(enginetest.Broken), tape.Tape{Seed: 1}, c.o, c.until)
		if err != nil || j.Reason != c.want || j.Verdicts != nil {
			t.Errorf("%s: %v, %s, verdicts %v", name, err, j.Reason, j.Verdicts)
		}
	}
	spec := broken(enginetest.Broken)
	spec.EndNs = 100e6 // the world ends there, as shrinking asks
	j, err := runner.Do(enginetest.New(), spec, tape.Tape{Seed: 1}, engine.Options{}, record.Position{})
	if err != nil || j.Reason != record.ReachedUntil || len(j.Verdicts) == 0 {
		t.Errorf("at the end of a shorter world: %v, %s, verdicts %v", err, j.Reason, j.Verdicts)
	}
}

func TestPositionWithinAnEventIsUnsupported(t *testing.T) {
	_, err := runner.Do(enginetest.New(), broken(""), tape.Tape{Seed: 1}, engine.Options{}, record.Position{Event: 20, Within: 1})
	if !errors.Is(err, engine.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// modelled is a world that follows its run in a model.
type modelled struct{ engine.Engine }

func (m modelled) Boot(spec *world.Spec, t tape.Tape, o engine.Options) (engine.World, error) {
	w, err := m.Engine.Boot(spec, t, o)
	return followed{w}, err
}

type followed struct{ engine.World }

func (followed) Models() record.Models {
	return record.Models{Tallies: map[string]*coverage.Tally{"linear": {Mapped: 7}}, Mistake: "no such action"}
}

func TestModelsAreInTheRecord(t *testing.T) {
	j, err := runner.Do(modelled{enginetest.New()}, broken(""), tape.Tape{Seed: 1}, engine.Options{}, record.Position{})
	if err != nil || j.Mistake != "no such action" || len(j.Verdicts) == 0 || j.Verdicts[0].Tally == nil || j.Verdicts[0].Tally.Mapped != 7 {
		t.Errorf("%v, %q, %+v", err, j.Mistake, j.Verdicts)
	}
}

func TestEngineOfASpec(t *testing.T) {
	spec := &world.Spec{Engine: world.VM}
	if _, err := engines.Choose(spec, "native"); err != nil || spec.Engine != world.Native {
		t.Errorf("the engine native is %q, %v", spec.Engine, err)
	}
	for _, name := range []string{"", world.InProcess, "no-such"} {
		if _, err := engines.Choose(spec, name); err == nil || !strings.Contains(err.Error(), "native, vm, container, auto") {
			t.Errorf("an engine %q can be chosen: %v", name, err)
		}
	}
	for _, name := range []string{world.InProcess, "no-such"} {
		if _, err := engines.For(&world.Spec{Engine: name}); err == nil {
			t.Errorf("the command line has an engine %q", name)
		}
	}
}
