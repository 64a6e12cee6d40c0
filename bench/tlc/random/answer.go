package random

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bloodhound-dst/bloodhound/bench/tlc/batch"
	"github.com/bloodhound-dst/bloodhound/internal/model/tlc"
	"github.com/bloodhound-dst/bloodhound/tla"
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
	// Endless is TLC's stack overflow: where an instance has an operator put in the place of one by F <- LAMBDA p : F(p) + 1, it
	// takes the F in it for that operator itself.
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

// AnswerOf converts TLC's opinion to an Answer.
func AnswerOf(o *tlc.Opinion) Answer {
	switch {
	case len(o.Violations) > 0:
		v := o.Violations[0]
		return Answer{Kind: string(v.Kind), Name: v.Name, Generated: o.Generated, Distinct: o.Distinct}
	case strings.Contains(o.Said, "StackOverflowError"):
		return Answer{Kind: Endless}
	case !o.Completed:
		return Answer{Kind: Failed}
	}
	return Answer{Kind: Holds, Generated: o.Generated, Distinct: o.Distinct}
}

// Agree compares an answer of package tla with TLC's. TLC does not name everything, and names properties of initial states and of steps by parts of them.
func Agree(ours, theirs Answer) bool {
	part := theirs.Kind == string(tla.InitialViolated) || theirs.Kind == string(tla.StepViolated)
	if theirs.Name == "" || part && ours.Kind == theirs.Kind {
		ours.Name = theirs.Name
	}
	return ours == theirs
}

// Write writes files into a folder, which it makes.
func Write(files map[string]string, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Check is the answer of package tla, and why it is Failed.
func Check(files map[string]string) (Answer, error) {
	dir, err := os.MkdirTemp("", "random")
	if err != nil {
		return Answer{Kind: Failed}, err
	}
	defer os.RemoveAll(dir)
	if err := Write(files, dir); err != nil {
		return Answer{Kind: Failed}, err
	}
	root := filepath.Join(dir, Root)
	config, err := tla.ReadConfig(root + ".cfg")
	if err != nil {
		return Answer{Kind: Failed}, err
	}
	spec, err := tla.Load(root+".tla", config)
	if err != nil {
		return Answer{Kind: Failed}, err
	}
	r, err := tla.Check(spec, tla.Options{})
	if err != nil {
		return Answer{Kind: Failed}, err
	}
	return Reported(r)
}

// Reported is what a report says, and why it is Failed.
func Reported(r *tla.Report) (Answer, error) {
	a := Answer{Kind: Holds, Generated: r.Generated, Distinct: r.Distinct}
	switch {
	case len(r.Violations) > 0:
		v := r.Violations[0]
		a.Kind, a.Name = string(v.Kind), strings.TrimSpace(v.Name)
		if v.Kind == tla.AssumptionViolated || v.Kind == tla.InitialViolated || v.Kind == tla.InvariantViolated && len(v.Trace) == 1 {
			a.Generated, a.Distinct = 0, 0 // TLC has no numbers where an initial state breaks something
		}
	case len(r.Unchecked) > 0:
		return Answer{Kind: Failed}, fmt.Errorf("%s is not checked: %w", r.Unchecked[0].Name, r.Unchecked[0].Why)
	}
	return a, nil
}

// Family is a kind of specifications, which numbers tell apart.
type Family struct {
	Name string
	Make func(number uint64) map[string]string
	// Differ are the numbers of those of which TLC has another answer, and why.
	Differ map[int]string
}

// Families are all of them.
var Families = []Family{{"modules", Make, nil}, {"behaviours", Behaviours, behavioursDiffer}}

// TLC is what TLC finds in the specifications from one number up to another.
func (f *Family) TLC(jars []string, from, end int) ([]Answer, error) {
	dir, err := os.MkdirTemp("", "random")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var models []batch.Model
	for i := from; i < end; i++ {
		folder := filepath.Join(dir, fmt.Sprint(i))
		if err := Write(f.Make(uint64(i)), folder); err != nil {
			return nil, err
		}
		spec := filepath.Join(folder, Root)
		models = append(models, batch.Model{Spec: spec, Config: spec + ".cfg"})
	}
	opinions, err := batch.Run(jars, models, 0)
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(opinions))
	for i, o := range opinions {
		answers[i] = AnswerOf(o)
	}
	return answers, nil
}
