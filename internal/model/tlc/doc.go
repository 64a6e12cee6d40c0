// Package tlc prints what a check finds as TLC does, the model checker of TLA+ that is written in Java, and runs a jar of it for a second opinion.
package tlc
