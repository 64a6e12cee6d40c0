// Package contract runs the same checks against a fake and against the real dependency, to find where the fake differs.
//
//	func TestFakeOrders(t *testing.T) {
//		contract.Test(t, contract.Transactions(sql.LevelSerializable),
//			contract.Place[contract.Database]{Name: "fake", With: newFake},
//			contract.Place[contract.Database]{Name: "postgres", Real: true, Missing: noPostgres, With: newPostgres})
//	}
//
// The flag -sdk.deps=fake, -sdk.deps=real or -sdk.deps=NAME,NAME chooses places.
package contract

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

var flagDeps = flag.String("sdk.deps", "all", "where contracts are checked: all, fake, real, or names of places, separated by commas")

// Clause is one promise of a dependency.
type Clause[D any] struct {
	Name string
	// Check returns how the dependency breaks the clause, or nil.
	Check func(D) error
}

// Place is one implementation of a dependency: the fake or the real one.
type Place[D any] struct {
	Name string
	Real bool
	// Missing returns why the dependency is not available on this machine, or "" if it is. Nil means that it always is.
	Missing func() string
	// With calls play once, with a dependency that holds no data of other clauses.
	With func(t testing.TB, play func(D))
}

// Report lists the results of a comparison.
type Report struct {
	// Broken has a line for each clause that a place breaks.
	Broken []string
	// Absent has a line for each place that deps names but this machine lacks.
	Absent []string
	// Kept counts the clauses that each place keeps, by the place's name.
	Kept map[string]int
	real bool // something real was there
}

// Test fails if a place breaks a clause. It checks every available place and then skips the test if none of them is
// real: clauses that only a fake keeps say nothing about the real dependency. With -sdk.deps=fake the test is not
// skipped.
func Test[D any](t *testing.T, clauses []Clause[D], places ...Place[D]) {
	t.Helper()
	r, err := Compare(t, *flagDeps, clauses, places...)
	switch {
	case err != nil:
		t.Fatal(err)
	case len(r.Broken) > 0:
		t.Fatalf("%s\n%s", strings.Join(r.Broken, "\n"), r)
	case !r.real && *flagDeps != "fake":
		t.Skipf("not compared with a real dependency: %s\n%s", strings.Join(r.Absent, "; "), r)
	}
	t.Log(r.String())
}

// String lists how many clauses each place keeps.
func (r *Report) String() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.Kept)) {
		list = append(list, fmt.Sprintf("%s keeps %s", name, plural.Count(r.Kept[name], "clause")))
	}
	return strings.Join(append(list, r.Absent...), "\n")
}

// Compare checks the clauses at the places that deps names, like the flag -sdk.deps. It returns an error if the
// arguments are invalid.
func Compare[D any](t testing.TB, deps string, clauses []Clause[D], places ...Place[D]) (*Report, error) {
	t.Helper()
	chosen, err := choose(deps, places)
	if err != nil {
		return nil, err
	}
	if len(clauses) == 0 {
		return nil, fmt.Errorf("there is no clause to check")
	}
	r := &Report{Kept: map[string]int{}}
	broken := make([]map[string]error, len(clauses)) // by place
	for i := range broken {
		broken[i] = map[string]error{}
	}
	var there []Place[D]
	for _, p := range chosen {
		if p.Missing != nil {
			if why := p.Missing(); why != "" {
				r.Absent = append(r.Absent, fmt.Sprintf("%s is not there: %s", p.Name, why))
				continue
			}
		}
		there = append(there, p)
		r.real = r.real || p.Real
		r.Kept[p.Name] = 0
		for i, c := range clauses {
			if err := check(t, p, c); err != nil {
				broken[i][p.Name] = err
			} else {
				r.Kept[p.Name]++
			}
		}
	}
	if len(there) == 0 {
		return nil, fmt.Errorf("no place was there: %s", strings.Join(r.Absent, "; "))
	}
	for i, c := range clauses {
		for _, p := range there {
			if err := broken[i][p.Name]; err != nil {
				r.Broken = append(r.Broken, fmt.Sprintf("%s breaks %q: %v%s", p.Name, c.Name, err, meaning(p, there, broken[i])))
			}
		}
	}
	return r, nil
}

// meaning says what it means that one place breaks a clause.
func meaning[D any](p Place[D], there []Place[D], broken map[string]error) string {
	if p.Real {
		return "\n  it is real: the clause asks for more than it promises, or it has a bug"
	}
	var keep []string
	for _, o := range there {
		if o.Real && broken[o.Name] == nil {
			keep = append(keep, o.Name)
		}
	}
	if len(keep) == 0 {
		return ""
	}
	return fmt.Sprintf("\n  %s, which is real, keeps it: the fake lies", strings.Join(keep, ", "))
}

func check[D any](t testing.TB, p Place[D], c Clause[D]) (err error) {
	played := 0
	p.With(t, func(d D) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v", v)
			}
		}()
		played++
		err = c.Check(d)
	})
	if played != 1 {
		return fmt.Errorf("Place.With must call its function once, but called it %s", plural.Count(played, "time"))
	}
	return err
}

func choose[D any](deps string, places []Place[D]) (list []Place[D], err error) {
	var names []string
	for _, p := range places {
		switch {
		case p.With == nil:
			return nil, fmt.Errorf("place %q has no function With", p.Name)
		case p.Name == "" || strings.Contains(p.Name, ",") || slices.Contains(names, p.Name):
			return nil, fmt.Errorf("place %q needs a unique name without a comma", p.Name)
		case p.Name == "all" || p.Name == "fake" && p.Real || p.Name == "real" && !p.Real:
			return nil, fmt.Errorf("place %q needs another name: -sdk.deps=%s has its own meaning", p.Name, p.Name)
		}
		names = append(names, p.Name)
	}
	asked := strings.Split(deps, ",")
	for _, word := range asked {
		some := false
		for _, p := range places {
			if word == "all" || word == p.Name || word == "fake" && !p.Real || word == "real" && p.Real {
				some = true
				if !slices.ContainsFunc(list, func(q Place[D]) bool { return q.Name == p.Name }) {
					list = append(list, p)
				}
			}
		}
		if !some {
			return nil, fmt.Errorf("-sdk.deps=%s: %q is not a place of this test; use all, fake, real, "+
				"%s", deps, word, strings.Join(names, ", "))
		}
	}
	return list, nil
}
