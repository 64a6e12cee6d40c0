package search

import (
	"fmt"
	"strings"

	"github.com/bloodhound-dst/bloodhound/live/internal/shadow"
)

// Run is the record of one call of a handler.
type Run struct {
	Path     shadow.Path
	Failures []Failure
	// Ended is set if the process of the handler ended, or was killed, before the handler returned: its path is not known.
	Ended bool
}

// Failure is a check that does not hold, or a panic.
type Failure struct {
	What  string // the name of the check, or "panic: " and its text
	Where string // of a panic: file and line
}

// Value is an input with a value.
type Value struct {
	Name  string `json:"name"`
	Width uint8  `json:"width_bits"`
	Value uint64 `json:"value"`
}

// Finding is a failure with the first inputs that gave it.
type Finding struct {
	What   string  `json:"what"`
	Where  string  `json:"where,omitempty"`
	Inputs []Value `json:"inputs"`
	Path   int     `json:"path"`  // from 1
	Paths  int     `json:"paths"` // how many paths gave it
}

// Result is the result of a search.
type Result struct {
	Paths    int       `json:"paths"`
	Findings []Finding `json:"findings"`
	// Left says why paths may be left that were not taken. It is empty if all were: no condition that the inputs decide is left to negate, and none was lost.
	Left string `json:"left,omitempty"`
	// Sites are branches of the program that were met, and Sides the sides of them that were taken, of two each.
	Sites int `json:"sites"`
	Sides int `json:"sides"`
	// Sat, Unsat and Unknown count answers of the solver.
	Sat     int `json:"sat"`
	Unsat   int `json:"unsat"`
	Unknown int `json:"unknown"`
	// Diverged counts, by site, runs that did not take the side that was solved for.
	Diverged map[uint32]int `json:"-"`
	// Lost counts, by site, values that lost their shadow.
	Lost map[uint32]int `json:"-"`
	// Picked counts sites of values that were fixed, and had more values than were tried.
	Picked map[uint32]int `json:"-"`
	// Ended counts runs whose paths are not known.
	Ended int `json:"ended,omitempty"`
	// Stale counts shadows that did not agree with the value, and Dropped branches beyond the bound of a path.
	Stale   int `json:"stale"`
	Dropped int `json:"dropped"`
	// Taken has the sides by site.
	Taken []uint8 `json:"-"`
}

// Failure identifies the finding without its inputs: findings with the same Failure are the same.
func (f *Finding) Failure() Failure { return Failure{f.What, f.Where} }

// String is a line for people. What a program says of itself does not begin another one.
func (f Finding) String() string {
	text := strings.ReplaceAll(f.What, "\n", `\n`)
	if f.Where != "" {
		text += " at " + f.Where
	}
	if len(f.Inputs) > 0 {
		text += ": " + f.InputsText()
	}
	return text
}

// InputsText lists the inputs with their values.
func (f *Finding) InputsText() string {
	list := make([]string, len(f.Inputs))
	for i, in := range f.Inputs {
		list[i] = fmt.Sprintf("%s=%#x", in.Name, in.Value)
	}
	return strings.Join(list, " ")
}

// Values returns the values of the inputs.
func (f *Finding) Values() []uint64 {
	values := make([]uint64, len(f.Inputs))
	for i, in := range f.Inputs {
		values[i] = in.Value
	}
	return values
}
