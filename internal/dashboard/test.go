package dashboard

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/records"
	"github.com/bloodhound-dst/bloodhound/internal/report"
)

// TestPage shows a test.
type TestPage struct {
	Test        testRow              `json:"test"`
	Definitions []*records.Test      `json:"definitions"`
	Code        codeRef              `json:"code"` // that the rest is about
	Codes       []codeRef            `json:"codes"`
	Growth      []curve              `json:"growth"`
	Properties  []propertyRow        `json:"properties"`
	Left        int                  `json:"properties_left_out,omitempty"`
	Faults      []records.FaultCount `json:"faults"`
	Counted     uint64               `json:"counted_runs"` // runs that Properties and Faults count
	Effort      []effortRow          `json:"effort"`
	Risks       []riskRow            `json:"risks"`
	Calibration []records.Calibrated `json:"calibration"`
	Failures    []failureRow         `json:"failures"`
	Corpus      int                  `json:"corpus"`
}

// NotOpen counts the failures that do not count as open, in words; empty if there are none.
func (p *TestPage) NotOpen() string {
	count := map[string]int{}
	for i := range p.Failures {
		switch f := &p.Failures[i]; {
		case f.open():
		case f.State == records.Ignored:
			count[records.Ignored]++
		default:
			count[string(f.Finding)]++
		}
	}
	var parts []string
	for _, word := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[word], word))
	}
	return strings.Join(parts, ", ")
}

// curve is the growth of a code.
type curve struct {
	Code   codeRef         `json:"code"`
	Points []records.Grown `json:"points"`
}

// propertyRow is a property with what is known of it.
type propertyRow struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Open     int      `json:"open_failures"`
	Resolved int      `json:"resolved_failures"`
	Risk     *riskRow `json:"risk,omitempty"` // that the next run violates it in a way that was not seen
	// Counts are runs by their verdict; nil if none was counted.
	Counts *records.PropertyCount `json:"counts,omitempty"`
}

// Never reports whether what must happen in some run happened in none.
func (p *propertyRow) Never() bool {
	return p.Counts != nil && p.Counts.NotYet > 0 && p.Counts.Holds == 0 && p.Counts.Violated == 0
}

// effortRow is the effort of a phase in an environment.
type effortRow struct {
	Env   envRef `json:"env"`
	Phase string `json:"phase"`
	records.Sum
	Share float64 `json:"share"` // of the time of all phases
}

// riskRow is a bound with what it says.
type riskRow struct {
	Class string  `json:"class"`
	Runs  uint64  `json:"runs"`
	News  uint64  `json:"news"`
	After uint64  `json:"after"`
	Bound float64 `json:"bound,omitempty"` // none if Not says why
	Says  string  `json:"says"`
	Not   string  `json:"not,omitempty"`
	Lack  string  `json:"-"` // stands in place of the bound
}

// Bounds of the growth curves.
const (
	curvePoints = 400
	oldCurves   = 3 // of older codes
)

func buildTest(a *ask) (any, error) {
	t, err := a.test("id")
	if err != nil {
		return nil, err
	}
	v := a.view
	codes := v.CodesOf(t)
	code := a.code("code", codes, 0)
	p := &TestPage{Code: codeOf(v, code), Codes: codesOf(v, codes), Corpus: len(t.Corpus), Calibration: t.Calibration(code, records.AnyFeature)}
	p.Test, p.Failures = rowOf(v, t)
	p.Definitions = slices.SortedFunc(maps.Values(t.Definitions), func(x, y *records.Test) int {
		return cmp.Or(cmp.Compare(y.AtMs, x.AtMs), cmp.Compare(x.Definition, y.Definition))
	})
	p.Growth = append(p.Growth, curve{p.Code, thin(t.Growth(code))})
	for _, c := range codes {
		if len(p.Growth) <= oldCurves && c != code {
			if old := thin(t.Growth(c)); len(old) > 1 {
				p.Growth = append(p.Growth, curve{codeOf(v, c), old})
			}
		}
	}
	varying := varyingHoldout(t, code)
	for _, r := range t.Risks(code) {
		p.Risks = append(p.Risks, riskOf(r, varying))
	}
	counts := t.Counts(code)
	p.Faults, p.Counted = counts.Faults, counts.Runs
	p.properties(counts)
	p.effort(v, t, code)
	return p, nil
}

// thin leaves so many points that a drawing can show.
func thin(list []records.Grown) []records.Grown {
	if len(list) <= curvePoints {
		return list
	}
	kept := make([]records.Grown, 0, curvePoints)
	for i := range curvePoints {
		kept = append(kept, list[i*(len(list)-1)/(curvePoints-1)])
	}
	return kept
}

