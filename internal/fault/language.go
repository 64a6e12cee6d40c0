package fault

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Parse reads a rule written as a sentence:
//
//	KIND [COMMAND] [on TARGETS] [MOMENT [nth K[..K]]] [rate R] [for D[..D]] [by A[..A]] [max N] [one way] [shape SHAPE] [from start] [after
//	    D | after event N] [while ROLE] [when CONDITION]
//
// COMMAND is the command of the kind run, in quotes: run "etcdctl defrag" on n1 after 5s. MOMENT is one of
//
//	at CALLS [of PATTERN]
//	during CALLS [of PATTERN]
//	after CALLS [of PATTERN]
//	after reply
//	between CALLS [of PATTERN] and CALLS [of PATTERN]
//	in recovery
//	in transfer
//	in operation PATTERN
//
// TARGETS and CALLS are lists joined by commas, K counts calls from 1 on, R is from 0 to 1 or a percentage, D a duration such as 500ms, A how much of
// the fault there is: a duration, or for a drift a number of ppm such as 200ppm. The clauses
// come in any order, but `when` is the last one: the condition is the rest. after with a time or an event, and while, are short for conditions;
// several conditions must all be true. Without a rate, a rule with a moment, after, while or when injects at each
// opportunity. Errors name the word.
func Parse(text string) (world.FaultRule, error) {
	s := sentence{words: strings.Fields(text)}
	r := world.FaultRule{Kind: world.FaultKind(s.nextWord()), ByUser: true}
	if r.Kind == "" {
		return r, fmt.Errorf("a fault needs a kind, such as: crash on n1 after 5s")
	}
	if !Known(r.Kind) {
		return r, fmt.Errorf("unknown kind of fault %q; kinds are %s", r.Kind, world.FaultNames(Kinds()))
	}
	row := RowOf(r.Kind)
	if r.Kind == Run {
		rest, err := "", error(nil)
		if r.Command, rest, err = quotedCommand(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), string(Run)))); err != nil {
			return r, err
		}
		s.words = strings.Fields(rest)
	}
	var when []string
	seen := map[string]bool{}
	rated := false
	for word := s.nextWord(); word != ""; word = s.nextWord() {
		clause := word
		if word == "after" {
			clause = s.afterWhat() // which may stand beside each other
		}
		if seen[clause] {
			return r, fmt.Errorf("%q appears twice", clause)
		}
		seen[clause] = true
		var err error
		switch word {
		case "on":
			r.Targets, err = s.list("on", "the nodes or links that it affects")
		case "at", "during", "between":
			err = s.moment(&r, world.Moment(strings.TrimPrefix(word, "at")))
		case "in":
			switch what := s.nextWord(); what {
			case "recovery", "transfer":
				err = s.moment(&r, world.Moment(what))
			case "operation":
				if err = s.moment(&r, world.InOperation); err == nil {
					r.Path, err = s.need("in operation", "the kind of operations that a driver reports, such as compact")
				}
			default:
				err = fmt.Errorf("%q must be followed by recovery, transfer or operation, not by %q", "in", what)
			}
		case "of":
			if len(r.At) == 0 && row.Place != OnCall {
				err = fmt.Errorf("%q follows system calls", "of")
				break
			}
			if r.Path != "" {
				err = fmt.Errorf("%q appears twice", "of")
				break
			}
			r.Path, err = s.need("of", patternNeed)
		case "nth":
			var text string
			if text, err = s.need("nth", "the number of a call, or a range: 1..200"); err == nil {
				r.NthFrom, r.NthTo, err = ParseNth(text)
			}
		case "rate", "probability":
			rated = true
			r.RatePPM, err = s.rate()
		case "for":
			if !row.Lasts() {
				return r, fmt.Errorf("%s has no duration; remove %q", r.Kind, "for")
			}
			r.MinNs, r.MaxNs, err = s.span("for")
		case "by":
			r.Least, r.Most, err = s.amount(row)
		case "max":
			if row.Place == OnPacket {
				return r, fmt.Errorf("%s affects packets, which are not counted; remove %q", r.Kind, "max")
			}
			if r.Max, err = s.count("max"); err == nil && r.Max == 0 {
				err = fmt.Errorf("%q must be followed by a number of at least 1; leave it out for no limit", "max")
			}
		case "one":
			if s.nextWord() != "way" {
				return r, fmt.Errorf("%q must be followed by %q", "one", "way")
			}
			switch {
			case row.Place == OnPacket:
				return r, fmt.Errorf("%s has the direction of its targets; remove %q, and write targets as a->b", r.Kind, "one way")
			case row.Place != OnLink:
				return r, fmt.Errorf("%s affects nodes, which have no direction; remove %q", r.Kind, "one way")
			}
			r.OneWay = true
		case "from":
			if s.nextWord() != "start" {
				return r, fmt.Errorf("%q must be followed by %q", "from", "start")
			}
			r.FromStart = true
		case "shape":
			r.Shape, err = s.need("shape", "the shape of a partition, such as halves")
		case "after":
			switch clause {
			case "after reply":
				s.nextWord()
				err = s.moment(&r, world.AfterReply)
			case "after a call":
				err = s.moment(&r, world.AfterCall)
			default:
				var c string
				c, err = s.after()
				when = append(when, c)
			}
		case "while":
			var role string
			role, err = s.need("while", "a role, such as leader")
			when = append(when, "role == "+strconv.Quote(strings.TrimPrefix(role, "role=")))
		case "when":
			if len(s.words) == 0 {
				err = fmt.Errorf("%q must be followed by a condition", "when")
			}
			when = append(when, strings.Join(s.words, " "))
			s.words = nil
		default:
			err = fmt.Errorf("%q is not a clause; clauses are on, at, during, after, between, in, of, nth, rate, for, by, max, one "+
				"way, shape, from start, while and when", word)
		}
		if err != nil {
			return r, err
		}
	}
	if !rated {
		if len(when) == 0 && !r.OnCalls() {
			return r, fmt.Errorf("add how often to inject it: rate, or a moment with at, during, after, between, in, while or when")
		}
		r.RatePPM = tape.Certain
	}
	r.When = All(when...)
	return r, nil
}

