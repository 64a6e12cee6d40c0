package syntax

// Pos is a place in a module's text. Line and Column count from 1; Column counts characters (runes), a tab up to the next column
// after a multiple of 8, as SANY does.
type Pos struct{ Line, Column int }

// Module is one module: its declarations and definitions in the order of the text.
type Module struct {
	Pos     Pos
	Name    string
	Extends []Name
	Units   []Unit
	Spans   map[Expr]Span // of expressions, and those of modules within; a module within has none
}

// Span is where an expression is: its first and last characters.
type Span struct{ First, Last Pos }

// Name is an identifier where it is.
type Name struct {
	Pos  Pos
	Text string
}

// Unit is one of a module's units: Constants, Variables, Recursive, Operator, Function, Instance, Assumption, Theorem or *Module. LET has the
// first four kinds of definitions too.
type Unit interface{ unit() }

// Param is a parameter of an operator, or a constant: an operator itself where Arity is over 0.
type Param struct {
	Name
	Arity int
}

type (
	// Constants is CONSTANT.
	Constants struct{ List []Param }
	// Variables is VARIABLE.
	Variables struct{ List []Name }
	// Recursive is RECURSIVE: it announces operators that are defined below.
	Recursive struct{ List []Param }
	// Operator is Name(Params) == Body. Infix, prefix and postfix operators have their symbol as name ("-." is the prefix minus).
	Operator struct {
		Name
		Params []Param
		Body   Expr
		Local  bool
	}
	// Function is Name[Bounds] == Body, where Body may use the function itself.
	Function struct {
		Name
		Bounds []Bound
		Body   Expr
		Local  bool
	}
	// Instance is Name(Params) == INSTANCE Module WITH Substitutions, or without a name.
	Instance struct {
		Name          // empty where all is imported without a prefix
		Params        []Param
		Module        Name
		Substitutions []Substitution
		Local         bool
	}
	// Substitution is Name <- Value of an INSTANCE.
	Substitution struct {
		Name
		Value Expr
	}
	// Assumption is ASSUME, with its name if it has one. An AXIOM is not checked.
	Assumption struct {
		Name
		Body  Expr
		Axiom bool
	}
	// Theorem is THEOREM with its name if it has one; Body is nil where it is a sequent (ASSUME ... PROVE). Proofs are not kept.
	Theorem struct {
		Name
		Body Expr
	}
)

func (Constants) unit()  {}
func (Variables) unit()  {}
func (Recursive) unit()  {}
func (*Operator) unit()  {}
func (*Function) unit()  {}
func (*Instance) unit()  {}
func (Assumption) unit() {}
func (Theorem) unit()    {}
func (*Module) unit()    {}

// Expr is an expression.
type Expr interface{ Position() Pos }

// Position makes Pos the place of the expression that embeds it.
func (p Pos) Position() Pos { return p }

// Bound is Names \in Set. Pattern is set for <<a, b>> \in Set. Set is nil where a quantifier has no bound.
type Bound struct {
	Names   []Name
	Pattern bool
	Set     Expr
}

type (
	// Apply is an operator with its arguments, which is also how constants, variables and parameters are named. An argument may be
	// a Lambda, or an Apply without arguments that names an operator. Symbols of operators are names: a + b is Apply{Name: "+"}.
	Apply struct {
		Pos
		Path []Step // I!J(x)! before the name
		Name string
		Args []Expr
	}
	// Step is one instance on the way to an operator, or a selector of a part of a definition: a number, <<, >>, a label, or "(" with the values of
	// bound names.
	Step struct {
		Name
		Args []Expr
	}
	// Number is a natural number or a decimal, in decimal digits.
	Number struct {
		Pos
		Text string
	}
	// String is a text without its quotes, escapes resolved.
	String struct {
		Pos
		Text string
	}
	// Junction is a list of /\ or of \/, aligned or infix.
	Junction struct {
		Pos
		And   bool
		Items []Expr
		Infix bool
	}
	// Quantified is \A, \E, \AA, \EE.
	Quantified struct {
		Pos
		Kind   string
		Bounds []Bound
		Body   Expr
	}
	// Choose is CHOOSE x \in S : P.
	Choose struct {
		Pos
		Bound Bound
		Body  Expr
	}
	// SetEnum is {a, b}.
	SetEnum struct {
		Pos
		Items []Expr
	}
	// SetFilter is {x \in S : P}.
	SetFilter struct {
		Pos
		Bound Bound
		Body  Expr
	}
	// SetMap is {e : x \in S}.
	SetMap struct {
		Pos
		Bounds []Bound
		Body   Expr
	}
	// FunctionOf is [x \in S |-> e].
	FunctionOf struct {
		Pos
		Bounds []Bound
		Body   Expr
	}
	// FunctionSet is [S -> T].
	FunctionSet struct {
		Pos
		Domain, Range Expr
	}
	// Index is f[a, b].
	Index struct {
		Pos
		Function Expr
		Args     []Expr
	}
	// Field is r.name.
	Field struct {
		Pos
		Record Expr
		Name   string
	}
	// Record is [a |-> e, b |-> f].
	Record struct {
		Pos
		Fields []FieldValue
	}
	// RecordSet is [a : S, b : T].
	RecordSet struct {
		Pos
		Fields []FieldValue
	}
	// FieldValue is one field of a Record or RecordSet.
	FieldValue struct {
		Name
		Value Expr
	}
	// Except is [f EXCEPT ![a].b = e].
	Except struct {
		Pos
		Function Expr
		Updates  []Update
	}
	// Update is ![a].b = Value. A place has one expression, or more for f[a, b]; .b is a place with a String.
	Update struct {
		Pos
		Places [][]Expr
		Value  Expr
	}
	// At is @ within an Update.
	At struct{ Pos }
	// Tuple is <<a, b>>.
	Tuple struct {
		Pos
		Items []Expr
	}
	// Paren is an expression in parentheses, kept where they distinguish two meanings: (A \X B) \X C. Or it is one with a label: name:: e, or
	// name(x, y):: e within what binds x and y.
	Paren struct {
		Pos
		Inner  Expr
		Label  string
		Params []Param
	}
	// Product is A \X B \X C.
	Product struct {
		Pos
		Sets []Expr
	}
	// Action is [A]_v, or <<A>>_v if Angle.
	Action struct {
		Pos
		Angle     bool
		Body      Expr
		Subscript Expr
	}
	// Fairness is WF_v(A), or SF_v(A) if Strong.
	Fairness struct {
		Pos
		Strong    bool
		Subscript Expr
		Body      Expr
	}
	// If is IF ... THEN ... ELSE.
	If struct {
		Pos
		Cond, Then, Else Expr
	}
	// Case is CASE p -> e [] q -> f [] OTHER -> g. Other is nil without an OTHER.
	Case struct {
		Pos
		Arms  []Arm
		Other Expr
	}
	// Arm is one p -> e.
	Arm struct{ Cond, Value Expr }
	// Let is LET ... IN.
	Let struct {
		Pos
		Units []Unit
		Body  Expr
	}
	// Lambda is LAMBDA x, y : e.
	Lambda struct {
		Pos
		Params []Param
		Body   Expr
	}
)
