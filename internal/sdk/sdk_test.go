package sdk

import (
	"fmt"
	"strings"
	"testing"
)

func assertLineOf(kind, id string, hit, must, condition bool) string {
	return fmt.Sprintf(`{"antithesis_assert":{"location":{"file":"a.go","begin_line":3,"function":"f"},"details":{"n":1},"assert_type":%q,`+
		`"display_type":"X","message":%q,"id":%q,"hit":%v,"must_hit":%v,"condition":%v}}`, kind, id, id, hit, must, condition)
}

// What each story of lines says of an assertion.
func TestAssertions(t *testing.T) {
	const hit, catalog, must, may, yes, no = true, false, true, false, true, false
	for _, c := range []struct {
		name     string
		lines    []string
		wants    string
		violated uint64 // event: the number of the line
		pending  string
	}{
		{"always in the catalog", []string{assertLineOf("always", "a", catalog, must, no)}, "Always", 0, "never reached"},
		{"always true", []string{assertLineOf("always", "a", catalog, must, no), assertLineOf("always", "a", hit, must, yes)}, "Always", 0, ""},
		{"always, then not", []string{assertLineOf("always", "a", hit, must, yes), assertLineOf("always", "a", hit, must, no)}, "Always", 2, ""},
		{"the first failure counts", []string{assertLineOf("always", "a", hit, must, no), assertLineOf("always", "a", hit, must, no)}, "Always", 1, ""},
		{"optional", []string{assertLineOf("always", "a", catalog, may, no)}, "AlwaysOrUnreachable", 0, ""},
		{"optional and false", []string{assertLineOf("always", "a", hit, may, no)}, "AlwaysOrUnreachable", 1, ""},
		{"sometimes, not yet reached", []string{assertLineOf("sometimes", "a", catalog, must, no)}, "Sometimes", 0, "never reached"},
		{"sometimes, not yet true", []string{assertLineOf("sometimes", "a", hit, must, no)}, "Sometimes", 0, "reached and never true"},
		{"sometimes", []string{assertLineOf("sometimes", "a", hit, must, no), assertLineOf("sometimes", "a", hit, must, yes)}, "Sometimes", 0, ""},
		{"reachable, not yet", []string{assertLineOf("reachability", "a", catalog, must, yes)}, "Reachable", 0, "never reached"},
		{"reachable", []string{assertLineOf("reachability", "a", hit, must, yes)}, "Reachable", 0, ""},
		{"unreachable", []string{assertLineOf("reachability", "a", catalog, may, no)}, "Unreachable", 0, ""},
		{"unreachable and reached", []string{assertLineOf("reachability", "a", hit, may, no)}, "Unreachable", 1, ""},
		{"unreachable and reached, told as true", []string{assertLineOf("reachability", "a", hit, may, yes)}, "Unreachable", 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r Record
			for i, line := range c.lines {
				r.MergeLine([]byte(line), Sighting{Event: uint64(i + 1)})
			}
			if len(r.Assertions) != 1 || r.Unread != 0 {
				t.Fatalf("%d assertions, %d lines that cannot be read: %s", len(r.Assertions), r.Unread, r.FirstUnread)
			}
			a := &r.Assertions[0]
			violated := uint64(0)
			if at := a.Violated(); at != nil {
				violated = at.Event
				if at.Details != `{"n":1}` {
					t.Errorf("details %s", at.Details)
				}
			}
			if a.Wants() != c.wants || violated != c.violated || a.Pending() != c.pending || a.Location.String() != "a.go:3 in f" {
				t.Errorf("%s at %s: violated at %d, pending %q; want %s, %d, %q", a.Wants(), a.Location, violated, a.Pending(), c.wants, c.violated, c.pending)
			}
		})
	}
}

// One message with two meanings is two assertions.
func TestSameMessage(t *testing.T) {
	var r Record
	r.MergeLine([]byte(assertLineOf("always", "a", true, true, true)), Sighting{})
	r.MergeLine([]byte(assertLineOf("sometimes", "a", true, true, false)), Sighting{})
	if len(r.Assertions) != 2 {
		t.Errorf("%d assertions", len(r.Assertions))
	}
}

// A line that cannot be read may have reported a failure: it is counted, and shown.
func TestUnread(t *testing.T) {
	for _, line := range []string{"x", "[1]", `{"antithesis_assert":{}}`,
		`{"antithesis_assert":{"id":"a","message":"a","assert_type":"often","hit":true,"must_hit":true,"condition":true}}`,
		`{"antithesis_assert":{"message":"","assert_type":"always","hit":true,"must_hit":true,"condition":false}}`,
		`{"antithesis_assert":{"message":"a","assert_type":"always","must_hit":true,"condition":false}}`, `{"antithesis_setup":{"status":"begun"}}`,
		`{"a":1,"b":2}`, `{}`, `{"antithesis_guidance":3}`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`} {
		var r Record
		r.MergeLine([]byte(line), Sighting{Node: "n1", Program: "/p", Event: 9})
		if r.Unread != 1 || !strings.Contains(r.FirstUnread, "/p on n1 at event 9") {
			t.Errorf("%s: %d, %s", line, r.Unread, r.FirstUnread)
		}
	}
	var r Record
	for _, line := range []string{"", " \r", `{"antithesis_sdk":{}}`, `{"a":null}`} {
		r.MergeLine([]byte(line), Sighting{})
	}
	if r.Unread != 0 || len(r.Events) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestLimits(t *testing.T) {
	var r Record
	for i := range MaxAssertions + 1 {
		r.MergeLine([]byte(assertLineOf("always", fmt.Sprint(i), true, true, true)), Sighting{})
	}
	for i := range maxValues + 7 {
		r.MergeLine([]byte(fmt.Sprintf(`{"antithesis_guidance":{"guidance_data":%d,"guidance_type":"json","id":"g","message":"g","hit":true}}`, i)), Sighting{})
	}
	r.MergeLine([]byte(`{"e":"`+strings.Repeat("é", maxDetailsBytes)+`"}`), Sighting{})
	g := r.Guidance[0]
	if len(r.Assertions) != MaxAssertions || r.Unread != 1 || g.Count != maxValues+7 || len(g.Values) != maxValues || g.Values[0].Details != "7" {
		t.Errorf("%d assertions, %d unread, guidance %d of %d from %s", len(r.Assertions), r.Unread, len(g.Values), g.Count, g.Values[0].Details)
	}
	if n := len(r.Events[0].Details); n > maxDetailsBytes+3 || n < maxDetailsBytes-3 {
		t.Errorf("%d bytes of details", n)
	}
}
