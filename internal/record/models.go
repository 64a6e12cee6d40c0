package record

import "github.com/bloodhound-dst/bloodhound/internal/coverage"

// Models is what models reported about a run that they followed step by step.
type Models struct {
	// Tallies count the run's events, for each property that follows the run in a model, by its name.
	Tallies map[string]*coverage.Tally `json:"tallies,omitempty"`
	// Mistake is the first event that means nothing in a model, such as an action that the specification does not have. Every
	// run of the world would have it.
	Mistake string `json:"mistake,omitempty"`
	// Guide is the result of the models that only guide a search; nil if there are none.
	Guide *Guided `json:"guide,omitempty"`
}

// Guided is the result of models that guide a search and judge nothing.
type Guided struct {
	Mapped int    `json:"mapped"`           // steps that the world reported
	Left   string `json:"left,omitempty"`   // why the model stopped following: a step that it does not allow, or too many states
	Failed string `json:"failed,omitempty"` // why the model stopped following: the specification cannot be evaluated there
	// Tally counts the events of a run that rules of a configuration map to steps; nil where the world reports its steps itself.
	Tally *coverage.Tally `json:"tally,omitempty"`
}
