package tla

import (
	"github.com/bloodhound-dst/bloodhound/internal/tla/config"
	"github.com/bloodhound-dst/bloodhound/internal/tla/eval"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
)

// Config is a configuration file of TLC (Specifying Systems, section 14.7.1). It says which definitions of a module are
// its initial predicate, next-state relation, invariants and properties, and gives the values of its constants.
type Config = config.Config

// Spec is a specification with values for its constants. It is immutable, and several checks may run on it at once.
// Variables lists the names of its variables, Actions the parts of its next-state relation, and Notes the parts of the
// configuration that have no effect. Text prints a Step as TLC does, ReadState reads the output of Text, and Between
// finds the action that leads from one state to another.
type Spec = eval.Spec

// State has a value for each variable, in the order of Spec.Variables.
type State = eval.State

// Action is a part of the next-state relation: its Name, and its place in Module, File and Span.
type Action = eval.Action

// Step is a State of a behaviour, with the Action that led to it and the Args of that action. Action is nil in an initial state, and in a stuttering step.
// Alias is the value of the configuration's ALIAS, or nil.
type Step = eval.Step

// Guard is a condition of an action: its Text, and its place in Module, File and Span.
type Guard = eval.Guard

// Tried is an Action with the Guards that were false in the states where a log ends.
type Tried = eval.Tried

// Pos is a place in a file: its Line and Column, from 1 on.
type Pos = syntax.Pos

// Span is a part of a file, from one Pos to another.
type Span = syntax.Span

// Error is a mistake in a module, in a configuration or in an evaluation. It has File, Pos and Message, the Line of
// source text, and the Chain of operators that led to the place.
type Error = syntax.Error

// ErrNoConfig is the error of ReadConfig for a module's file that contains no configuration.
var ErrNoConfig = config.ErrNoConfig

// ReadConfig reads a configuration file. If file is a module, NAME.tla, it reads the configuration between ---- CONFIG
// NAME ---- and ====.
func ReadConfig(file string) (*Config, error) { return config.Read(file) }

// ParseConfig parses the text of a configuration. file names it in errors, which are of type *Error.
func ParseConfig(file, text string) (*Config, error) { return config.Parse(file, text) }

// Load reads a module and everything it extends or instances: from the module's folder, from the library folders, and
// from the modules that this package includes. It gives the module's constants the values of the configuration.
func Load(file string, config *Config, library ...string) (*Spec, error) {
	return eval.Load(file, config, library...)
}
