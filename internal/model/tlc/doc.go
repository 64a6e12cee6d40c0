// Package tlc runs a jar of TLC, the model checker of TLA+ that is written in Java, for a second opinion on a check.
package tlc
