// Package search explores a handler: it runs it with inputs, negates the branches that it met one at a time, and solves for inputs that take the other side.
//
// Each run is a path in a tree of conditions. The search negates a condition after the same conditions once only, whichever run
// has met them (the aggregate set of Canini et al., Toward Online Testing of Federated and Heterogeneous Distributed Systems,
// USENIX ATC 2011), and tries all conditions of a run, not only the last (the generational search of Godefroid, Levin and Molnar,
// Automated Whitebox Fuzz Testing, NDSS 2008). Sides of branches that no path has taken come first, then those that were tried
// least.
//
//	search.go  the search
//	tree.go    conditions that were met and negated
//	result.go  what it found, as plain data
package search
