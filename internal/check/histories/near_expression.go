package histories

import (
	"math"
	"reflect"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// maxNearOps bounds the history of which a condition's slack is computed.
const maxNearOps = 20_000

// nearExpression is how little it takes for a condition with comparisons of numbers to become false: the slack of a <= b is
// (b-a)/(|b-a|+max(1,|b|)); of several conditions that must all be true it is the least, of alternatives the greatest, as in the
// quantitative semantics of temporal logic (Fainekos, Pappas, TCS 2009). What compares no numbers has the slack 1 or -1.
func nearExpression(p *world.Property, ops []history.Operation, add Add) {
	if len(ops) == 0 || len(ops) > maxNearOps {
		return
	}
	tree, err := parser.Parse(p.Check.Condition)
	if err != nil {
		return
	}
	r := &robust{ops: make([]ExprOp, len(ops))}
	for i := range ops {
		r.ops[i] = exprOp(ops[i])
	}
	slack, ok := r.whole(tree.Node)
	if !ok || !r.numbers {
		return
	}
	add("slack", 1-slack, "slack %.3f of %s", slack, p.Check.Condition)
}

// robust computes the slack of a condition over one history.
type robust struct {
	ops     []ExprOp
	numbers bool // numbers were compared
}

// whole is the slack of a condition over all operations.
func (r *robust) whole(n ast.Node) (float64, bool) {
	switch x := n.(type) {
	case *ast.UnaryNode:
		if x.Operator == "not" || x.Operator == "!" {
			s, ok := r.whole(x.Node)
			return -s, ok
		}
	case *ast.BinaryNode:
		if join := joins(x.Operator); join != nil {
			a, ok := r.whole(x.Left)
			b, also := r.whole(x.Right)
			return join(a, b), ok && also
		}
		if compares(x.Operator) {
			a, ok := r.value(x.Left)
			b, also := r.value(x.Right)
			if ok && also {
				r.numbers = true
				return slack(x.Operator, a, b), true
			}
		}
	case *ast.BuiltinNode:
		if !each(x, "all", "none", "filter", "any") {
			break
		}
		s, ok := r.single(body(x.Arguments[1]))
		if !ok || len(s) == 0 {
			return 1, ok
		}
		switch x.Name {
		case "all":
			return slices.Min(s), true
		case "any":
			return slices.Max(s), true
		}
		return -slices.Max(s), true // none may be so
	}
	got, ok := r.run(n.String(), n)
	if is, told := got.(bool); ok && told {
		return truth(is), true
	}
	return 0, false
}

// single is the slack of a predicate for each operation.
func (r *robust) single(n ast.Node) ([]float64, bool) {
	switch x := n.(type) {
	case *ast.UnaryNode:
		if x.Operator == "not" || x.Operator == "!" {
			s, ok := r.single(x.Node)
			for i := range s {
				s[i] = -s[i]
			}
			return s, ok
		}
	case *ast.BinaryNode:
		if join := joins(x.Operator); join != nil {
			a, ok := r.single(x.Left)
			b, also := r.single(x.Right)
			if !ok || !also {
				return nil, false
			}
			for i := range a {
				a[i] = join(a[i], b[i])
			}
			return a, true
		}
		if compares(x.Operator) {
			a, ok := r.values(x.Left)
			b, also := r.values(x.Right)
			if ok && also {
				r.numbers = true
				for i := range a {
					a[i] = slack(x.Operator, a[i], b[i])
				}
				return a, true
			}
		}
	}
	return r.mapped(n, func(v any) (float64, bool) {
		is, told := v.(bool)
		return truth(is), told
	})
}

// value is a number that an expression gives.
func (r *robust) value(n ast.Node) (float64, bool) {
	got, ok := r.run(n.String(), n)
	if !ok {
		return 0, false
	}
	return float(got)
}

// values are the numbers that an expression gives for each operation.
func (r *robust) values(n ast.Node) ([]float64, bool) { return r.mapped(n, float) }

// mapped evaluates an expression for each operation, as numbers. It returns false if one of them is not a number.
func (r *robust) mapped(n ast.Node, number func(any) (float64, bool)) ([]float64, bool) {
	got, ok := r.run("map(ops, "+n.String()+")", n)
	list := reflect.ValueOf(got)
	if !ok || list.Kind() != reflect.Slice || list.Len() != len(r.ops) {
		return nil, false
	}
	s := make([]float64, list.Len())
	for i := range s {
		if s[i], ok = number(list.Index(i).Interface()); !ok {
			return nil, false
		}
	}
	return s, true
}

// run evaluates a part of an expression. One that looks at all operations for each operation would take too long.
func (r *robust) run(text string, n ast.Node) (any, bool) {
	var deep nested
	ast.Walk(&n, &deep)
	if deep > 0 {
		return nil, false
	}
	program, err := expr.Compile(text, expr.Env(exprEnv{}), expr.MaxNodes(maxExpressionNodes))
	if err != nil {
		return nil, false
	}
	machine := vm.VM{MemoryBudget: maxExpressionMem}
	got, err := machine.Run(program, exprEnv{r.ops})
	return got, err == nil
}

// nested counts predicates that look at the whole list.
type nested int

func (d *nested) Visit(n *ast.Node) {
	b, ok := (*n).(*ast.BuiltinNode)
	if !ok || len(b.Arguments) < 2 {
		return
	}
	for i := range b.Arguments[1:] {
		var others mentions
		ast.Walk(&b.Arguments[i+1], &others)
		*d += nested(others)
	}
}

func body(n ast.Node) ast.Node {
	if p, ok := n.(*ast.PredicateNode); ok {
		return p.Node
	}
	return n
}

func joins(operator string) func(a, b float64) float64 {
	switch operator {
	case "and", "&&":
		return math.Min
	case "or", "||":
		return math.Max
	}
	return nil
}

func compares(operator string) bool {
	return slices.Contains([]string{"<", "<=", ">", ">=", "==", "!="}, operator)
}

// slack is how far a comparison of two numbers is from being false, or, below 0, from being true.
func slack(operator string, a, b float64) float64 {
	d := 0.0
	switch operator {
	case "<", "<=":
		d = b - a
	case ">", ">=":
		d = a - b
	case "==": // no nearer than true
		return truth(a == b)
	case "!=":
		d = math.Abs(a - b)
	}
	return d / (math.Abs(d) + max(1, math.Abs(b)))
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return -1
}

func float(v any) (float64, bool) {
	switch x := reflect.ValueOf(v); x.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return float64(x.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return float64(x.Uint()), true
	case reflect.Float32, reflect.Float64:
		return x.Float(), true
	}
	return 0, false
}
