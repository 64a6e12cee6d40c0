// Package guest is the agent of the engine vm: process 1 of the virtual machine. It makes the nodes, starts and ends programs, is the
// network between nodes, and reports what happens. It decides nothing: it asks the engine (package wire), and does what the answer says.
package guest
