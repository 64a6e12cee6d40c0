// Package tlc speaks with TLC, the model checker of TLA+ that is written in Java: it runs a jar of it for a second opinion on a check.
package tlc
