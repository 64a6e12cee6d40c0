//go:build linux && amd64

package selftest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/engine/native"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/selftest/roles"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const roleVariable = "SELFTEST_ROLE"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == roleVariable {
		if err := roles.Programs[os.Args[2]](os.Stdout); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestEveryKindHasACase(t *testing.T) {
	var kinds []world.FaultKind
	for _, c := range Cases {
		kinds = append(kinds, c.Kind)
	}
	for _, k := range fault.Kinds() {
		if !slices.Contains(kinds, k) {
			t.Errorf("%s has no case", k)
		}
	}
}

// play runs a case's world with this test's own binary, which a world with a private /tmp has to be given.
func play(t *testing.T, c *Case, which Which) *record.Outcome {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec, err := c.Spec(self, func(name string) []string { return []string{roleVariable, name} }, which)
	if err != nil {
		t.Fatal(err)
	}
	out, err := engine.Run(native.New(), spec, tape.Tape{Seed: Seed}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Each kind of fault is seen by the program that it affects; no program reports it otherwise; and where it affects
// no program that matters, the ledger does not claim that it was observed.
func TestCases(t *testing.T) {
	for i := range Cases {
		c := &Cases[i]
		t.Run(string(c.Kind), func(t *testing.T) {
			for _, which := range []Which{Nowhere, There, Elsewhere} {
				if err := c.Judge(which, play(t, c, which)); err != nil {
					t.Errorf("%v: %v", which, err)
				}
			}
		})
	}
}

// A judge that is given the wrong run says so.
func TestJudgesDoubt(t *testing.T) {
	c := &Cases[slices.IndexFunc(Cases, func(c Case) bool { return c.Kind == fault.WriteFail })]
	calm, there, elsewhere := play(t, c, Nowhere), play(t, c, There), play(t, c, Elsewhere)
	for _, x := range []struct {
		which Which
		out   *record.Outcome
		want  string
	}{
		{Nowhere, there, "without the fault the program said"},
		{There, calm, "the ledger has no line"},
		{There, elsewhere, "never said"},
		{Elsewhere, there, "nobody can have seen it"},
		{There, &record.Outcome{Repeat: record.Repeat{Reproducible: true}}, "0 times"},
		{There, &record.Outcome{}, "does not repeat"},
	} {
		if err := c.Judge(x.which, x.out); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("judged as %v: %v, want %q", x.which, err, x.want)
		}
	}
}
