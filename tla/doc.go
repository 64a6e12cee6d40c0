// Package tla reads, checks and simulates specifications in TLA+ (Lamport, Specifying Systems, 2002, and TLA+ Version
// 2), and validates logs against them.
//
// It reads the modules and configuration files that TLC reads, and gives them the same meaning:
//
//	config, err := tla.ReadConfig("Queue.cfg")
//	...
//	spec, err := tla.Load("Queue.tla", config)
//	...
//	report, err := tla.Check(spec, tla.Options{})
//
// Check visits every reachable state, breadth first, and checks the invariants and properties of the configuration. A
// Report counts the states and lists the violations, each with a shortest behaviour that leads to it. Simulate draws
// behaviours at random instead. Validate reports whether a behaviour of a trace specification matches a log, and which
// line of the log no behaviour gets past.
//
// A mistake in a module or a configuration is an *Error, with file, line and column. States hold values of package
// tla/value.
package tla
