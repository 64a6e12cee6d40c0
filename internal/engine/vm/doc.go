// Package vm is the engine vm: a whole world in one virtual machine of QEMU, with a Linux kernel of its own. Nodes are namespaces in it.
// The guest decides nothing: its agent (package guest) asks at each turn, and the director, on this side, answers (package wire). The
// CPU is emulated and counts instructions, so that a run follows from the tape (docs/explanation/engine-vm.md).
package vm
