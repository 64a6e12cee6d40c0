package histories

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"
	"github.com/bloodhound-dst/bloodhound/internal/plural"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What an expression may find, which is its field.
var (
	exprFalse = failure.Declare("expression/false")
	exprFinds = failure.Declare("expression/finds") // operations that should not be there
)

// ExprOp is an operation as expressions see it.
type ExprOp struct {
	Client   string `expr:"client"`
	Op       string `expr:"op"`
	Key      string `expr:"key"`
	Input    string `expr:"input"`
	Expect   string `expr:"expect"`
	Output   string `expr:"output"`
	Found    bool   `expr:"found"`
	Group    string `expr:"group"`
	Type     string `expr:"type"` // ok, fail or info; in an invariant also open
	Error    string `expr:"error"`
	Node     string `expr:"node"`
	Call     int    `expr:"call"`      // event number
	Return   int    `expr:"return_at"` // event number, 0 if it never returned
	StartNs  int    `expr:"start_ns"`
	EndNs    int    `expr:"end_ns"`
	Duration int    `expr:"duration_ns"` // 0 if it never returned
}

type exprEnv struct {
	Ops []ExprOp `expr:"ops"`
}

// Limits of expressions.
const (
	maxExpressionBytes = 16 << 10
	maxExpressionNodes = 2000
	maxExpressionMem   = 10_000_000 // values that one evaluation may make
	// maxInvariantVisits bounds the operations that the evaluations of one invariant look at, all together.
	maxInvariantVisits = 20_000_000
	expressionWall     = 30 * time.Second
	maxSideBytes       = 60 // of a value in a reason
)

// compileExpression reads an expression over a history (github.com/expr-lang/expr). Its errors name line and column.
// The result is true or false, or a list of operations that should not be there.
func compileExpression(text string) (*vm.Program, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New(`the expression is empty; write one such as none(ops, .op == "get" and .type == "fail")`)
	}
	if len(text) > maxExpressionBytes {
		return nil, fmt.Errorf("the expression has %d bytes; the limit is %d", len(text), maxExpressionBytes)
	}
	program, err := expr.Compile(text, expr.Env(exprEnv{}), expr.MaxNodes(maxExpressionNodes))
	var at *file.Error
	if errors.As(err, &at) { // its own text has several lines
		return nil, fmt.Errorf("%s (%d:%d)", strings.ReplaceAll(at.Message, fmt.Sprintf("type %T", ExprOp{}), "an operation"), at.Line, at.Column+1)
	}
	if err != nil {
		return nil, err
	}
	if t := program.Node().Type(); t != nil {
		switch t.Kind() {
		case reflect.Bool, reflect.Slice, reflect.Array, reflect.Interface:
		default:
			return nil, fmt.Errorf("the expression is a %s; it must be true or false, or a list of operations", t)
		}
	}
	return program, nil
}

// expressed judges a history by an expression. Where the history may be incomplete, cut returns why.
func expressed(p *world.Property, ops []history.Operation, cut string) verdict.Verdict {
	v := verdict.New(p)
	program, err := compileExpression(p.Check.Condition)
	if err != nil {
		return verdict.Undecided(p, "broken expression: %v", err)
	}
	if len(ops) == 0 {
		return verdict.Idle(p, "no operation was reported")
	}
	all := make([]ExprOp, len(ops))
	var ended []ExprOp
	for i, o := range ops {
		all[i] = exprOp(o)
		if o.Type != history.Info || o.ReturnTimeNs > 0 {
			ended = append(ended, all[i])
		}
	}
	everywhere := atEachEvent(p)
	done := make(chan verdict.Verdict, 1)
	// An evaluation cannot be interrupted; one that takes too long is left behind and ends by itself.
	go func() {
		e := evaluation{program: program, p: p, until: time.Now().Add(expressionWall)}
		if everywhere {
			done <- e.atEveryEvent(v, ops, all, cut)
			return
		}
		now := e.judge(v, all)
		if now.Status == verdict.Violated && cut != "" {
			now = e.forEver(now, ended, cut)
		}
		done <- now
	}()
	late := time.NewTimer(expressionWall + expressionWall/4)
	defer late.Stop()
	select {
	case v := <-done:
		return v
	case <-late.C:
		return verdict.Undecided(p, "budget: the expression was not evaluated within %s", expressionWall)
	}
}

