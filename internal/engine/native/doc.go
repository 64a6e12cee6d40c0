// Package native is the default engine: it runs unmodified Linux x86-64 programs in a deterministic Linux in user
// space. Its rooms are host (the real machine: ptrace, seccomp, memory), kernel (processes, signals, waiting, files
// and the table of system calls), fs and net (the state of files and of the network). This package puts them
// together to a world: it starts nodes and drivers, plays phases and faults, and collects the outcome.
package native
