package counts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/sdk/internal/counts"
)

// What a Counter writes is what Read reads. Answers whose code is no word, or one too many, are counted together.
func TestWrittenAndRead(t *testing.T) {
	var c counts.Counter
	o := c.Add("charge", "503")
	for i := range 1500 {
		o.Call()
		o.Answer(fmt.Sprint(i))
	}
	for _, code := range []string{"two words", "", strings.Repeat("x", 41)} {
		o.Call()
		o.Answer(code)
	}
	o.Call()
	o.Unparsable("200.")
	text, err := json.Marshal(&c)
	if err != nil {
		t.Fatal(err)
	}
	all, err := counts.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	n := all.Operations["charge"]
	if b := n.Breaches; n.Calls != 1504 || n.Failures["503"] != 1 || len(b.Codes) != 1000 || b.Codes[counts.Other] != 503 || b.Unparsable["200."] != 1 {
		t.Errorf("%+v with %d codes", n, len(b.Codes))
	}
}

// Counts that no Counter wrote are errors with a remedy.
func TestBadCounts(t *testing.T) {
	for text, want := range map[string]string{
		``:                                     "cut off at byte 0",
		`{"operations": {"a": `:                "cut off at byte 21",
		`{"operations" {}}`:                    "at byte 15: invalid character",
		`{}`:                                   "no operation",
		`{"operations": {}} {}`:                "something follows",
		`{"operation": {}}`:                    `unknown field "operation"`,
		`{"operations": {"a": {"calls": -1}}}`: `calls" is -1, and must be a whole number from 0 on`,
		`{"operations": {"a": {"calls": 1, "calls": 40}}}`: `the key "calls" stands twice`,
		`{"operations": {"a": {"Calls": 40}}}`:             `the key "Calls" is written "calls"`,
		`{"operations": {"a": {"calls": 1, "lost": 2}}}`: "the counts of a " +
			"are impossible: more went wrong than 1 call",
		`{"operations": {"a": {"calls": 9, "lost": 5, "breaches": {"cut": 18446744073709551615}}}}`:      "more went wrong than 9 calls",
		`{"operations": {"a": {"calls": 9, "failures": {"two words": 1}}}}`:                              `"two words" is not a code`,
		`{"operations": {"a": {"calls": 9, "failures": {"503": 1}, "breaches": {"codes": {"503": 1}}}}}`: "the code 503 is in two classes",
	} {
		if _, err := counts.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "unchanged") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Each kind gets its share of all calls although those before it take calls, and shares that are too much are in proportion.
func TestShares(t *testing.T) {
	type answer struct {
		code          string
		before, after float64
		breach        bool
	}
	for text, want := range map[string][]float64{
		`{"calls": 100, "lost": 20, "failures": {"503": 1}, "breaches": {"cut": 7}}`: {0.1, 0.1, 0.05, 0.05, 0.07},
		`{"calls": 10, "lost": 10}`:                                                        {0.4, 0.4, 0},
		`{"calls": 100, "lost": 90, "failures": {"503": 1, "500": 9}}`:                     {0.327, 0.327, 0.036, 0.036, 0.036, 0.036, 0},
		`{"calls": 100, "lost": 90, "failures": {"503": 0}, "breaches": {"cut": 10}}`:      {0.36, 0.36, 0.08},
		`{"calls": 100, "failures": {"503": 0}, "breaches": {"codes": {"a": 2, "b": 40}}}`: {0, 0, 0.05, 0.05, 0.2, 0.2, 0},
	} {
		all, err := counts.Read(strings.NewReader(`{"operations": {"a": ` + text + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		var before, after, cut float64
		list, wrong, err := counts.Play(all.Operations["a"], counts.Rates{Before: &before, After: &after}, &cut, nil,
			func(a *answer) (string, counts.Rates) {
				return a.code, counts.Rates{Before: &a.before, After: &a.after, Breach: &a.breach}
			},
			func(code string, _ bool) (answer, error) { return answer{code: code}, nil })
		if err != nil || !wrong {
			t.Fatalf("%v, %v", wrong, err)
		}
		rates := []float64{before, after}
		for _, a := range list {
			rates = append(rates, a.before, a.after)
		}
		var got []float64
		left := 1.0
		for _, rate := range append(rates, cut) {
			got = append(got, math.Round(1000*rate*left)/1000)
			left -= rate * left
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", text, got, want)
		}
	}
}

// A program in production does not get the flags of package testing, nor faults.
func TestNoTestingInProduction(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../../httpcount", "../../sqlcount").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	shared := []string{"internal/plural", "internal/strictjson", "sdk/internal/counts", "sdk/internal/routes", "sdk/internal/sqlcalls"}
	for pkg := range strings.Lines(string(out)) {
		pkg = strings.TrimSpace(pkg)
		own, mine := strings.CutPrefix(pkg, "github.com/bloodhound-dst/bloodhound/")
		if pkg == "testing" || pkg == "flag" || mine && !slices.Contains(shared, own) && !strings.HasSuffix(own, "count") {
			t.Errorf("a package that counts imports %s", pkg)
		}
	}
}

// Counts of a later version of the module are told from those that somebody has changed.
func TestLaterCounts(t *testing.T) {
	const text = `{"counts_version": 2, "operations": [{"name": "get", "calls": 3}]}`
	if _, err := counts.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "A later version of the module wrote them") {
		t.Error(err)
	}
}
