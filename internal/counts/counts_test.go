package counts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/counts"
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
		``:                                     "end at byte 0",
		`{"operations": {"a": `:                "end at byte 21, in their middle",
		`{"operations" {}}`:                    "at byte 15: invalid character",
		`{}`:                                   "no operation",
		`{"operations": {}} {}`:                "something follows",
		`{"operation": {}}`:                    `unknown field "operation"`,
		`{"operations": {"a": {"calls": -1}}}`: "cannot unmarshal",
		`{"operations": {"a": {"calls": 1, "lost": 2}}}`:                                                 "the counts of a cannot be: more went wrong than the 1 calls",
		`{"operations": {"a": {"calls": 9, "lost": 5, "breaches": {"cut": 18446744073709551615}}}}`:      "more went wrong than the 9 calls",
		`{"operations": {"a": {"calls": 9, "failures": {"two words": 1}}}}`:                              `"two words" is no code`,
		`{"operations": {"a": {"calls": 9, "failures": {"503": 1}, "breaches": {"codes": {"503": 1}}}}}`: "the code 503 is in two classes",
	} {
		if _, err := counts.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "unchanged") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A program in production does not get the flags of package testing, nor faults.
func TestNoTestingInProduction(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../../sdk/httpcount", "../../sdk/sqlcount", "../../sdk/rediscount").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for pkg := range strings.Lines(string(out)) {
		pkg = strings.TrimSpace(pkg)
		own, mine := strings.CutPrefix(pkg, "github.com/bloodhound-dst/bloodhound/")
		if pkg == "testing" || pkg == "flag" || mine && own != "internal/counts" && own != "internal/sqlcalls" && !strings.HasSuffix(own, "count") {
			t.Errorf("a package that counts imports %s", pkg)
		}
	}
}