// properties lists those of the latest definition, and others that failures and counts name.
func (p *TestPage) properties(counts *records.Counted) {
	at := map[string]int{}
	row := func(name, kind string) *propertyRow {
		i, known := at[name]
		if !known {
			i = len(p.Properties)
			at[name] = i
			p.Properties = append(p.Properties, propertyRow{Name: name, Kind: kind})
		}
		return &p.Properties[i]
	}
	if len(p.Definitions) > 0 {
		for _, q := range p.Definitions[0].Properties {
			row(q.Name, q.Kind)
		}
	}
	for i := range p.Failures {
		f := &p.Failures[i]
		row := row(f.Property, "")
		switch {
		case f.open():
			row.Open++
		case f.Finding == records.ResolvedFinding:
			row.Resolved++
		}
	}
	for i := range p.Risks {
		if name, is := strings.CutPrefix(p.Risks[i].Class, records.PropertyClass("")); is {
			row(name, "").Risk = &p.Risks[i]
		}
	}
	for i := range counts.Properties {
		c := &counts.Properties[i]
		row(c.Name, c.Kind).Counts = c
	}
	if n := len(p.Properties); n > maxRows {
		p.Properties, p.Left = p.Properties[:maxRows], n-maxRows
	}
	p.Faults = p.Faults[:min(len(p.Faults), maxRows)]
}

func (p *TestPage) effort(v *records.View, t *records.TestView, code records.ID) {
	all := int64(0)
	for place, e := range t.Efforts {
		if place.Code != code {
			continue
		}
		for phase, s := range e.Phases {
			p.Effort = append(p.Effort, effortRow{Env: envOf(v, place.Env), Phase: phase, Sum: *s})
			all += s.Ms
		}
	}
	for i := range p.Effort {
		p.Effort[i].Share = float64(p.Effort[i].Ms) / math.Max(float64(all), 1)
	}
	slices.SortFunc(p.Effort, func(x, y effortRow) int {
		return cmp.Or(cmp.Compare(x.Env.Name, y.Env.Name), cmp.Compare(x.Env.ID, y.Env.ID), cmp.Compare(y.Ms, x.Ms), cmp.Compare(x.Phase, y.Phase))
	})
}

// riskOfAny is the risk of all behaviours in a code; nil if it has no holdout runs.
func riskOfAny(t *records.TestView, code records.ID) *riskRow {
	r := t.Risk(code, records.AnyFeature)
	if r == nil {
		return nil
	}
	row := riskOf(*r, varyingHoldout(t, code))
	return &row
}

// varyingHoldout counts the holdout runs of a code that do not repeat.
func varyingHoldout(t *records.TestView, code records.ID) (n uint64) {
	for p, e := range t.Efforts {
		if s := e.Phases[records.Holdout]; p.Code == code && s != nil {
			n += s.Varying
		}
	}
	return n
}

// riskOf puts a bound into words. Holdout runs that vary leave no bound.
func riskOf(r records.Risk, varying uint64) riskRow {
	row := riskRow{Class: r.Class, Runs: r.Runs, News: r.News, After: r.After, Not: r.Not}
	switch {
	case r.Not != "" && varying > 0:
		row.Lack = "unknown: runs did not repeat"
		row.Says = fmt.Sprintf("Unknown: %s of %s holdout runs did not repeat, so they give no bound.",
			grouped(varying), grouped(r.Runs))
		return row
	case r.Not != "":
		row.Lack = notEnough
		row.Says = fmt.Sprintf("Not enough runs yet: %s %s since the last one that showed something new, and at least %s are needed.",
			grouped(r.After), plural.Word(r.After, "holdout run"), grouped(records.RunsFor(1, r.News)))
		return row
	}
	row.Bound = r.Bound
	share := "fewer than 1 in " + grouped(uint64(1/r.Bound)) + " further random runs"
	if r.Bound > 0.1 {
		share = "at most " + fmt.Sprintf("%.0f %%", 100*r.Bound) + " of further random runs"
	}
	row.Says = fmt.Sprintf("%.0f %% sure: %s would show %s. The last %s %s showed none.",
		100*records.Confidence, share, row.what(), grouped(r.After), plural.Word(r.After, "holdout run"))
	return row
}

// notEnough stands in place of a bound.
const notEnough = "not enough runs yet"

// what names the event whose chance is bounded.
func (r *riskRow) what() string {
	if property, is := strings.CutPrefix(r.Class, records.PropertyClass("")); is {
		return "a new violation of " + property
	}
	if r.Class == records.AnyFeature {
		return "a behaviour not seen before"
	}
	return "a behaviour of the kind " + r.Class + " not seen before"
}

// Subject names the behaviours or violations of the row, for people.
func (r *riskRow) Subject() string {
	if property, is := strings.CutPrefix(r.Class, records.PropertyClass("")); is {
		return "violations of " + report.Visible(property, wordRunes)
	}
	if r.Class == records.AnyFeature {
		return "all behaviours"
	}
	return report.Visible(r.Class, wordRunes)
}

// Main reports whether the risk is of all behaviours or of a property, and not of one class of behaviours.
func (r *riskRow) Main() bool {
	return r.Class == records.AnyFeature || strings.HasPrefix(r.Class, records.PropertyClass(""))
}

// grouped writes a number with commas between thousands.
func grouped(n uint64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
