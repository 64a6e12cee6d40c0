// Package shadow is what instrumented code calls. Package rewrite gives each function of a target a second body, which runs while
// On is set: it computes the same values and keeps beside each an expression over the inputs of the path, its shadow. A nil
// shadow means that the value does not depend on an input.
//
// The target's packages declare these functions without a body and name them by go:linkname, so that packages of the standard
// library and of other modules can call them. A shadow is an opaque pointer there.
//
// Shadows of variables whose address nobody takes are variables beside them. Everything else has its shadow here, by address and
// byte (memory.go). Arguments and results cross calls in a record beside the call (calls.go), since signatures do not change.
// Code without a second body writes memory and passes arguments without telling, so a shadow is compared with the actual value
// wherever it is read, and dropped if they differ (Path.Stale counts that). A shadow that nobody takes, and memory with shadows
// to which the arguments of such code lead (reach.go), count as lost (Path.Lost): a search that has lost nothing knows that it
// has taken all paths.
//
// A path belongs to the goroutine that begins it; what others do meanwhile is not recorded. No garbage collection may run while
// it is recorded: addresses must keep their meaning (Prepare).
//
// One file is one step:
//
//	path.go      Begin and End of a path, inputs, branches, coverage, what was lost
//	ops.go       operators and conversions
//	memory.go    shadows by address
//	calls.go     arguments and results
//	text.go      strings: comparison, concatenation, conversion
//	generic.go   values of type parameters
//	parts.go     comparison of structs, arrays and interfaces, and keys of maps
//	reach.go     what arguments lead to; which code is not instrumented
//	models.go    functions of the standard library that have no second body
package shadow
