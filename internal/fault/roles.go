package fault

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// severalRoles has conditions know that a node may have several roles at once. role and roles["n1"] are texts, the latest
// role, but where they are compared with a role they stand for each one that the node has, and values(roles) are all roles of
// all nodes.
type severalRoles struct{}

// Visit rewrites one node of a condition.
func (severalRoles) Visit(n *ast.Node) {
	switch x := (*n).(type) {
	case *ast.BuiltinNode:
		if of, ok := firstOf(x.Arguments).(*ast.IdentifierNode); ok && x.Name == "values" && of.Value == "roles" {
			ast.Patch(n, &ast.IdentifierNode{Value: "held_roles"})
		}
	case *ast.BinaryNode:
		switch x.Operator {
		case "==", "!=":
			whose, with := rolesOf(x.Left), x.Right
			if whose == nil {
				whose, with = rolesOf(x.Right), x.Left
			}
			if _, none := with.(*ast.NilNode); whose == nil || none {
				return
			}
			var has ast.Node = &ast.CallNode{Callee: &ast.IdentifierNode{Value: "has_role"}, Arguments: []ast.Node{whose, with}}
			if x.Operator == "!=" {
				has = &ast.UnaryNode{Operator: "not", Node: has}
			}
			ast.Patch(n, has)
		case "in":
			if whose := rolesOf(x.Left); whose != nil {
				ast.Patch(n, &ast.CallNode{Callee: &ast.IdentifierNode{Value: "has_any_role"}, Arguments: []ast.Node{whose, x.Right}})
			}
		}
	}
}

func firstOf(list []ast.Node) ast.Node {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// rolesOf is the node whose role an expression gives, or nil.
func rolesOf(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		if n.Value == "role" {
			return &ast.IdentifierNode{Value: "node"}
		}
	case *ast.MemberNode:
		if of, ok := n.Node.(*ast.IdentifierNode); ok && of.Value == "roles" {
			return n.Property
		}
	}
	return nil
}

// latest is the role that a node took on last, or empty.
func latest(held []string) string {
	if len(held) == 0 {
		return ""
	}
	return held[len(held)-1]
}

// hasRole reports whether a node has a role; an empty one stands for none.
func (m *Moment) hasRole(node, role string) bool {
	if role == "" {
		return len(m.Roles[node]) == 0
	}
	return slices.Contains(m.Roles[node], role)
}

// hasAny reports whether a node has one of a list of roles.
func (m *Moment) hasAny(node string, roles any) bool {
	switch list := roles.(type) {
	case []any:
		return slices.ContainsFunc(list, func(r any) bool {
			name, ok := r.(string)
			return ok && m.hasRole(node, name)
		})
	case []string:
		return slices.ContainsFunc(list, func(name string) bool { return m.hasRole(node, name) })
	}
	return false
}
