//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bloodhound-dst/bloodhound/bench/tlc/random"
)

// perBatch is how many specifications are written and compared at once.
const perBatch = 1000

// summarize writes the table of a family: of answers that were written to a file, from number 0 on.
func summarize(family *random.Family, file string, to io.Writer) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var list []random.Answer
	for line := range strings.Lines(string(text)) {
		a, err := random.ParseAnswer(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, a)
	}
	return family.WriteTable(to, list)
}

// answers writes what TLC finds in specifications of a family, from one number up to another, a line each. Where this check has another answer, the folder of a
// number keeps its files and TLC's answer, and standard error has both.
func answers(jars []string, family *random.Family, from, end int, keep string, to io.Writer) error {
	differ := 0
	for first := from; first < end; first += perBatch {
		theirs, err := family.TLC(jars, first, min(first+perBatch, end))
		if err != nil {
			return err
		}
		for i, want := range theirs {
			fmt.Fprintln(to, want)
			if keep == "" {
				continue
			}
			files := family.Make(uint64(first + i))
			got, why := random.Check(files)
			if random.Agree(got, want) {
				continue
			}
			differ++
			fmt.Fprintf(os.Stderr, "%d: %v, TLC %v; %v\n", first+i, got, want, why)
			files["answer"] = want.String()
			if err := random.Write(files, fmt.Sprintf("%s/%d", keep, first+i)); err != nil {
				return err
			}
		}
	}
	if keep != "" {
		fmt.Fprintf(os.Stderr, "%d of %d differ\n", differ, end-from)
	}
	return nil
}
