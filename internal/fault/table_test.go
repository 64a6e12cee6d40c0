package fault

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// noEffects are effects of which none does anything.
type noEffects struct{ Effects }

func (noEffects) Lies(world.FaultKind, string, string) Action { return Action{} }
func (noEffects) Block(Direction, int)                        {}
func (noEffects) Clog(Direction, int)                         {}
func (noEffects) Slow(Direction, *Action)                     {}
func (noEffects) Reset(Direction, *Action) int                { return 0 }
func (noEffects) Names(string, int, bool)                     {}
func (noEffects) TakeDown(*Action)                            {}
func (noEffects) BringUp(*Action)                             {}
func (noEffects) Halt(*Action)                                {}
func (noEffects) GoOn(*Action)                                {}
func (noEffects) Pressure(string, int, int64)                 {}
func (noEffects) FDLimit(string, int, int64)                  {}
func (noEffects) Leak(*Action)                                {}
func (noEffects) EndLeak(*Action)                             {}
func (noEffects) FillDisk(string, int)                        {}
func (noEffects) Disk(string, Speed)                          {}
func (noEffects) SlowDisk(string, int, int64)                 {}
func (noEffects) Clock(*Action)                               {}
func (noEffects) RightClock(*Action)                          {}
func (noEffects) ChangeRelease(*Action, int) bool             { return true }
func (noEffects) TakeSnapshot(*Action)                        {}
func (noEffects) EndRollback(*Action)                         {}
func (noEffects) RunCommand(*Action) bool                     { return true }
func (noEffects) EndCommand(*Action)                          {}

func TestEachKindIsComplete(t *testing.T) {
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "faults.md"))
	if err != nil {
		t.Fatal(err)
	}
	rates := map[int]world.FaultKind{}
	for i := range Table {
		r := &Table[i]
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf(string(r.Kind)+": "+format, args...)
		}
		if rank(r.Kind) != i {
			fail("it stands twice in the table")
		}
		if r.Says == "" || r.Shows == "" {
			fail("it has no words for what happens, or for how a program observes it")
		}
		if (r.Keys.Group == "") != (r.Keys.Rate == "") || r.Keys.Group == "" && r.Keys.Duration != "" {
			fail("its keys of a configuration are %+v", r.Keys)
		}
		if r.Lasts() && r.Span.MinNs > r.Span.MaxNs || !r.Lasts() && r.Keys.Duration != "" {
			fail("its usual duration is %+v, with the key %q", r.Span, r.Keys.Duration)
		}
		if a := r.Amount; a != nil && ((a.Key == "") != (r.Keys.Group == "") || a.Least <= 0 || a.Most < a.Least || !r.HasNode()) {
			fail("its amount is %+v", *a)
		}
		switch r.Place {
		case OnPacket:
			if other, ok := rates[r.Rate]; ok {
				fail("it has the rate of %s", other)
			}
			rates[r.Rate] = r.Kind
			if r.Inject != nil || r.End != nil {
				fail("packets are harmed by the network, and nothing begins or ends it")
			}
		case OnCall:
			if r.Call == nil || len(r.Call.Names) == 0 || r.Call.Meets == nil {
				fail("it harms calls, and does not say which")
			}
		default:
			if r.Inject == nil {
				fail("it does nothing")
			}
			if (r.End == nil) != r.Instant {
				fail("it lasts and nothing undoes it, or it is over at once and something does")
			}
		}
		if r.Place != OnCall && r.Call != nil {
			fail("it harms no calls, and says which")
		}
		if r.Inject != nil {
			if got := r.Inject(noEffects{}, &Action{Kind: r.Kind, Directions: []Direction{{"a", "b"}}}); got == (r.Instant || r.Ends == RolledBack) {
				fail("where there is nothing to harm, delivered is %v", got)
			}
		}
		if r.End != nil {
			r.End(noEffects{}, &Action{Kind: r.Kind})
		}
		if !strings.Contains(string(docs), "`"+string(r.Kind)+"`") {
			fail("docs/reference/faults.md has no word of it")
		}
	}
	if len(rates) != packetKinds {
		t.Errorf("%d kinds harm packets, and there are %d rates", len(rates), packetKinds)
	}
}

// What users write is checked before, so that an unknown kind here is a mistake of ours.
func TestAnUnknownKindPanics(t *testing.T) {
	if Known("gremlin") || slices.Contains(Kinds(), "gremlin") {
		t.Error("there are gremlins")
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	RowOf("gremlin")
}
