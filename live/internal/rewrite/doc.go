// Package rewrite gives the functions of Go packages a second body, for `go build -overlay`.
//
// A function F becomes
//
//	func F(a T) U { if bh_On { return bh_2_F(a) }; ... }  // as it was
//	func bh_2_F(a T) U { ... }                             // the same, with shadows (package shadow)
//
// so that a program pays a load and a predicted branch for each call. Types, signatures and line numbers stay as they are. A
// function literal has its second body inside the first.
//
// The second body keeps each expression as it was written and computes its shadow beside it. What has effects (calls, receive
// operations, && and ||) is evaluated first, into variables, in the order of the language; the rest of an expression is then
// evaluated as a whole, operator by operator where there are shadows (expr.go).
//
// What a second body cannot express keeps its first body, with a reason in the Result. The rewritten package is type-checked, and
// a function whose second body has an error is left alone, too: so the rewriter can be wrong about a program without breaking its
// build.
//
// One file is one step:
//
//	load.go      packages and what is refused
//	rewrite.go   a package: edits of its files, the check of what came out
//	able.go      which functions can have a second body
//	vars.go      where the shadows of variables are
//	body.go      functions, parameters, results
//	stmt.go      statements; assign.go: assignments; flow.go: branches and loops
//	expr.go      expressions; ops.go: operators; call.go, builtin.go: calls; models.go: functions of the standard library
//	types.go     types, sizes, signatures
//	declare.go   how a package reaches the runtime
package rewrite
