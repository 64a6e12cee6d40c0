package fault

import (
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
)

// Asks lists the variables, log patterns, nodes and texts that a condition refers to.
type Asks struct {
	Names    []string   // variables
	Logs     []string   // log patterns, of logs.NAME
	Nodes    []string   // of roles.NODE
	Compared []Compared // texts with which variables are compared
}

// Compared is a text with which a condition compares a variable; that of roles.NODE is role.
type Compared struct{ Name, Text string }

// Asked reads what a condition asks about; nothing of one that CompileCondition refuses.
func Asked(condition string) Asks {
	var a Asks
	if tree, err := parser.Parse(condition); err == nil {
		ast.Walk(&tree.Node, &a)
	}
	return a
}

// Visit takes in one node of a condition.
func (a *Asks) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.IdentifierNode:
		if !slices.Contains(a.Names, n.Value) {
			a.Names = append(a.Names, n.Value)
		}
	case *ast.MemberNode:
		switch of, name := member(n); of {
		case "logs":
			a.Logs = append(a.Logs, name)
		case "roles":
			a.Nodes = append(a.Nodes, name)
		}
	case *ast.BinaryNode:
		a.compare(n.Operator, n.Left, n.Right)
		a.compare(n.Operator, n.Right, n.Left)
	}
}

// compare takes in what a variable is compared with.
func (a *Asks) compare(operator string, variable, with ast.Node) {
	name := ""
	switch v := variable.(type) {
	case *ast.IdentifierNode:
		name = v.Value
	case *ast.MemberNode:
		if of, _ := member(v); of == "roles" {
			name = "role"
		}
	}
	if name == "" {
		return
	}
	texts := []ast.Node{with}
	if list, ok := with.(*ast.ArrayNode); ok && operator == "in" {
		texts = list.Nodes
	} else if operator != "==" && operator != "!=" {
		return
	}
	for _, t := range texts {
		if s, ok := t.(*ast.StringNode); ok {
			a.Compared = append(a.Compared, Compared{name, s.Value})
		}
	}
}

// member gives the variable and the name in variable.name and variable["name"].
func member(n *ast.MemberNode) (of, name string) {
	v, ok1 := n.Node.(*ast.IdentifierNode)
	p, ok2 := n.Property.(*ast.StringNode)
	if !ok1 || !ok2 {
		return "", ""
	}
	return v.Value, p.Value
}
