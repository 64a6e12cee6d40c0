// Package code finds out which blocks of programs were executed: of unmodified ones, and of those that were built to report them.
//
// A Binary is an ELF file with the places where a breakpoint may be set: entries of functions, and basic blocks within functions
// that were decoded without doubt. A byte that is no first byte of an instruction would change what a program does, so
// whatever is uncertain has fewer places, or none. A State is what a campaign has covered so far, for each binary by its
// digest, and Hits are what one run has covered beyond it. Names lead from places back to functions and source lines.
//
// A Source reports them. What go build -cover has put into a program is read from its memory before that goes, by a Tally: the
// program's own way, a file that it writes as it ends, knows nothing of programs that are killed. Edges of a Module are those that
// a program reports through the instrumentation library of Antithesis.
package code
