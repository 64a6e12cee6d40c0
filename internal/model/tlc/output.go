package tlc

import (
	"fmt"
	"io"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/tla"
)

// Counts writes how far a check has come, as TLC does.
func Counts(r *tla.Report) string {
	return fmt.Sprintf("%s generated, %s found, %s left on queue.", plural.Count(r.Generated, "state"),
		plural.Count(r.Distinct, "distinct state"), plural.Count(r.Left, "state"))
}

// PrintViolation prints a violation as TLC does.
func PrintViolation(w io.Writer, spec *tla.Spec, v *tla.Violation, difference bool) {
	switch v.Kind {
	case tla.InvariantViolated:
		if len(v.Trace) == 1 {
			fmt.Fprintf(w, "Error: Invariant %s is violated by the initial state:\n", v.Name)
			fmt.Fprintf(w, "%s\n", spec.Text(v.Trace[0]))
			return
		}
		fmt.Fprintf(w, "Error: Invariant %s is violated.\n", v.Name)
	case tla.InitialViolated:
		fmt.Fprintf(w, "Error: Property %s is violated by the initial state:\n", v.Name)
		fmt.Fprintf(w, "%s\n", spec.Text(v.Trace[0]))
		return
	case tla.StepViolated:
		fmt.Fprintf(w, "Error: Action property %s is violated.\n", v.Name)
	case tla.TemporalViolated:
		fmt.Fprintf(w, "Error: Temporal properties were violated: %s.\n\nError: The following behavior constitutes a counter-example:\n\n", v.Name)
		fmt.Fprint(w, Behaviour(spec, v.Trace, difference))
		if v.Back == len(v.Trace)-1 {
			fmt.Fprintf(w, "State %d: Stuttering\n\n", len(v.Trace)+1)
		} else {
			fmt.Fprintf(w, "Back to state %d", v.Back+1)
			if step := spec.Between(v.Trace[len(v.Trace)-1].State, v.Trace[v.Back].State); step.Action != nil {
				fmt.Fprintf(w, ": %s", step)
			}
			fmt.Fprint(w, "\n\n")
		}
		return
	case tla.Deadlocked:
		fmt.Fprintln(w, "Error: Deadlock reached.")
	case tla.AssertViolated:
		fmt.Fprintf(w, "Error: The first argument of Assert evaluated to FALSE; the second argument was:\n%s\n%v\n", v.Name, v.Cause)
	case tla.AssumptionViolated:
		fmt.Fprintf(w, "Error: Assumption %s is false.\n", v.Name)
		return
	case tla.PostViolated:
		why := ""
		if v.Cause != nil {
			why = ": " + v.Cause.Error()
		}
		fmt.Fprintf(w, "Error: Postcondition %s is violated%s.\n", v.Name, why)
		return
	}
	fmt.Fprintf(w, "Error: The behavior up to this point is:\n%s", Behaviour(spec, v.Trace, difference))
}

// Behaviour writes the states of a behaviour as TLC does.
func Behaviour(spec *tla.Spec, steps []tla.Step, difference bool) string {
	var b strings.Builder
	before := map[string]bool{}
	for i, s := range steps {
		switch {
		case i == 0:
			fmt.Fprintln(&b, "State 1: <Initial predicate>")
		case s.Action == nil:
			fmt.Fprintf(&b, "State %d: Stuttering\n", i+1)
		default:
			fmt.Fprintf(&b, "State %d: %s\n", i+1, s)
		}
		lines := strings.SplitAfter(spec.Text(s), "\n")
		now := map[string]bool{}
		for _, line := range lines {
			if now[line] = true; !difference || !before[line] {
				b.WriteString(line)
			}
		}
		before = now
		b.WriteByte('\n')
	}
	return b.String()
}

// Ending writes the last states of a behaviour as TLC does.
func Ending(spec *tla.Spec, steps []tla.Step, most int) string {
	var b strings.Builder
	for i := max(0, len(steps)-most); i < len(steps); i++ {
		s := steps[i]
		switch {
		case s.Action == nil:
			fmt.Fprintln(&b, "State 1: <Initial predicate>")
		case i == len(steps)-1:
			fmt.Fprintf(&b, "The last state: %s\n", s)
		default:
			fmt.Fprintf(&b, "The state before: %s\n", s)
		}
		fmt.Fprintln(&b, spec.Text(s))
	}
	return b.String()
}
