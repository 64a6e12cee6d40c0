package world

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Names of what is promised of every program, and of which an Allowance makes an exception.
const (
	NoSignal = "no crash by a signal"
	NoReport = "no sanitizer report"
	NoOther  = "no other failure of a program" // of kinds that only a later version knows
	NoPanic  = "no panic"
	NoExit   = "no unexpected exit"
)

// Promises are these names.
var Promises = []string{NoSignal, NoPanic, NoExit}

// Allowance is a way in which a program ends by itself by design, such as a database that stops when its disk is
// full: such an end breaks no promise. All that it says must be true of the end.
type Allowance struct {
	// Property is the promise that such an end does not break. It is empty where the node has the Allowance: then it is
	// any of them.
	Property string `json:"property,omitempty"`
	// Exit are exit codes; a program that a signal has ended has 128 and the signal's number. Without any, each will do,
	// but the only signal is then SIGABRT, by which programs end themselves.
	Exit []int `json:"exit,omitempty"`
	// Panic is a regular expression that matches one of the last lines of the program's log, or of its report of a
	// panic. Without it the end is no panic.
	Panic string `json:"panic,omitempty"`
	// While are kinds of faults of which the node suffered one, or had until shortly before. Without any, it may end at
	// any time.
	While []FaultKind `json:"while,omitempty"`
}

// String is the Allowance as the value of a key of a configuration.
func (a *Allowance) String() string {
	var parts []string
	if len(a.Exit) > 0 {
		var codes []string
		for _, code := range a.Exit {
			codes = append(codes, strconv.Itoa(code))
		}
		parts = append(parts, "exit: ["+strings.Join(codes, ", ")+"]")
	}
	if a.Panic != "" {
		parts = append(parts, "panic: "+strconv.Quote(a.Panic))
	}
	switch len(a.While) {
	case 0:
	case 1:
		parts = append(parts, "while: "+string(a.While[0]))
	default:
		parts = append(parts, "while: ["+FaultNames(a.While)+"]")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Allowing is the Spec with the allowances of another, those of nodes by their names.
func (s *Spec) Allowing(now *Spec) *Spec {
	other := *s
	other.Allow, other.Nodes = now.Allow, slices.Clone(s.Nodes)
	for i := range other.Nodes {
		n := &other.Nodes[i]
		n.Allow = nil
		if at := slices.IndexFunc(now.Nodes, func(m Node) bool { return m.Name == n.Name }); at >= 0 {
			n.Allow = now.Nodes[at].Allow
		}
	}
	return &other
}

// Wrong says what is wrong with an Allowance, and how to mend it; nothing if it can be used.
func (a *Allowance) Wrong() (why, remedy string) {
	if len(a.Exit) == 0 && a.Panic == "" {
		return "says neither an exit code nor a text, so it would allow any end", "add `exit: [CODE]`, `panic: TEXT`, or both"
	}
	for _, code := range a.Exit {
		if code < 1 || code > 255 {
			why = fmt.Sprintf("exit: %d is not the exit code of a failure", code)
			return why, "write codes from 1 to 255; 0 is never a violation, and a signal is 128 and its number"
		}
	}
	if _, err := regexp.Compile(a.Panic); err != nil {
		return fmt.Sprintf("panic: %v", err), "write a regular expression, or put \\ before each special character"
	}
	return "", ""
}
