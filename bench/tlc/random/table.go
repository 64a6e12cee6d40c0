package random

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/tla"
)

// whole is how many answers a table has as they are, and each how many have a digest in common.
const (
	whole = 300
	each  = 100
)

// Summary says what TLC finds in as many specifications of a family as have a digest in common.
type Summary struct {
	From, Count                int
	Holding, Violated, Failing int
	Generated, Distinct        int    // in all
	Specifications, Answers    string // digests of their texts, and of what was found
}

func (s Summary) String() string {
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s", s.From, s.Count, s.Holding, s.Violated, s.Failing, s.Generated,
		s.Distinct, s.Specifications, s.Answers)
}

// common is what a check and TLC say alike: of properties only invariants are always named.
func (a Answer) common() Answer {
	if a.Kind != string(tla.InvariantViolated) {
		a.Name = ""
	}
	return a
}

// Summarize gives what an answer says of the specifications of a family from a number on. Those that differ are left out, apart from their texts.
func (f *Family) Summarize(from int, answers []Answer) Summary {
	s := Summary{From: from, Count: len(answers)}
	texts, said := sha256.New(), sha256.New()
	for i, a := range answers {
		files := f.Make(uint64(from + i))
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(texts, "%s\n%s", name, files[name])
		}
		if f.Differ[from+i] != "" {
			continue
		}
		switch a = a.common(); a.Kind {
		case Holds:
			s.Holding++
		case Failed:
			s.Failing++
		default:
			s.Violated++
		}
		s.Generated, s.Distinct = s.Generated+a.Generated, s.Distinct+a.Distinct
		fmt.Fprintln(said, a)
	}
	s.Specifications, s.Answers = fmt.Sprintf("%x", texts.Sum(nil)[:6]), fmt.Sprintf("%x", said.Sum(nil)[:6])
	return s
}

// WriteTable writes the table of answers from number 0 on: the first as they are, and a summary of each hundred.
func (f *Family) WriteTable(to io.Writer, answers []Answer) error {
	for _, a := range answers[:min(whole, len(answers))] {
		if _, err := fmt.Fprintln(to, a); err != nil {
			return err
		}
	}
	from := 0
	for some := range slices.Chunk(answers, each) {
		if _, err := fmt.Fprintln(to, f.Summarize(from, some)); err != nil {
			return err
		}
		from += len(some)
	}
	return nil
}

// ReadTable takes a table apart.
func ReadTable(text string) (answers []Answer, summaries []Summary, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.Count(line, "\t") == 3 {
			a, err := ParseAnswer(line)
			if err != nil {
				return nil, nil, err
			}
			answers = append(answers, a)
			continue
		}
		var s Summary
		if _, err := fmt.Sscan(line, &s.From, &s.Count, &s.Holding, &s.Violated, &s.Failing, &s.Generated, &s.Distinct,
			&s.Specifications, &s.Answers); err != nil {
			return nil, nil, fmt.Errorf("%q is not a line of a table: %w", line, err)
		}
		summaries = append(summaries, s)
	}
	if len(answers) == 0 || len(summaries) == 0 {
		return nil, nil, errors.New("the table is empty")
	}
	return answers, summaries, nil
}
