package tape

import (
	"strings"
	"testing"
)

var everyEdit = Tape{Seed: 42, Edits: []Edit{
	{Op: Default, Stream: "**", To: End},
	{Op: Default, Stream: "net/*/0", From: 3, To: 9},
	{Op: Set, Stream: "fault/crash/n1", From: 17, Value: 3},
	{Op: Reseed, Stream: "net/**", From: 5, Seed: 99},
	{Op: Set, Stream: "a name # with \"all\"\n", From: End, Value: End},
	{Op: Set, Stream: "", From: 0, Value: 0},
}}

const everyEditText = `tape 1
seed 42
default ** 0..
default net/*/0 3..9
set fault/crash/n1 17 = 3
reseed net/** 5.. seed 99
set "a name # with \"all\"\n" 18446744073709551615 = 18446744073709551615
set "" 0 = 0
`

func TestFormat(t *testing.T) {
	if got := Format(everyEdit); got != everyEditText {
		t.Errorf("got\n%s\nwant\n%s", got, everyEditText)
	}
}

func TestParse(t *testing.T) {
	got, err := Parse("# by hand\n\n" + strings.ReplaceAll(everyEditText, "\n", "  # why\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	if Format(got) != everyEditText {
		t.Errorf("got\n%s", Format(got))
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "at least two lines"},
		{"tape 1\n", "at least two lines"},
		{"tape 2\nseed 1", `line 1: a tape starts with the line "tape 1"`},
		{"tape 1\nsede 1", `line 2: expected "seed N"`},
		{"tape 1\nseed -1", `line 2: "-1" is not a number`},
		{"tape 1\nseed 1\n\nset a 1 2", `line 4: expected "set STREAM INDEX = VALUE", not "set a 1 2"`},
		{"tape 1\nseed 1\ndefault ** 5", "line 3: expected"},
		{"tape 1\nseed 1\ndefault ** 5..5", "line 3: the range 5..5 is empty"},
		{"tape 1\nseed 1\nreseed ** 5..6 seed 1", "line 3: expected"},
		{"tape 1\nseed 1\nswap a b", `line 3: "swap" is not an edit`},
		{"tape 1\nseed 1\nset \"a 1 = 2", "line 3: a quoted name does not end"},
	} {
		if _, err := Parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%q): %v, want %q", c.text, err, c.want)
		}
	}
}

// What parses is stable: its text form parses to the same text form.
func FuzzParse(f *testing.F) {
	f.Add(everyEditText)
	f.Add("tape 1\nseed 0\nset \"\\xff\" 1 = 1")
	f.Fuzz(func(t *testing.T, text string) {
		tp, err := Parse(text)
		if err != nil {
			return
		}
		out := Format(tp)
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("%v in the text form\n%s", err, out)
		}
		if Format(again) != out {
			t.Fatalf("\n%s\nbecame\n%s", out, Format(again))
		}
	})
}

// A tape of a later version is told from a text that is no tape.
func TestLaterText(t *testing.T) {
	if _, err := Parse("tape 2\nseeds 1 2 3\n"); err == nil || !strings.Contains(err.Error(), "a later bloodhound wrote it") {
		t.Error(err)
	}
	for _, text := range []string{"tape\nseed 1\n", "tape x\nseed 1\n", "tape 0\nseed 1\n", "tapes 2\nseed 1\n", "2\n"} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), `starts with the line "tape 1"`) || strings.Contains(err.Error(), "later") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
