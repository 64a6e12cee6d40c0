package cases

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/bench/tlc/random"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// TestCases compares the answers for the cases of testdata/cases.txt with TLC's: verdict, property, generated and distinct states.
// go -C bench run ./tlc -jar tla2tools.jar -cases tlc/cases/testdata/cases.txt asks TLC again, and writes its answers to the file.
func TestCases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "cases.txt"))
	if err != nil {
		t.Fatal(err)
	}
	comment, list, err := Read(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if Write(comment, list) != string(text) {
		t.Errorf("testdata/cases.txt is not as the program writes it")
	}
	for _, c := range list {
		t.Run(c.Title, func(t *testing.T) {
			got, why := answer(t, &c)
			if c.TLC.Name == "" {
				got.Name = ""
			}
			if c.TLC.Generated == 0 { // TLC reports no numbers where an initial state breaks something
				got.Generated, got.Distinct = 0, 0
			}
			if got != c.TLC {
				t.Errorf("%v, and TLC %v; %v", got, c.TLC, why)
			}
		})
	}
}

func answer(t *testing.T, c *Case) (random.Answer, error) {
	dir := t.TempDir()
	if err := c.Put(dir); err != nil {
		t.Fatal(err)
	}
	failed := random.Answer{Kind: random.Failed}
	root := filepath.Join(dir, Root)
	config, err := tla.ReadConfig(root + ".cfg")
	if err != nil {
		return failed, err
	}
	spec, err := tla.Load(root+".tla", config)
	if err != nil {
		return failed, err
	}
	r, err := tla.Check(spec, tla.Options{})
	if err != nil {
		return failed, err
	}
	a := random.Answer{Kind: random.Holds, Generated: r.Generated, Distinct: r.Distinct}
	switch {
	case len(r.Violations) > 0:
		a.Kind, a.Name = string(r.Violations[0].Kind), strings.TrimSpace(r.Violations[0].Name)
	case len(r.Unchecked) > 0:
		return failed, r.Unchecked[0].Why
	case r.Barred, r.Distinct == 0 && len(r.Actions) > 0: // TLC takes a constraint that is FALSE for a mistake
		return failed, errors.New("nothing was checked")
	}
	return a, nil
}
