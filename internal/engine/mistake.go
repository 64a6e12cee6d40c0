package engine

import (
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Part names a part of a Spec in which a Mistake may lie.
type Part string

const (
	PartCommand     Part = "command"
	PartHealthcheck Part = "healthcheck"
	PartPostStart   Part = "post_start" // named by its index
	PartWorkingDir  Part = "working_dir"
	PartUser        Part = "user"
	PartRoot        Part = "root"
	PartVolume      Part = "volume"     // named by its target
	PartWorkload    Part = "workload"   // named by its name; belongs to no node
	PartProperty    Part = "property"   // so does this
	PartFault       Part = "fault"      // a rule, named by its system calls, joined by commas
	PartSimulation  Part = "simulation" // a setting, named by its key
)

// Mistake is a part of a Spec that cannot be had on this machine: a program, a folder or a user that is not there.
// The Spec itself is sound, so that only a look at the machine shows it.
type Mistake struct {
	Node    string `json:"node,omitempty"`
	Part    Part   `json:"part"`
	Name    string `json:"name,omitempty"`
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
}

// Place names the part in words.
func (m Mistake) Place() string {
	if m.Node == "" {
		return string(m.Part) + " " + m.Name
	}
	return "node " + m.Node
}

// Mistakes are all that were found in a Spec, in the order of its nodes.
type Mistakes []Mistake

// Error has each Mistake with its place and its remedy.
func (m Mistakes) Error() string {
	var lines []string
	for _, one := range m {
		lines = append(lines, one.Place()+": "+one.Problem+"\n  "+one.Remedy)
	}
	return strings.Join(lines, "\n")
}

// Validator is an Engine that finds what a Spec names and this machine lacks, before anything runs.
type Validator interface {
	// Validate returns Mistakes, which are the user's, or another error if the machine fails. Of the Options, Driver
	// counts.
	Validate(spec *world.Spec, o Options) error
}

// RuleValidator is an Engine that finds rules of faults which can never inject, by the Spec alone.
type RuleValidator interface {
	ValidateRules(spec *world.Spec) Mistakes
}
