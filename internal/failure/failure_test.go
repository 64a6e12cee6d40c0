package failure

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestNormalise(t *testing.T) {
	for text, want := range map[string]string{
		`get k1 returned "a", at 3.5s (event 88)`:                            `get # returned "...", at # (event #)`,
		`get k22 returned "a long  value", at 17s (event 9)`:                 `get # returned "...", at # (event #)`,
		`differ: n1, n3 say "{\"key\":\"a b\"}"; n2 says "{\"key\":\"c d...`: `differ: #, # say "..."; # says "..."`,
		`a 5" nail, and more`: `a # nail, and more`,
		`# and "..."`:         `# and "..."`,
	} {
		if got := normalise(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// Ids depend on the test and the signature alone, and runs on their world and tape: neither depends on the other.
func TestIDs(t *testing.T) {
	a := New("kv", RunOf("world", "tape 1"), "p", "p: c/x", "a get found nothing")
	b := New("kv", RunOf("world", "tape 2"), "p", "p: c/x", "a get by another client found nothing")
	other := New("other", a.RunID, "p", "p: c/x", "a get found nothing")
	switch {
	case a.ID != b.ID || a.RunID == b.RunID || a.Name() == b.Name():
		t.Errorf("two runs of a failure: %+v, %+v", a, b)
	case a.ID == other.ID || a.RunID != other.RunID:
		t.Errorf("one run in two tests: %+v, %+v", a, other)
	case len(a.ID) != Digits || len(a.RunID) != Digits || len(TestID("kv")) != testDigits:
		t.Errorf("lengths of %+v", a)
	case a.ID != IDIn(TestID("kv"), "p: c/x"):
		t.Error("the id of a test gives another id")
	}
	for name, means := range map[string]bool{a.ID: true, a.ID[:4]: true, a.ID + "ffff": true, "": false, "xyz": false} {
		if Matches(name, a.ID) != means {
			t.Errorf("%q means %s: want %v", name, a.ID, means)
		}
	}
}

func TestHeadline(t *testing.T) {
	for reason, want := range map[string]string{
		"not linearizable: a get found nothing": "a get found nothing",
		"two\nlines\tand \x1b[31mred":           "two lines and [31mred",
		"":                                      "see the evidence",
		strings.Repeat("x", 400):                strings.Repeat("x", maxHeadline) + "...",
	} {
		if got := Headline(reason); got != want {
			t.Errorf("%q: got %q, want %q", reason, got, want)
		}
	}
}

// Whether a read after a lost write finds an older value or none depends on the operations before it, and is no other failure.
func TestAlike(t *testing.T) {
	of := func(property, reason string) string { return Former(property, "not linearizable: "+reason, "") }
	lost := of("p", "a get by client c1 found nothing, although the key was there")
	for other, want := range map[string]bool{
		of("p", `a get by client c2 returned "17", which was no longer the value`):                       true,
		of("p", `a get by client c2 returned "aaaaaaaa"... (4096 bytes), which was no longer the value`): true,
		of("p", `a get by client c2 found nothing, although the key was there`):                          true,
		of("q", `a get by client c2 returned "17", which was no longer the value`):                       false,
		of("p", `a get by client c2 returned "17", which nobody had written`):                            false,
		of("p", `a read by client c2 returned "17", which was no longer the value`):                      false,
		of("p", "no order of the operations explains a get by client c1"):                                false,
	} {
		if Alike(lost, other) != want || Alike(other, lost) != want {
			t.Errorf("%q and %q: want alike %v", lost, other, want)
		}
	}
}

// The words of earlier builds stand for the causes that checks give now: testdata/former.jsonl has what such a build has written, with the causes that
// the next build gave the same runs. It stays as it is when words change.
func TestFormerWords(t *testing.T) {
	file, err := os.Open("testdata/former.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for lines := bufio.NewScanner(file); lines.Scan(); n++ {
		var was struct {
			Reason string
			Cause
		}
		if err := json.Unmarshal(lines.Bytes(), &was); err != nil {
			t.Fatal(err)
		}
		if got, ok := FormerCause(was.Reason); !ok || !reflect.DeepEqual(got, was.Cause) {
			t.Errorf("%s\n got %v %+v\nwant %+v", was.Reason, ok, got, was.Cause)
		}
		want := Signature("p", was.Cause)
		if got := Former("p", was.Reason, "p: "+normalise(was.Reason)); got != want {
			t.Errorf("%s\n got %s\nwant %s", was.Reason, got, want)
		}
		if got := Former("p", "reworded since", want); got != want {
			t.Errorf("a signature of now becomes %s", got)
		}
		// Without the reason, the signature tells, unless what varies has hidden a name: then it stays.
		if got := Former("p", "", "p: "+normalise(was.Reason)); got != want && got != "p: "+normalise(was.Reason) {
			t.Errorf("%s\n got %s\nwant %s", normalise(was.Reason), got, want)
		}
	}
	if n < 100 {
		t.Errorf("only %d reasons", n)
	}
}

// What the list does not have stays as it was.
func TestFormerUnknown(t *testing.T) {
	const signature = "p: something that no build says, at #"
	if got := Former("p", "something that no build says, at 7", signature); got != signature {
		t.Errorf("got %s", got)
	}
	if got := Former("p", "something that no build says, at 7", ""); got != signature {
		t.Errorf("got %s", got)
	}
	cut := "p: " + strings.Repeat("x", MaxSignatureBytes)[:MaxSignatureBytes-3]
	if got := Former("p", "", cut); got != cut {
		t.Errorf("got %s", got)
	}
}
