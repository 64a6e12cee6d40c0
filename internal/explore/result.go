package explore

import ()

// Result is the outcome of a campaign that a test made over a world of its own (package sim). The test leaves it for
// the program that started it.
type Result struct {
	Name     string `json:"name"` // of the test
	Dir      string `json:"dir"`  // of its package
	ExitCode int    `json:"exit_code"`
	// Totals are missing where no campaign was made, since a stored failure still shows or runs of one tape differ.
	Totals *Totals  `json:"totals,omitempty"`
	Status Status   `json:"status"`
	Files  []string `json:"files,omitempty"` // of the failures
	// Diverged says where runs of one tape part.
	Diverged string `json:"diverged,omitempty"`
}

// UnderWay ends the name of a file that has the beginning of a Result: of a campaign that is not at its end.
const UnderWay = ".under-way"
