package prose

import "testing"

func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		"its seed is that of the first run":                        "that of",
		"prints what they found":                                   "clause for a noun",
		"shows what a store holds":                                 "clause for a noun",
		"replay makes the run again":                               "light verb",
		"a partition is no fault here":                             "negation by noun",
		"the moment from which on it fails":                        "German time and place",
		"it checks every so often":                                 "German time and place",
		"the same test runs in worlds, too.":                       "glue",
		"each time with fresh chance":                              "countable code",
		"the password is asked for":                                "passive without an actor",
		"draw 29 is 1 of 17":                                       "internal ids",
		"the story of that run":                                    "",
		"says what to do next":                                     "",
		"Bloodhound replays the failure and finds the cause.":      "",
		"The first run starts with seed 1.":                        "",
		"A crash and a partition at once are too much for the log": "",
	} {
		var got string
		if hits := Find(text); len(hits) > 0 {
			got = hits[0].Habit.Name
		}
		if got != want {
			t.Errorf("%q: habit %q, want %q", text, got, want)
		}
	}
}

// Code and outputs in pages are not prose, and lines keep their numbers.
func TestFindInPage(t *testing.T) {
	page := "# Title\n\n```\nevery so often\n```\n\n    every so often\n\n`every so often` [a link](every/so-often)\nIt runs every so often.\n"
	hits := FindInPage(page)
	if len(hits) != 1 || hits[0].Line != 10 {
		t.Errorf("hits %+v, want one in line 10", hits)
	}
}
