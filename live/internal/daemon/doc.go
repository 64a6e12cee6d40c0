// Package daemon makes copies of a live, unmodified, single-threaded program, in which inputs are tried while the program itself goes on.
//
// [Daemon.TakeCheckpoint] stops the daemon by ptrace(2) for as long as a fork takes, has it execute that fork, restores its registers and lets it go: the
// call in which it waited is resumed by the kernel. If this process is killed meanwhile, at whatever moment, the daemon restores its registers by
// itself (see wayHome). Nothing of its memory is written but bytes below its stack, where the frame of a signal's handler would be, and these are
// written back. The copy is a checkpoint. It runs no instruction of its own; it is forked once more for each list of inputs
// ([Checkpoint.Deliver]), into an explorer, which runs.
//
// Both are shut in: they have no open file, memory that was shared is their own, and a filter of system calls (seccomp(2)) lets them make none but
// those on their own memory. All others stop the explorer, and this package answers them: what the daemon waits for is there, its clock stands
// still, what it sends and logs is recorded. Without a tracer, the filter refuses them, and the kernel ends a copy with its tracer.
package daemon
