package failure

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Digits is how many hexadecimal digits an id of a failure has, and that of a run.
const Digits = 12

// Failure is a violation of a test, and the run that shows it, as the terminal, files, documents, pages and databases name it.
type Failure struct {
	ID        string `json:"id"`               // of the test and the signature: see IDOf
	RunID     string `json:"run_id,omitempty"` // of the run that shows it: see RunOf
	Property  string `json:"property"`
	Signature string `json:"signature"`
	Headline  string `json:"headline,omitempty"` // what happened, in a line: see Headline
}

// New is the failure of a test that a run shows.
func New(test, run, property, signature, reason string) Failure {
	return Failure{ID: IDOf(test, signature), RunID: run, Property: property, Signature: signature, Headline: Headline(reason)}
}

// Name is that of the files of the failure's run: no other run has it.
func (f *Failure) Name() string {
	if f.RunID == "" {
		return f.ID
	}
	return f.ID + "-" + f.RunID
}

// TestID is the id of the test of a name, which stays when its configuration changes.
func TestID(name string) string { return digest("test", name)[:testDigits] }

// testDigits is how many digits the ids of tests have.
const testDigits = 16

// IDOf is the id of a failure of the test of a name: the same for every run that shows it.
func IDOf(test, signature string) string { return IDIn(TestID(test), signature) }

// IDIn is the id of a failure of the test of an id.
func IDIn(test, signature string) string { return digest("failure", test, signature)[:Digits] }

// RunOf is the id of a run, by all that makes it: its world and its tape, which are plain data.
func RunOf(world, tape any) string {
	text, err := json.Marshal([]any{world, tape})
	if err != nil {
		panic("failure: " + err.Error()) // plain data
	}
	return digest("run", string(text))[:Digits]
}

func digest(kind string, parts ...string) string {
	h := sha256.New()
	fmt.Fprintf(h, "bloodhound %s", kind)
	for _, p := range parts {
		fmt.Fprintf(h, "\x00%s", p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Form is what people write for a failure: its id, that of one of its runs, or both; a beginning, or the longer ids of earlier versions.
var Form = regexp.MustCompile(`^[0-9a-f]{4,64}(-[0-9a-f]{1,64})?$`)

// Means reports whether a name that a person gave may mean a failure of an id.
func Means(name, id string) bool {
	return name != "" && (strings.HasPrefix(id, name) || len(id) >= Digits && strings.HasPrefix(name, id) && !strings.Contains(name, "-"))
}

// plain are words that every reader of a reason has read already in the name of its property or its check.
const plain = "not linearizable: "

// maxHeadline bounds a headline, in characters.
const maxHeadline = 300

// Headline is what happened, in a line for people, by the reason of the verdict.
func Headline(reason string) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.TrimPrefix(reason, plain))
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxHeadline {
		text = string(r[:maxHeadline]) + "..."
	}
	if text == "" {
		return "see the evidence"
	}
	return text
}

// Sentence is the headline with its property, where nothing around it names that.
func (f *Failure) Sentence() string { return f.Property + " is violated: " + f.Headline }
