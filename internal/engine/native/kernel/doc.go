// Package kernel is the deterministic Linux in user space: what a world's programs believe to be their kernels.
//
// All of its state is plain data (State): no function, channel, real id or pointer shared between two tables. One
// object refers to another by number. Whatever must be done in the real world (memory of a process, real maps,
// clone, exec) goes through the Machine that is passed to New; files and sockets are the rooms fs and net.
//
// # How a call is handled
//
// Step resumes one thread until it stops at its next system call and looks the call up in the table (calls.go).
// A handler is func(k *Kernel, t *Thread) Result. It finds its arguments in t.Call.Args, reads and writes the
// program's memory with k.in, k.out, k.cstring (which also feed the event's digest) or with k.peek and k.poke for
// data that holds pointers (no digest), and returns
//
//   - a value >= 0, or fail(EAGAIN) and the like: the call is over;
//   - k.block(t, deadlineNs, keys...): the thread waits. When one of the keys is woken (k.Wake) or the deadline is
//     reached, the same handler runs again from its start, with t.Call.Again set, and decides anew. What must
//     survive from one try to the next (bytes done so far, an absolute deadline) is kept in t.Call as data;
//   - Gone: the thread has no result to receive (exit, exec).
//
// An absolute deadline is computed at the first try only: use k.deadline(t, ns), and t.expired(k) to see whether it
// has passed. k.interrupted(t) tells a handler nothing: signals that interrupt a wait are dealt with by the core,
// by the restart column of the table.
//
// # Events
//
// A finished call is one event: thread, name, the scalar arguments named by the table's format, result, digest of
// the bytes that were copied in and out, and t.Call.Detail (a path or an address, for people). Pointers are never
// part of it.
package kernel
