// Package checkpoint makes copies of a live Go process, in which inputs are tried while the process itself goes on.
//
// A checkpoint is a process that the live one forks while its world is stopped: no goroutine runs, no garbage collection is under way, and the
// locks of the runtime that threads without a goroutine may hold are free. The checkpoint has one thread. It forks an explorer for each input,
// which costs the live process nothing. Both are shut in: they have no file, socket or child of the live process, memory that it shared with others
// is their own, their clocks stand still, and a filter of system calls (seccomp(2)) refuses all that could leave.
//
// Go's runtime has no such fork, so the program is built with an overlay of `go build` that adds it ([Overlay]) and the build tag of [Tag].
package checkpoint
