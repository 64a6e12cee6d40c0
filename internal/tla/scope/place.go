package scope

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
)

// Use is the use of an operator while its body is compiled: at is nil where the body is compiled once for all uses.
type Use struct {
	Name    string
	At      *Where
	Special any // identifies a recursive operator, as it was compiled; nil: it is not recursive
}

// Call is one call of a recursive operator, at its place in a text.
type Call struct {
	Special any
	At      *Where
}

// mostShown is how many operators an error names that led to it.
const mostShown = 10

// Chain names the operators by which a place was reached, from the inside out. calls are those of the recursive operators that are being evaluated,
// the innermost one first.
func Chain(at Where, calls []Call) []string {
	var list []string
	last, times, count := "", 0, 0
	flush := func() {
		switch {
		case times == 0 || len(list) == mostShown:
		case times == 1:
			list = append(list, last)
		default:
			list = append(list, fmt.Sprintf("%s, %s", last, plural.Count(times, "time")))
		}
		times = 0
	}
	add := func(format string, args ...any) {
		if count++; len(list) == mostShown {
			return
		}
		if s := fmt.Sprintf(format, args...); s != last {
			flush()
			last = s
		}
		times++
	}
	for s := at.Source; s != nil && s.Via != nil; {
		u := s.Via
		for u.Special != nil && len(calls) > 0 && calls[0].Special != u.Special {
			calls = calls[1:]
		}
		switch {
		case u.Special != nil && len(calls) > 0:
			add("in %s, used at %s", u.Name, calls[0].At)
			s, calls = calls[0].At.Source, calls[1:]
		case u.At == nil || u.At.Source == nil:
			add("in %s", u.Name)
			s = nil
		default:
			add("in %s, used at %s", u.Name, u.At)
			s = u.At.Source
		}
	}
	flush()
	if len(list) == mostShown {
		list = append(list, fmt.Sprintf("of %s in all", plural.Count(count, "operator")))
	}
	return list
}

// Source is a module's file, for errors, and by which use of an operator the compiled part of the file was reached.
type Source struct {
	File, Text string
	Module     string
	Spans      map[syntax.Expr]syntax.Span
	Via        *Use
}

// Excerpt is a part of the text in one line.
func (s *Source) Excerpt(span syntax.Span) string {
	var words []string
	for n := span.First.Line; n <= span.Last.Line; n++ {
		text := syntax.Line(s.Text, n)
		runes := []rune(text)
		first, last := 0, len(runes)
		if n == span.First.Line {
			first = syntax.Before(text, span.First.Column)
		}
		if n == span.Last.Line {
			last = syntax.Before(text, span.Last.Column+1)
		}
		words = append(words, strings.Fields(string(runes[first:max(first, last)]))...)
	}
	return strings.Join(words, " ")
}

// Where is a place in a module.
type Where struct {
	Source *Source
	Pos    syntax.Pos
}

func (w *Where) String() string {
	if w == nil || w.Source == nil {
		return "an unknown place"
	}
	return fmt.Sprintf("%s:%d:%d", w.Source.File, w.Pos.Line, w.Pos.Column)
}

// ErrorAt is an error at a place, with the operators by which the place was reached.
func ErrorAt(at Where, message string) error {
	e := &syntax.Error{Pos: at.Pos, Message: message}
	if at.Source != nil {
		e.File = at.Source.File
		e.Line = syntax.Line(at.Source.Text, at.Pos.Line)
		e.Chain = Chain(at, nil)
	}
	return e
}
