package dashboard

import (
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/records"
)

// ComparePage compares two codes of a test.
type ComparePage struct {
	Test     testRef      `json:"test"`
	Tests    []testRef    `json:"tests"`
	Codes    []codeRef    `json:"codes"`
	A        side         `json:"a"` // the older one, unless the query says otherwise
	B        side         `json:"b"`
	Both     int          `json:"features_of_both"`
	Failures []compareRow `json:"failures"`
	Growth   []curve      `json:"growth"`
}

// side is one of the codes that are compared.
type side struct {
	Code     codeRef     `json:"code"`
	Features int         `json:"features"`
	Alone    int         `json:"features_alone"` // that the other one lacks
	Sum      records.Sum `json:"effort"`
	Risk     *riskRow    `json:"risk,omitempty"`
}

// compareRow is a failure in both codes.
type compareRow struct {
	failureRow
	A      string         `json:"a"` // result, empty if it was not tried
	B      string         `json:"b"`
	Change records.Change `json:"change"` // from A to B
}

// Says tells the change for people.
func (r *compareRow) Says() string {
	switch {
	case r.Change == records.UnchangedChange:
		return "in both"
	case r.Change == records.NewChange && r.A == "":
		return "in B, not tried in A"
	case r.Change == records.NewChange && r.A == records.Clean:
		return "new in B"
	case r.Change == records.NewChange:
		return "in B, unclear in A"
	case r.B == records.Clean && r.Change == records.UnclearChange:
		return "clean in B, but in another environment"
	case r.B == records.Clean:
		return "clean in B"
	case r.B == "":
		return "not tried in B"
	}
	return "unclear in B"
}

func buildCompare(a *ask) (any, error) {
	t, err := a.test("test")
	if err != nil {
		return nil, err
	}
	v := a.view
	codes := v.CodesOf(t)
	if len(codes) == 0 {
		return &ComparePage{Test: refOf(t), Tests: refsOf(v)}, nil
	}
	idA, idB := a.code("a", codes, min(1, len(codes)-1)), a.code("b", codes, 0)
	p := &ComparePage{Test: refOf(t), Tests: refsOf(v), Codes: codesOf(v, codes), A: sideOf(v, t, idA), B: sideOf(v, t, idB)}
	ofA, ofB := featuresOf(t, idA), featuresOf(t, idB)
	for id := range ofA {
		if _, is := ofB[id]; is {
			p.Both++
		}
	}
	p.A.Alone, p.B.Alone = len(ofA)-p.Both, len(ofB)-p.Both
	canary := t.Definition() != nil && t.Definition().Canary
	for _, f := range t.Failures {
		row := compareRow{failureRow: failureOf(v, t, f, codes[0]), Change: f.Changed(idA, idB)}
		row.Canary = canary
		for place, c := range f.Matrix() {
			if place.Code == idA {
				row.A = records.MoreSaid(row.A, c.Result)
			}
			if place.Code == idB {
				row.B = records.MoreSaid(row.B, c.Result)
			}
		}
		if row.A != "" || row.B != "" {
			p.Failures = append(p.Failures, row)
		}
	}
	slices.SortFunc(p.Failures, func(x, y compareRow) int { return x.compare(&y.failureRow) })
	p.Growth = []curve{{p.B.Code, thin(t.Growth(idB))}, {p.A.Code, thin(t.Growth(idA))}}
	return p, nil
}

func sideOf(v *records.View, t *records.TestView, code records.ID) side {
	s := side{Code: codeOf(v, code), Features: len(featuresOf(t, code))}
	for p, e := range t.Efforts {
		if p.Code != code {
			continue
		}
		for _, x := range e.Phases {
			s.Sum.Add(x)
		}
	}
	s.Risk = riskOfAny(t, code)
	return s
}
