package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/check"
	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/model/tlc"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/program"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// secondDocument holds TLC's result for the same specification, in the JSON document of model check.
type secondDocument struct {
	Version    string          `json:"version"`
	Generated  int             `json:"generated"`
	Distinct   int             `json:"distinct"`
	Depth      int             `json:"depth"`
	Violations []tlc.Violation `json:"violations,omitempty"`
	// Differences are those of the answers; Aside are others.
	Differences []string `json:"differences,omitempty"`
	Aside       []string `json:"aside,omitempty"`
}

// secondOpinion has TLC check the same specification, and compares its answer with that of a check. It is nil if there is nothing to compare.
func secondOpinion(ctx context.Context, a *console.App, m *modelling, file string, r *tla.Report, out io.Writer) (*secondDocument, error) {
	switch {
	case m.tlc == "":
		return nil, nil
	case r.Stopped != "":
		fmt.Fprintf(out, "TLC was not asked: %s\n", r.Stopped)
		return nil, nil
	}
	if m.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.timeout)
		defer cancel()
	}
	run := m.run(file)
	a.Note("asking TLC (%s)", m.tlc)
	o, err := run.Check(ctx)
	if err != nil {
		return nil, console.Failed(fmt.Errorf("--tlc: %w", err))
	}
	d := &secondDocument{Version: o.Version, Generated: o.Generated, Distinct: o.Distinct, Depth: o.Depth, Violations: o.Violations}
	d.Differences, d.Aside = o.Compare(r)
	for _, text := range d.Aside {
		fmt.Fprintf(out, "Aside: %s\n", text)
	}
	switch {
	case len(d.Differences) > 0:
	case len(o.Violations) > 0 && len(r.Violations) == 0:
		return d, nil
	case len(o.Violations) > 0:
		fmt.Fprintf(out, "%s has the same answer: a violation of %s.\n", o.Version, tlc.Names(o.Violations))
		return d, nil
	case len(r.Unchecked) > 0:
		fmt.Fprintf(out, "%s finds no error, and has checked all properties.\n", o.Version)
		return d, nil
	default:
		fmt.Fprintf(out, "%s has the same answer: %s generated, %s found, depth %d.\n", o.Version,
			plural.Count(o.Generated, "state"), plural.Count(o.Distinct, "distinct state"), o.Depth)
		return d, nil
	}
	for _, text := range d.Differences {
		fmt.Fprintf(out, "DIFFERENT: %s\n", text)
	}
	fmt.Fprintf(out, "%s has a different answer, so one of the two is wrong. Please report it with the specification and its configuration.\n", o.Version)
	a.Code = check.ExitNotReproducible
	return d, nil
}

// secondOfError asks TLC about a specification that this program has an error for. The error has another code where TLC has an answer.
func secondOfError(ctx context.Context, a *console.App, m *modelling, file string, err error) error {
	if m.tlc == "" || console.CodeOf(err) != check.ExitUsage {
		return err
	}
	a.Note("asking TLC (%s)", m.tlc)
	o, failed := m.run(file).Check(ctx)
	answer := ""
	switch {
	case failed != nil:
		return fmt.Errorf("%w\nTLC has no answer either", err)
	case len(o.Violations) > 0:
		answer = "found a violation, " + tlc.Names(o.Violations)
	default:
		answer = fmt.Sprintf("found no error, %s", plural.Count(o.Distinct, "distinct state"))
	}
	return program.WithCode(check.ExitNotReproducible,
		fmt.Errorf("%w\nDIFFERENT: %s %s. Please report it with the specification and its configuration", err, o.Version, answer))
}

func (m *modelling) run(file string) *tlc.Run {
	jars := slices.DeleteFunc(filepath.SplitList(m.tlc), func(jar string) bool { return jar == "" })
	return &tlc.Run{Jars: jars, Spec: file, Config: m.config, Libraries: m.libraries, NoDeadlock: m.deadlock, Continue: m.goOn}
}

// secondPossible refuses what cannot be compared with TLC, before the check begins.
func (m *modelling) secondPossible(file string) error {
	switch {
	case m.tlc == "":
		return nil
	case m.simulate:
		return errors.New("--tlc: two simulations walk different behaviours; leave out --simulate")
	case m.post != "":
		return errors.New("--tlc: TLC takes --postCondition as MODULE!OPERATOR of a module of its own; set it " +
			"under POSTCONDITION in the configuration")
	}
	err := m.run(file).Ready()
	switch {
	case errors.Is(err, fs.ErrNotExist): // a wrong path
		return fmt.Errorf("--tlc: %w", err)
	case err != nil:
		return console.Failed(fmt.Errorf("--tlc: %w", err))
	}
	return nil
}
