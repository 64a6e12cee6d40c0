// Package smtlib asks another solver what bv.Solver was asked, in the language SMT-LIB 2.6 (Barrett, Fontaine and Tinelli, "The
// SMT-LIB Standard", 2017), and compares the answers.
package smtlib

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/live/internal/bv"
)

// Append appends declarations of the inputs and assertions of constraints. Input n is in<n>, and a node that is no input or
// constant is n<i>, so that what is shared is written once. Truth values are bit-vectors of one bit, as they are in bv.
func Append(dst []byte, constraints []*bv.Expr) []byte {
	names := map[*bv.Expr]string{}
	for i, e := range bv.Nodes(constraints...) {
		switch e.Op {
		case bv.Const:
			names[e] = e.String()
			continue
		case bv.Input:
			names[e] = e.String()
			dst = fmt.Appendf(dst, "(declare-const %s (_ BitVec %d))\n", names[e], e.Width)
			continue
		}
		names[e] = fmt.Sprintf("n%d", i)
		term := "(" + e.Function()
		for _, x := range [...]*bv.Expr{e.A, e.B, e.C} {
			if x == nil {
				continue
			}
			name := names[x]
			if e.Op == bv.Ite && x == e.A && term == "(ite" {
				name = "(= #b1 " + name + ")"
			}
			term += " " + name
		}
		term += ")"
		switch e.Op {
		case bv.Eq, bv.Ult, bv.Ule, bv.Slt, bv.Sle:
			term = "(ite " + term + " #b1 #b0)"
		}
		dst = fmt.Appendf(dst, "(define-fun %s () (_ BitVec %d) %s)\n", names[e], e.Width, term)
	}
	for _, e := range constraints {
		dst = fmt.Appendf(dst, "(assert (= #b1 %s))\n", names[e])
	}
	return dst
}

// Process is a solver that runs.
type Process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// rlimit is z3's bound of the work of a query, in its own unit: tenths of a second.
const rlimit = 400_000

// Start starts z3, whose program lies at a path.
func Start(path string) (*Process, error) {
	p := &Process{command: exec.Command(path, "-in")}
	var err error
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(p.in, "(set-option :rlimit %d)\n(set-logic QF_BV)\n", rlimit)
	return p, err
}

// Close ends the process.
func (p *Process) Close() error {
	p.in.Close()
	return p.command.Wait()
}

// Solve asks for values of a number of inputs for which constraints hold; inputs that these do not name are 0. Unknown means that z3 gave up.
func (p *Process) Solve(inputs int, constraints []*bv.Expr) (model []uint64, result bv.Result, err error) {
	query := Append([]byte("(push 1)\n"), constraints)
	if _, err := p.in.Write(append(query, "(check-sat)\n"...)); err != nil {
		return nil, bv.Unknown, err
	}
	line, err := p.line()
	if err != nil {
		return nil, bv.Unknown, err
	}
	switch line {
	case "sat":
		result = bv.Sat
		if model, err = p.model(inputs, constraints); err != nil {
			return nil, bv.Unknown, err
		}
	case "unsat":
		result = bv.Unsat
	case "unknown", "timeout":
	default:
		return nil, bv.Unknown, fmt.Errorf("%s answers %q to\n%s", p.command.Path, line, query)
	}
	_, err = io.WriteString(p.in, "(pop 1)\n")
	return model, result, err
}

func (p *Process) line() (string, error) {
	line, err := p.out.ReadString('\n')
	return strings.TrimSpace(line), err
}

// model asks for the value of each input.
func (p *Process) model(inputs int, constraints []*bv.Expr) ([]uint64, error) {
	model := make([]uint64, inputs)
	for _, e := range bv.Nodes(constraints...) {
		if e.Op != bv.Input {
			continue
		}
		if _, err := fmt.Fprintf(p.in, "(get-value (%v))\n", e); err != nil {
			return nil, err
		}
		line, err := p.line()
		if err != nil {
			return nil, err
		}
		value, ok := strings.CutPrefix(line, fmt.Sprintf("((%v #", e))
		if !ok || len(value) < 2 {
			return nil, fmt.Errorf("%s answers %q for the value of %v", p.command.Path, line, e)
		}
		base := map[byte]int{'x': 16, 'b': 2}[value[0]]
		if model[e.Bits], err = strconv.ParseUint(strings.TrimRight(value[1:], ")"), base, int(e.Width)); err != nil {
			return nil, err
		}
	}
	return model, nil
}

// Compare asks both solvers, and gives what bv.Solver answers. The error says how they disagree: one has a model and the other
// none, or the model of either does not satisfy the constraints by bv.Eval. That one of them gives up is no disagreement.
func (p *Process) Compare(s *bv.Solver, seed []uint64, constraints []*bv.Expr, budget int) (model []uint64, result bv.Result, err error) {
	model, result = s.Solve(seed, constraints, budget)
	theirs, other, err := p.Solve(len(seed), constraints)
	if err != nil {
		return nil, bv.Unknown, err
	}
	if result != other && result != bv.Unknown && other != bv.Unknown {
		return nil, bv.Unknown, fmt.Errorf("bv answers %v, %s %v to\n%s", result, p.command.Path, other, Append(nil, constraints))
	}
	for _, m := range [][]uint64{model, theirs} {
		for _, e := range constraints {
			if m != nil && bv.Eval(e, m) != 1 {
				return nil, bv.Unknown, fmt.Errorf("%v is false for the model %#x of\n%s", e, m, Append(nil, constraints))
			}
		}
	}
	return model, result, nil
}
