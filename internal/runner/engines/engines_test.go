package engines

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

var update = flag.Bool("update", false, "rewrite the table of engines in docs/platforms.md")

const (
	begin = "<!-- engines: written by `go test ./internal/runner/engines -update` -->\n"
	end   = "<!-- engines: end -->\n"
)

func TestPageHasTheTable(t *testing.T) {
	want := "\n| engine | runs | repeats | costs | needs |\n|---|---|---|---|---|\n"
	for _, r := range Table() {
		if r.Runs == "" {
			continue // an engine that this version does not have
		}
		for _, cell := range []string{r.Runs, r.Repeats, r.Costs, r.Needs} {
			if cell == "" || strings.ContainsAny(cell, "|\n") {
				t.Errorf("a cell of the engine %s is %q", r.Name, cell)
			}
		}
		want += fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", r.Name, r.Runs, r.Repeats, r.Costs, r.Needs)
	}
	want += "\n"
	page := "../../../docs/platforms.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, closed := strings.Cut(rest, end)
	switch {
	case !ok || !closed:
		t.Errorf("%s has no place for the table of engines", page)
	case *update:
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
	case old != want:
		t.Errorf("the engines in %s differ from the table; rewrite them with -update", page)
	}
}

// A configuration takes the same names as the flag.
func TestKeyHasTheNames(t *testing.T) {
	if f := keys.Bloodhound.Field("engine"); !slices.Equal(f.Shape.Words, Names()) {
		t.Errorf("the key engine takes %v, --engine %v", f.Shape.Words, Names())
	}
}

type healthy struct{ engine.Engine }

type patient struct{ engine.Engine }

func (patient) Doctor() []engine.Check {
	return []engine.Check{{Name: "fur", Required: false}, {Name: "nose", Required: true, Detail: "it is dry", Remedy: "wet it"}}
}

func TestAutoTakesTheFirstThatCan(t *testing.T) {
	makes := func(e engine.Engine) func() (engine.Engine, error) {
		return func() (engine.Engine, error) { return e, nil }
	}
	absent := Row{Name: "absent", Spec: "a", make: func() (engine.Engine, error) { return nil, errors.New("not on this machine\nbuy another") }}
	ill := Row{Name: "ill", Spec: "i", make: makes(patient{})}
	picky := Row{Name: "picky", Spec: "p", make: makes(healthy{}), refuses: func(s *world.Spec) string {
		if s.Name == "kernel" {
			return "it has no kernel"
		}
		return ""
	}}
	well := Row{Name: "well", Spec: "w", make: makes(healthy{})}
	inTests := Row{Name: world.InProcess, Spec: world.InProcess, make: makes(healthy{})}
	for _, c := range []struct {
		rows         rows
		world        string
		spec, reason string
	}{
		{rows{picky, well}, "", "p", "engine picky: the first of the table, and it can run this world"},
		{rows{picky, well}, "kernel", "w", "engine well, since those before it cannot run this world. picky: it has no kernel"},
		{rows{absent, ill, well}, "", "w", "engine well, since those before it cannot run this world. absent: not on this machine. ill: nose: it is dry"},
		{rows{inTests, well}, "", "w", "engine well: the first of the table, and it can run this world"},
	} {
		spec := &world.Spec{Name: c.world}
		reason, err := c.rows.choose(spec, Auto)
		if err != nil || spec.Engine != c.spec || reason != c.reason {
			t.Errorf("engine %q, %q, %v; want %q, %q", spec.Engine, reason, err, c.spec, c.reason)
		}
	}
	_, err := rows{absent, ill, inTests}.choose(&world.Spec{}, Auto)
	if err == nil || !strings.Contains(err.Error(), "absent: not on this machine\n  ill: nose: it is dry\n`bloodhound doctor`") {
		t.Errorf("no engine: %v", err)
	}
	if c := Here(&ill, ill.make); c.OK || c.Remedy != "wet it" {
		t.Errorf("%+v", c)
	}
	if c := Here(&absent, absent.make); c.OK || c.Remedy != "buy another" {
		t.Errorf("%+v", c)
	}
}