// atEachEvent reports whether a property's condition must be true at each event, not only at the end.
func atEachEvent(p *world.Property) bool {
	return p.Kind == world.Invariant || p.Check.Type == world.InvariantCheck
}

// exprOp is an operation as it is at the end.
func exprOp(o history.Operation) ExprOp {
	e := ExprOp{Client: o.Client, Op: o.Op, Key: o.Key, Input: o.Input, Expect: o.Expect, Output: o.Output, Found: o.Found, Group: o.Group,
		Type: string(o.Type), Error: o.Error, Node: o.Node, Call: int(o.Call), StartNs: int(o.CallTimeNs)}
	if o.Return != history.Pending {
		e.Return, e.EndNs, e.Duration = int(o.Return), int(o.ReturnTimeNs), int(o.ReturnTimeNs-o.CallTimeNs)
	}
	return e
}

// inFlight is the type of an operation that has not returned yet, as an invariant sees it.
const inFlight = "open"

// evaluation is the judgement of one history by one expression.
type evaluation struct {
	program *vm.Program
	p       *world.Property
	until   time.Time
}

// judge evaluates the expression once.
func (e *evaluation) judge(v verdict.Verdict, ops []ExprOp) verdict.Verdict {
	v.Status, v.Reason, v.Cause = verdict.Unknown, "", nil
	machine := vm.VM{MemoryBudget: maxExpressionMem}
	got, err := machine.Run(e.program, exprEnv{ops})
	if err != nil {
		v.Reason = fmt.Sprintf("the expression failed: %v", err)
		return v
	}
	switch value := got.(type) {
	case bool:
		if v.Status = verdict.Holds; !value {
			v.Violate(0, 0, exprFalse.Cause(e.p.Check.Condition).Claim("the condition is false%s: %s", e.sides(ops), conditionWords(e.p)))
			if !atEachEvent(e.p) {
				v = showOffenders(v, e.offending(ops))
			}
		}
		return v
	case []any:
		return offenders(v, e.p, value)
	case []ExprOp:
		list := make([]any, len(value))
		for i := range value {
			list[i] = value[i]
		}
		return offenders(v, e.p, list)
	}
	v.Reason = fmt.Sprintf("the expression was a %T; it must be true or false, or a list of operations", got)
	return v
}

// sides returns the values of both sides of the first comparison that is false, such as " (386 == 400)".
func (e *evaluation) sides(ops []ExprOp) string {
	tree, err := parser.Parse(e.p.Check.Condition)
	if err != nil {
		return ""
	}
	for _, b := range comparisons(tree.Node) {
		if whole, ok := valueOfNode(b, ops); !ok || whole != false {
			continue
		}
		left, ok := valueOfNode(b.Left, ops)
		right, also := valueOfNode(b.Right, ops)
		if ok && also {
			return fmt.Sprintf(" (%s %s %s)", sideWords(left), b.Operator, sideWords(right))
		}
	}
	return ""
}

// comparisons lists those that an expression joins by and, or; the last alternative comes first.
func comparisons(n ast.Node) []*ast.BinaryNode {
	b, ok := n.(*ast.BinaryNode)
	switch {
	case !ok:
		return nil
	case compares(b.Operator):
		return []*ast.BinaryNode{b}
	case b.Operator == "or" || b.Operator == "||":
		return append(comparisons(b.Right), comparisons(b.Left)...)
	case b.Operator == "and" || b.Operator == "&&":
		return append(comparisons(b.Left), comparisons(b.Right)...)
	}
	return nil
}

// valueOfNode evaluates a part of an expression.
func valueOfNode(n ast.Node, ops []ExprOp) (any, bool) {
	program, err := expr.Compile(n.String(), expr.Env(exprEnv{}), expr.MaxNodes(maxExpressionNodes))
	if err != nil {
		return nil, false
	}
	machine := vm.VM{MemoryBudget: maxExpressionMem}
	got, err := machine.Run(program, exprEnv{ops})
	return got, err == nil
}

func sideWords(value any) string {
	if text, ok := value.(string); ok {
		return verdict.Shorten(text)
	}
	text := fmt.Sprint(value)
	if len(text) > maxSideBytes {
		text = text[:maxSideBytes] + "..."
	}
	return text
}

