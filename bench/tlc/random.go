//go:build unix

package main

import (
	"fmt"
	"io"
	"os"

	"github.com/bloodhound-dst/bloodhound/bench/tlc/random"
)

// perBatch is how many specifications are written and compared at once.
const perBatch = 500

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
