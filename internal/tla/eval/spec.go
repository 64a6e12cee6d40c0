package eval

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/bloodhound-dst/bloodhound/internal/tla/config"
	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/liveness"
	"github.com/bloodhound-dst/bloodhound/internal/tla/ndjson"
	"github.com/bloodhound-dst/bloodhound/internal/tla/scope"
	"github.com/bloodhound-dst/bloodhound/internal/tla/symmetry"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// State has a value for each variable of a specification, in the order of Spec.Variables.
type State = []value.Value

// Spec is a specification with values for its constants. It is not changed once it is made; an Evaluator works on it.
type Spec struct {
	Variables     []string
	Actions       []Action
	CheckDeadlock bool
	Notes         []string // what has no effect: in the configuration, or of two definitions of one name

	parts Parts
	init  act
	start scope.Where // of the initial predicate
	next  act         // all actions
	size  int
	view  *node
	alias *node
	draws bool // it depends on chance

	config   *config.Config
	relation []part // that the actions are parts of

	grouping sync.Mutex  // guards ways
	ways     *value.Ways // that SYMMETRY makes; nil: not known yet

	compiling sync.Mutex // guards what compiles operators later
	compiler  *compiler
	root      *scope.Scope
}

// Parts lists the parts of a specification that a configuration names: the properties to check, and the formulas that
// limit or merge states.
type Parts struct {
	Invariants        []Formula
	InitialProperties []Formula // hold of initial states
	StepProperties    []Formula // hold of each step
	Properties        []Property
	Constraints       []Formula
	ActionConstraints []Formula
	Assumptions       []Formula
	Postconditions    []Formula
	Possible          []Formula                      // states, or steps, one of which is to be met: _POSSIBLE
	Counted           bool                           // the specification asks how often those were met
	Periodic          *Formula                       // false is a mistake, whatever else it is
	Symmetry          []map[*value.Model]value.Value // permutations that make all of SYMMETRY
	Fairness          []liveness.Fairness
	Assumed           *liveness.Formula // what the specification says of behaviours besides fairness; nil: nothing
	Atoms             []Formula         // of temporal formulas
	Times             []liveness.When   // when each is evaluated
}

// waysOfSymmetry makes the group of SYMMETRY, once. It calls tick every so often, which may panic.
func (s *Spec) waysOfSymmetry(tick func()) *value.Ways {
	s.grouping.Lock()
	defer s.grouping.Unlock()
	if s.ways == nil {
		s.ways = symmetry.GroupOf(s.parts.Symmetry, tick).Ways()
	}
	return s.ways
}

// PartsOf gives the parts of a specification. It is no method, since Spec has a public alias and Parts has none.
func PartsOf(s *Spec) *Parts { return &s.parts }

// Action is a part of the next-state relation: what is between the \/ and \E at its outside.
type Action struct {
	Name   string // of the definition
	Module string
	File   string
	Span   syntax.Span
	number int
	args   []node // of the definition; none if they are not known before a state is
	at     scope.Where
}

// Formula is a named formula of states, or of steps.
type Formula struct {
	Name  string
	test  func(*ctx) bool
	at    scope.Where
	fresh bool // it depends on more than the state
	whole bool // it is compiled for steps whose states are both complete
	Next  bool // it has primes; known of what a configuration names
	parts []conjunct
}

// conjunct is a part of an invariant or of a constraint, which are true if all of theirs are.
type conjunct struct {
	test  func(*ctx) bool
	fresh bool // it depends on more than the state
}

// Load reads a module with all that it extends and instances, from its folder and those of a library, and gives its constants the values of a
// configuration. Errors are of type *syntax.Error where a place in a module or in the configuration is at fault.
func Load(file string, from *config.Config, library ...string) (*Spec, error) {
	l := scope.NewLoader(nil, append([]string{filepath.Dir(file)}, library...)...)
	var s *Spec
	err := failure.Catch(func() {
		name := config.ModuleOf(file)
		root := l.Module(name, scope.Where{Source: &scope.Source{File: file}, Pos: syntax.Pos{}}, nil, nil)
		if root.Source == nil {
			l.Fail(scope.Where{Source: &scope.Source{File: file}, Pos: syntax.Pos{}}, "there is no such module")
		}
		l.Resolve()
		logs, err := ndjson.New(l.Trees(), from.Environment, from.Log)
		if err != nil {
			panic(failure.Wrap(err))
		}
		s = assemble(l, root, logs, from)
	})
	var wrong *syntax.Error
	if at := l.Untranslated(); at != nil && errors.As(err, &wrong) { // what is missing may be in the translation
		wrong.Message += fmt.Sprintf(" (the algorithm in PlusCal at %s was never translated to TLA+)", at)
	}
	return s, err
}
