// Package prose finds habits of translated English in text that people read.
package prose

import (
	"regexp"
	"strings"
)

// A Habit is a way of writing that sends readers back to the start of the sentence.
type Habit struct {
	Name string
	// Cure says what to write in its place.
	Cure string

	pattern *regexp.Regexp
}

// A Hit is one occurrence of a habit.
type Hit struct {
	Habit *Habit
	// Line counts from 1 within the text.
	Line int
	Text string
}

// Habits lists what Find looks for. A pattern matches a habit and nothing that is good English; what a pattern cannot
// tell apart is left to readers.
var Habits = []Habit{
	habit("that of", "repeat the noun, or drop it: its seed starts the first run",
		`\b(is|are|was|were|as|by|with|from|to|than|on|in|for|and|or|like|of|at|become|becomes) (that|those) of\b`),
	habit("clause for a noun", "use the noun: findings, the store's contents, the outcome",
		`\bwhat (a|an|the|it|they|each|others|other|these|those|this|that|of|is|was|are|were|its|one|every|nobody)\b[^.?!;:]{0,40}?`+
			`\b(finds?|found|holds?|has|have|had|writes?|wrote|wants?|was|is|are|were|reads?|reports?|leaves?|left|`+
			`did|do|does|came of|take|takes)\b`),
	habit("what X is made of", "name the parts", `\bwhat \w+ (is|are|was) made of\b`),
	habit("light verb", "use the verb: replays, imports",
		`\b(makes?|made|making) (the|a|its|that|this|each) (\w+ )?runs? (again|anew|of|once more)\b|\b(takes?|took|taken|taking) in (what|the|a|all|each)\b|`+
			`\b(has|have|had) (\w+ ){1,2}(try|count|rest|start|fail|draw|make|take|show|write|stop) `),
	habit("negation by noun", "negate the verb: does not count as a fault",
		`\b(is|are|was|were) no (fault|error|bug|failure|violation|success|run|message|answer|crash|reason)\b|`+
			`\bnobody\b|\bthere is no bound\b|\bnothing follows\b|\bknows? nothing of\b`),
	habit("German time and place", "after a moment, until this point, before that, instead of, forever, periodically, from then on",
		`\b(up to there|until then|in the place of|for ever|every so often|from there on|(on|from) which on|from (it|them|that|this) on|`+
			`behind (a|the|that|this|each|another|its) (moment|point|fault|crash|step|run|event|first|last)|for as long as wished|since the beginning)\b`),
	habit("glue", "use also, or start a new sentence", `, too[,.;:)]|\b[Ss]o (does|do|is|are|has|have|can) (the|a|an|it|they|each|all|its)\b|\balso not\b|\bnot either\b`),
	habit("countable code", "a later build, new random choices, identical text",
		`\b(a|another|which|each|this|newer|older|two|both) (newer |older |new |old )?codes?\b (of|that|was|is|has|in)\b|\bfresh chance\b|\bequal texts\b|`+
			`\b(a newer|another|an older) code\b|\btexts of its own\b`),
	habit("passive without an actor", "say who does it: you set, Bloodhound skips",
		`\b(is|are|was|were|be|been) (asked for|given up|taken as|taken for|met with|looked at|gone through)\b`),
	habit("internal ids", "say it in the user's words, and keep ids for -v", `\bdraw \d+ is \d+ of\b|\bbooted with seed\b|\bwith 1 edit\b`),
}

func habit(name, cure, pattern string) Habit {
	return Habit{Name: name, Cure: cure, pattern: regexp.MustCompile(pattern)}
}

// Find returns the hits in a text, in its order by habit.
func Find(text string) []Hit {
	var hits []Hit
	for i := range Habits {
		for _, at := range Habits[i].pattern.FindAllStringIndex(text, -1) {
			hits = append(hits, Hit{
				Habit: &Habits[i],
				Line:  1 + strings.Count(text[:at[0]], "\n"),
				Text:  text[at[0]:at[1]],
			})
		}
	}
	return hits
}

var (
	fence  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	output = regexp.MustCompile("(?m)^(    |\t).*$")
	span   = regexp.MustCompile("`[^`\n]*`")
	target = regexp.MustCompile(`\]\([^)\s]*\)`)
)

// FindInPage returns the hits in a page of Markdown, without its code, addresses and outputs.
func FindInPage(page string) []Hit {
	blank := func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }
	page = fence.ReplaceAllStringFunc(page, blank)
	page = output.ReplaceAllString(page, "")
	page = span.ReplaceAllString(page, "CODE")
	page = target.ReplaceAllString(page, "]")
	return Find(page)
}
