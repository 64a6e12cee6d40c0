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

// Digits counts the hexadecimal digits in the ids of failures and runs.
const Digits = 12

// Failure identifies a violation in a test and the run that shows it, alike on the terminal, in files, documents, pages and databases.
type Failure struct {
	ID        string `json:"id"`               // of the test and the signature: see IDOf
	RunID     string `json:"run_id,omitempty"` // of the run that shows it: see RunOf
	Property  string `json:"property"`
	Signature string `json:"signature"`
	Headline  string `json:"headline,omitempty"` // what happened, in a line: see Headline
}

// New identifies the failure of a test that a run shows.
func New(test, run, property, signature, reason string) Failure {
	return Failure{ID: IDOf(test, signature), RunID: run, Property: property, Signature: signature, Headline: Headline(reason)}
}

// Name names the files of this run of the failure. Each run has its own.
func (f *Failure) Name() string {
	if f.RunID == "" {
		return f.ID
	}
	return f.ID + "-" + f.RunID
}

// TestID returns the id of a test by its name. Changes of the configuration keep it.
func TestID(name string) string { return digest("test", name)[:testDigits] }

// testDigits counts the digits in the ids of tests.
const testDigits = 16

// IDOf returns the id of a failure by the name of its test. Every run that shows the failure has the same.
func IDOf(test, signature string) string { return IDIn(TestID(test), signature) }

// IDIn returns the id of a failure by the id of its test.
func IDIn(test, signature string) string { return digest("failure", test, signature)[:Digits] }

// RunOf returns the id of a run, a digest of its world and its tape, which are plain data.
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

// Form matches what people may type for a failure: the beginning of its id, that and the beginning of a run's id, or an earlier, longer id.
var Form = regexp.MustCompile(`^[0-9a-f]{4,64}(-[0-9a-f]{1,64})?$`)

// Matches reports whether the name that a person typed may mean the failure with an id.
func Matches(name, id string) bool {
	return name != "" && (strings.HasPrefix(id, name) || len(id) >= Digits && strings.HasPrefix(name, id) && !strings.Contains(name, "-"))
}

// plain begins reasons, and repeats the name of the check.
const plain = "not linearizable: "

// maxHeadline bounds a headline, in characters.
const maxHeadline = 300

// Headline shortens the reason of a verdict to one line.
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

// Sentence names the property before the headline, for places that do not name it.
func (f *Failure) Sentence() string { return f.Property + " is violated: " + f.Headline }
