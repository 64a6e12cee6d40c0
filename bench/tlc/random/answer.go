package random

import (
	"fmt"
	"strings"
)

// Answer is what a check of a specification finds.
type Answer struct {
	Kind                string // of what is violated; or Holds, or Failed
	Name                string // of the property, where TLC prints one
	Generated, Distinct int    // states
}

// Kinds of answers without a violation.
const (
	Holds  = "holds"
	Failed = "error" // of the specification, its configuration, or an evaluation
	// Endless is TLC's stack overflow: where an instance has an operator put in the place of one by F <- LAMBDA p : F(p) + 1, it takes the F in it for that operator itself.
	Endless = "stack overflow"
)

func (a Answer) String() string {
	return fmt.Sprintf("%s\t%s\t%d\t%d", a.Kind, a.Name, a.Generated, a.Distinct)
}

// ParseAnswer reads what String wrote.
func ParseAnswer(line string) (a Answer, err error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 4 {
		return a, fmt.Errorf("%q is no answer", line)
	}
	a.Kind, a.Name = fields[0], fields[1]
	_, err = fmt.Sscan(fields[2]+" "+fields[3], &a.Generated, &a.Distinct)
	return a, err
}
