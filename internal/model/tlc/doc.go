// Package tlc speaks with TLC, the model checker of TLA+ that is written in Java: it runs a jar of it for a second opinion on a check, and gives runs to the
// controlled TLC of ModelFuzz, which tells the states that they go through.
package tlc