// Sentence writes a rule as Parse reads it, unless it has a text already.
func Sentence(r *world.FaultRule) string {
	if r.Text != "" {
		return r.Text
	}
	words := []string{string(r.Kind)}
	if len(r.Command) > 0 {
		words = append(words, strconv.Quote(shell.Join(r.Command)))
	}
	clause := func(has bool, word, value string) {
		if has {
			words = append(words, strings.TrimSpace(word+" "+value))
		}
	}
	clause(len(r.Targets) > 0, "on", strings.Join(r.Targets, ", "))
	if r.Moment == world.InOperation {
		clause(true, momentWords[r.Moment], r.Path)
	} else {
		clause(r.OnCalls(), momentWords[r.Moment], strings.Join(r.At, ", "))
		clause(r.Path != "", "of", r.Path)
	}
	clause(r.Moment == world.Between, "and", strings.Join(r.Then, ", "))
	clause(r.ThenPath != "", "of", r.ThenPath)
	clause(r.NthTo > 0, "nth", nthOf(r.NthFrom, r.NthTo))
	clause(r.RatePPM != tape.Certain || r.When == "" && !r.OnCalls(), "rate", strconv.FormatFloat(float64(r.RatePPM)/tape.Certain, 'f', -1, 64))
	clause(r.MaxNs > 0, "for", spanOf(r.MinNs, r.MaxNs, func(ns int64) string { return time.Duration(ns).String() }))
	clause(r.Most > 0, "by", spanOf(r.Least, r.Most, func(v int64) string {
		if k := r.Kind; Known(k) && RowOf(k).Amount != nil && RowOf(k).Amount.PPM {
			return strconv.FormatFloat(float64(v)/1000, 'f', -1, 64) + "ppm"
		}
		return time.Duration(v).String()
	}))
	clause(r.Max > 0, "max", strconv.Itoa(r.Max))
	clause(r.OneWay, "one way", "")
	clause(r.Shape != "", "shape", r.Shape)
	clause(r.FromStart, "from start", "")
	clause(r.When != "", "when", r.When)
	return strings.Join(words, " ")
}

func spanOf(least, most int64, write func(int64) string) string {
	if least == most {
		return write(least)
	}
	return write(least) + ".." + write(most)
}