// offending lists the operations that make the first false part of an expression false, if that part forbids operations one
// by one.
func (e *evaluation) offending(ops []ExprOp) []any {
	tree, err := parser.Parse(e.p.Check.Condition)
	if err != nil {
		return nil
	}
	for _, part := range conjuncts(tree.Node) {
		text := offenderFilter(part)
		if text == "" {
			continue
		}
		program, err := compileExpression(text)
		if err != nil {
			continue
		}
		machine := vm.VM{MemoryBudget: maxExpressionMem}
		got, err := machine.Run(program, exprEnv{ops})
		if list, ok := got.([]any); ok && err == nil && len(list) > 0 {
			return list
		}
	}
	return nil
}

// offenderFilter returns the expression that lists the operations which a part of a condition forbids, or nothing: for
// all(ops, P), filter(ops, not (P)).
func offenderFilter(part ast.Node) string {
	format := "filter(ops, %s)"
	switch n := part.(type) {
	case *ast.UnaryNode:
		if (n.Operator != "not" && n.Operator != "!") || !each(n.Node, "any") {
			return ""
		}
		part = n.Node
	case *ast.BinaryNode:
		most, ok := n.Right.(*ast.IntegerNode)
		if !ok || most.Value != 0 || n.Operator != "==" && n.Operator != "<=" || !each(n.Left, "count") {
			return ""
		}
		part = n.Left
	default:
		if each(part, "all") {
			format = "filter(ops, not (%s))"
		} else if !each(part, "none") {
			return ""
		}
	}
	return fmt.Sprintf(format, body(part.(*ast.BuiltinNode).Arguments[1]))
}

// atEveryEvent evaluates the expression after each invoke and each return, over what had happened by then. The first
// answer that is not "holds" is the verdict, but what an expression could not say before a violation does not hide it.
func (e *evaluation) atEveryEvent(v verdict.Verdict, ops []history.Operation, all []ExprOp, cut string) verdict.Verdict {
	type moment struct {
		event, timeNs int64
		op            int
		returns       bool
	}
	var moments []moment
	for i, o := range ops {
		moments = append(moments, moment{int64(o.Call), o.CallTimeNs, i, false})
		if o.Return != history.Pending {
			moments = append(moments, moment{int64(o.Return), o.ReturnTimeNs, i, true})
		}
	}
	slices.SortFunc(moments, func(a, b moment) int { return cmp.Compare(a.event, b.event) })
	alone := oneByOne(e.program.Node())
	var seen []ExprOp // in the order of their invokes, which is that of ops
	var doubt verdict.Verdict
	visits := 0
	for k, m := range moments {
		o := all[m.op]
		if !m.returns {
			o.Output, o.Found, o.Type, o.Error, o.Return, o.EndNs, o.Duration = "", false, inFlight, "", 0, 0, 0
			seen = append(seen, o)
		} else {
			seen[m.op] = o
		}
		looked := seen
		if alone {
			looked = seen[m.op : m.op+1]
		}
		if visits += len(looked); visits > maxInvariantVisits || k%1024 == 1023 && time.Now().After(e.until) {
			v.Status, v.Reason = verdict.Unknown, fmt.Sprintf("budget: the condition was evaluated at only %d of %d events; a condition of the form "+
				"all(ops, ...), none(ops, ...) or filter(ops, ...) that looks at each operation alone is faster", k, len(moments))
			return v
		}
		now := e.judge(v, looked)
		if now.Status == verdict.Violated {
			now.Violate(uint64(m.event), m.timeNs, now.Cause.Claim("at event %d, %s: %s", m.event, verdict.Seconds(m.timeNs), now.Reason))
			if len(now.Evidence) == 0 {
				now.Evidence = []string{fmt.Sprintf("false since %s (event %d): %s", verdict.Seconds(m.timeNs), m.event, inWords(o))}
			}
			return now
		}
		if now.Status == verdict.Unknown && doubt.Status == "" {
			doubt = now
			doubt.Reason = fmt.Sprintf("at event %d: %s", m.event, now.Reason)
		}
	}
	if doubt.Status != "" {
		return doubt
	}
	// What never returned counts as info in the end, as it does for an expression over the whole history.
	if v = e.judge(v, all); v.Status == verdict.Holds {
		v.Probes = len(moments)
	}
	return verdict.AtEnd(e.p, v, cut)
}

