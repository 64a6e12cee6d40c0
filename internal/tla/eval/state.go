package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/tla/failure"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// ReadState reads a state of the specification from a text, as TLC and Spec.Text write it: a conjunct a line, /\ x = value. A name in a value is a model value.
func (s *Spec) ReadState(text string) (State, error) {
	e, err := syntax.ParseExpr("state", text)
	if err != nil {
		return nil, err
	}
	parts := []syntax.Expr{e}
	if j, ok := e.(*syntax.Junction); ok && j.And {
		parts = j.Items
	}
	state := make(State, len(s.Variables))
	read := func() {
		for _, part := range parts {
			a, ok := part.(*syntax.Apply)
			if !ok || a.Name != "=" || len(a.Args) != 2 {
				notValue(part, "a state is a list of /\\ variable = value")
			}
			x, ok := a.Args[0].(*syntax.Apply)
			if !ok || len(x.Args) > 0 {
				notValue(part, "a state is a list of /\\ variable = value")
			}
			i := slices.Index(s.Variables, x.Name)
			if i < 0 {
				notValue(part, fmt.Sprintf("the specification has no variable %s", x.Name))
			}
			state[i] = ofText(a.Args[1])
		}
		for i, v := range state {
			if v == nil {
				notValue(e, fmt.Sprintf("the variable %s has no value", s.Variables[i]))
			}
		}
	}
	if wrong := failure.CatchValue(func() { err = failure.Catch(read) }); wrong != nil {
		return nil, fmt.Errorf("state: %w", wrong)
	}
	return state, err
}

func notValue(e syntax.Expr, why string) {
	p := e.Position()
	panic(failure.Wrap(&syntax.Error{File: "state", Pos: p, Message: why}))
}

// ofText is a value that is spelled out.
func ofText(e syntax.Expr) value.Value {
	switch e := e.(type) {
	case *syntax.Paren:
		return ofText(e.Inner)
	case *syntax.Number:
		n, err := strconv.ParseInt(e.Text, 10, 64)
		if err != nil {
			notValue(e, "integers have 64 bits")
		}
		return value.Int(n)
	case *syntax.String:
		return value.Text(e.Text)
	case *syntax.SetEnum:
		return value.NewSet(ofTexts(e.Items))
	case *syntax.Tuple:
		return value.NewTuple(ofTexts(e.Items))
	case *syntax.Record:
		fields := slices.SortedFunc(slices.Values(e.Fields), func(a, b syntax.FieldValue) int { return cmp.Compare(a.Text, b.Text) })
		var names []*value.String
		var values []value.Value
		for _, f := range fields {
			names, values = append(names, value.Text(f.Text)), append(values, ofText(f.Value))
		}
		return value.NewRecord(names, values)
	case *syntax.Apply:
		args := ofTexts(e.Args)
		switch {
		case e.Name == "TRUE" || e.Name == "FALSE":
			return value.Bool(e.Name == "TRUE")
		case len(args) == 0 && len(e.Path) == 0:
			return value.ModelValue(e.Name)
		case e.Name == ":>" && len(args) == 2:
			return value.FunctionOf(args[:1], args[1:])
		case e.Name == "@@" && len(args) == 2:
			return value.Merge(args[0], args[1])
		}
		if len(args) == 0 {
			break
		}
		a, number := args[0].(value.Int)
		switch {
		case number && e.Name == "-." && len(args) == 1:
			return -a
		case number && e.Name == ".." && len(args) == 2:
			if b, ok := args[1].(value.Int); ok {
				return value.Explicit(&value.Interval{Low: int64(a), High: int64(b)})
			}
		}
	}
	notValue(e, "a state has values that are spelled out")
	return nil
}

func ofTexts(list []syntax.Expr) []value.Value {
	var values []value.Value
	for _, e := range list {
		values = append(values, ofText(e))
	}
	return values
}