// All is the condition that all of some conditions are true; empty ones are.
func All(conditions ...string) string {
	var list []string
	for _, c := range conditions {
		if c = strings.TrimSpace(c); c != "" {
			list = append(list, c)
		}
	}
	if len(list) > 1 {
		for i, c := range list {
			list[i] = "(" + c + ")"
		}
	}
	return strings.Join(list, " and ")
}

// After is the condition that so much of the chaos phase is over.
func After(ns int64) string {
	return "time_s >= " + strconv.FormatFloat(float64(ns)/1e9, 'f', -1, 64)
}

// AfterEvent is the condition that an event has happened.
func AfterEvent(n uint64) string { return "event >= " + strconv.FormatUint(n, 10) }

// momentWords begin the clause of a moment.
var momentWords = map[world.Moment]string{world.Entering: "at", world.During: "during", world.AfterCall: "after",
	world.AfterReply: "after reply", world.Between: "between",
	world.InRecovery: "in recovery", world.InTransfer: "in transfer", world.InOperation: "in operation"}

const patternNeed = "a pattern of file names, such as *.wal"

// MaxNth bounds the number of a call that a rule asks for.
const MaxNth = 1_000_000

// ParseNth reads the number of a call, or the range that it is drawn from: 7, or 1..200.
func ParseNth(text string) (from, to uint64, err error) {
	first, last, two := strings.Cut(text, "..")
	if !two {
		last = first
	}
	from, err1 := strconv.ParseUint(first, 10, 64)
	to, err2 := strconv.ParseUint(last, 10, 64)
	if err1 != nil || err2 != nil || from < 1 || to < from || to > MaxNth {
		return 0, 0, fmt.Errorf("%q is neither the number of a call from 1 to %d nor a range such as 1..200", text, MaxNth)
	}
	return from, to, nil
}

func nthOf(from, to uint64) string {
	if from == to {
		return strconv.FormatUint(from, 10)
	}
	return fmt.Sprintf("%d..%d", from, to)
}

// ParseBetween reads the two calls of Between into a rule: CALLS [of PATTERN] and CALLS [of PATTERN].
func ParseBetween(r *world.FaultRule, text string) error {
	s := sentence{words: strings.Fields(text)}
	err := s.moment(r, world.Between)
	if err == nil && len(s.words) > 0 {
		return fmt.Errorf("unexpected %q after the two calls", strings.Join(s.words, " "))
	}
	return err
}

// sentence holds the words of a rule's text that have not been read yet.
type sentence struct{ words []string }

func (s *sentence) nextWord() string {
	if len(s.words) == 0 {
		return ""
	}
	word := s.words[0]
	s.words = s.words[1:]
	return word
}

func (s *sentence) need(clause, what string) (string, error) {
	word := s.nextWord()
	if word == "" {
		return "", fmt.Errorf("%q must be followed by %s", clause, what)
	}
	return word, nil
}

// list reads words joined by commas, with or without blanks.
func (s *sentence) list(clause, what string) ([]string, error) {
	word, err := s.need(clause, what)
	for err == nil && (strings.HasSuffix(word, ",") || len(s.words) > 0 && strings.HasPrefix(s.words[0], ",")) {
		word += s.nextWord()
		if strings.HasSuffix(word, ",") && len(s.words) == 0 {
			break
		}
	}
	var list []string
	for item := range strings.SplitSeq(word, ",") {
		if item == "" && err == nil {
			err = fmt.Errorf("%q must be followed by %s, joined by commas", clause, what)
		}
		list = append(list, item)
	}
	return list, err
}

func (s *sentence) rate() (uint64, error) {
	word, err := s.need("rate", "a number from 0 to 1, or a percentage")
	if err != nil {
		return 0, err
	}
	digits, percent := strings.CutSuffix(word, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("the rate %q is neither a number from 0 to 1 nor a percentage", word)
	}
	ppm := uint64(math.Round(v * tape.Certain))
	if v > 0 && ppm == 0 {
		return 0, fmt.Errorf("the rate %q is below one in a million", word)
	}
	return ppm, nil
}