// forEver is the verdict on a history that was cut off and that an expression finds broken: a violation only where a part of
// it that must be true is broken by operations that have ended, and stays so whatever comes after them.
func (e *evaluation) forEver(v verdict.Verdict, ended []ExprOp, cut string) verdict.Verdict {
	tree, err := parser.Parse(e.p.Check.Condition)
	if err != nil {
		return verdict.AtEnd(e.p, v, cut)
	}
	for _, part := range conjuncts(tree.Node) {
		if !lasting(part) {
			continue
		}
		program, err := compileExpression(part.String())
		if err != nil {
			continue
		}
		alone := evaluation{program: program, p: e.p, until: e.until}
		if now := alone.judge(v, ended); now.Status == verdict.Violated {
			return now
		}
	}
	return verdict.AtEnd(e.p, v, cut)
}

// conjuncts are the parts of an expression that must all be true.
func conjuncts(n ast.Node) []ast.Node {
	if b, ok := n.(*ast.BinaryNode); ok && (b.Operator == "and" || b.Operator == "&&") {
		return append(conjuncts(b.Left), conjuncts(b.Right)...)
	}
	return []ast.Node{n}
}

// lasting reports whether an expression that some operations make false stays false when there are more of them: it forbids
// operations, one by one, or more than so many of a sort.
func lasting(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BuiltinNode:
		return oneByOne(n)
	case *ast.UnaryNode:
		return (n.Operator == "not" || n.Operator == "!") && each(n.Node, "any")
	case *ast.BinaryNode:
		most, ok := n.Right.(*ast.IntegerNode)
		return ok && each(n.Left, "count") && (n.Operator == "<=" || n.Operator == "<" || n.Operator == "==" && most.Value == 0)
	}
	return false
}

// oneByOne reports whether an expression looks at each operation by itself, so that only the one that has changed needs
// another look.
func oneByOne(n ast.Node) bool { return each(n, "all", "none", "filter") }

// each reports whether an expression is one of these functions over all operations, with a predicate that looks at each of them
// by itself.
func each(n ast.Node, functions ...string) bool {
	b, ok := n.(*ast.BuiltinNode)
	if !ok || len(b.Arguments) != 2 || !slices.Contains(functions, b.Name) {
		return false
	}
	list, ok := b.Arguments[0].(*ast.IdentifierNode)
	if !ok || list.Value != "ops" {
		return false
	}
	var others mentions
	ast.Walk(&b.Arguments[1], &others)
	return others == 0
}

// mentions counts what in a predicate stands for the whole list, or for the place of an operation in it.
type mentions int

func (m *mentions) Visit(n *ast.Node) {
	switch x := (*n).(type) {
	case *ast.IdentifierNode:
		if x.Value == "ops" || x.Value == "$env" {
			*m++
		}
	case *ast.PointerNode:
		if x.Name != "" { // #index and #acc
			*m++
		}
	}
}

// offenders judges by a list of operations that should be empty.
func offenders(v verdict.Verdict, p *world.Property, list []any) verdict.Verdict {
	if len(list) == 0 {
		v.Status = verdict.Holds
		return v
	}
	v.Violate(0, 0, exprFinds.Cause(p.Check.Condition).Claim("the condition finds %s: %s", plural.Count(len(list), "violation"), conditionWords(p)))
	return showOffenders(v, list)
}

// conditionWords are the user's words for a condition, or the condition itself.
func conditionWords(p *world.Property) string { return cmp.Or(p.Description, p.Check.Condition) }

// showOffenders adds the operations that violate a condition to a verdict's evidence, and the moment of the first.
func showOffenders(v verdict.Verdict, list []any) verdict.Verdict {
	for i, x := range list {
		if i == verdict.MaxEvidence {
			v.Evidence = append(v.Evidence, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		o, ok := x.(ExprOp)
		if !ok {
			v.Evidence = append(v.Evidence, fmt.Sprint(x))
			continue
		}
		if i == 0 {
			v.Event, v.TimeNs = uint64(o.Return), int64(o.EndNs)
			if o.Return == 0 {
				v.Event, v.TimeNs = uint64(o.Call), int64(o.StartNs)
			}
		}
		v.Evidence = append(v.Evidence, inWords(o))
	}
	return v
}

// inWords is an operation of an expression in words.
func inWords(o ExprOp) string {
	text := fmt.Sprintf("%s (event %d) client %s: %s %q", verdict.Seconds(int64(o.StartNs)), o.Call, o.Client, o.Op, o.Key)
	if o.Input != "" {
		text += " " + verdict.Shorten(o.Input)
	}
	return fmt.Sprintf("%s: %s %s", text, o.Type, verdict.Shorten(o.Output))
}