func (s *sentence) span(clause string) (minNs, maxNs int64, err error) {
	word, err := s.need(clause, "a duration such as 500ms, or a range: 500ms..3s")
	if err != nil {
		return 0, 0, err
	}
	from, to, two := strings.Cut(word, "..")
	if !two {
		to = from
	}
	a, err1 := time.ParseDuration(from)
	b, err2 := time.ParseDuration(to)
	if err1 != nil || err2 != nil || a < 0 || b < a {
		return 0, 0, fmt.Errorf("%q is neither a duration such as 500ms nor a range such as 500ms..3s", word)
	}
	return a.Nanoseconds(), b.Nanoseconds(), nil
}

// amount reads how much of a fault there is.
func (s *sentence) amount(row *Row) (least, most int64, err error) {
	if row.Amount == nil {
		return 0, 0, fmt.Errorf("%s has no amount; remove %q", row.Kind, "by")
	}
	if !row.Amount.PPM {
		if least, most, err = s.span("by"); err == nil && most == 0 {
			err = fmt.Errorf("%s by nothing has no effect; write a duration above 0", row.Kind)
		}
		return least, most, err
	}
	word, err := s.need("by", "a drift such as 200ppm, or a range: 200ppm..1000ppm")
	if err != nil {
		return 0, 0, err
	}
	from, to, two := strings.Cut(word, "..")
	if !two {
		to = from
	}
	ppm := func(text string) int64 {
		v, err := strconv.ParseFloat(strings.TrimSuffix(text, "ppm"), 64)
		if err != nil || !strings.HasSuffix(text, "ppm") || !(v >= 0 && v <= MaxDriftPPB/1000) {
			return -1
		}
		return int64(math.Round(v * 1000))
	}
	if least, most = ppm(from), ppm(to); least < 0 || most < least {
		return 0, 0, fmt.Errorf("%q is neither a drift such as 200ppm nor a range such as 200ppm..1000ppm; the maximum is %dppm", word, MaxDriftPPB/1000)
	}
	return least, most, nil
}

func (s *sentence) count(clause string) (int, error) {
	word, err := s.need(clause, "a number")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(word, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q must be followed by a number, not by %q", clause, word)
	}
	return int(n), nil
}

// moment reads the calls of a moment into a rule.
func (s *sentence) moment(r *world.FaultRule, m world.Moment) (err error) {
	word := momentWords[m]
	if r.OnCalls() {
		return fmt.Errorf("%q cannot be combined with %q: a rule has one moment", word, momentWords[r.Moment])
	}
	if r.Moment = m; m.Alone() {
		return nil
	}
	if r.At, r.Path, err = s.calls(word); err != nil || m != world.Between {
		return err
	}
	if s.nextWord() != "and" {
		return fmt.Errorf("%q must be followed by two calls with `and` between them, such as: between fsync of *.tmp and rename of *.snap", word)
	}
	r.Then, r.ThenPath, err = s.calls("and")
	return err
}

// calls reads a list of system calls, and the pattern of their files.
func (s *sentence) calls(clause string) (calls []string, pattern string, err error) {
	if calls, err = s.list(clause, "system calls"); err == nil && len(s.words) > 0 && s.words[0] == "of" {
		s.nextWord()
		pattern, err = s.need("of", patternNeed)
	}
	return calls, pattern, err
}

// afterWhat names the clause that begins with after: what follows is an event, a reply, a call or a time.
func (s *sentence) afterWhat() string {
	switch {
	case len(s.words) == 0:
	case s.words[0] == "event" || s.words[0] == "reply":
		return "after " + s.words[0]
	case callName.MatchString(strings.TrimSuffix(s.words[0], ",")) || strings.Contains(s.words[0], ","):
		return "after a call"
	}
	return "after"
}

// callName matches the name of a system call.
var callName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (s *sentence) after() (string, error) {
	word, err := s.need("after", "a duration such as 5s, `event` and a number, `reply`, or a system call")
	if err != nil {
		return "", err
	}
	if word == "event" {
		n, err := s.count("after event")
		return AfterEvent(uint64(n)), err
	}
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 {
		return "", fmt.Errorf("%q must be followed by a duration such as 5s, by %q and a number, by %q or by a system call, not by %q",
			"after", "event", "reply", word)
	}
	return After(d.Nanoseconds()), nil
}
