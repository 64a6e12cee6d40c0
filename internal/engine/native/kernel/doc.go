// Package kernel is the core of the deterministic Linux in user space: threads, processes, descriptors, signals, waiting, time and
// scheduling. What its calls and kinds of open files mean, it is given as a System; package linux is that.
//
// All of its state is plain data (State): no function, channel, real id or pointer shared between two tables. One
// object refers to another by number. Whatever must be done in the real world (memory of a process, real maps,
// clone, exec) goes through the Machine that is passed to New; files and sockets are the rooms fs and net.
//
// # How a call is handled
//
// Step resumes one thread until it stops at its next system call and looks the call up in System.Calls.
// A handler is func(k *Kernel, t *Thread) Result. It begins by naming its arguments as the types that they
// have in Linux (fd := t.Call.Args[0].Int()), reads and writes the
// program's memory with k.In, k.Out, k.CString (which also feed the event's digest) or with k.Peek and k.Poke for
// data that holds pointers (no digest), and returns
//
//   - a value >= 0, or a negated errno: the call is over;
//   - k.Block(t, deadlineNs, keys...): the thread waits. When one of the keys is woken (k.Wake) or the deadline is
//     reached, the same handler runs again from its start, with t.Call.Again set, and decides anew. What must
//     survive from one try to the next (bytes done so far, an absolute deadline) is kept in t.Call as data;
//   - Gone: the thread has no result to receive (exit, exec).
//
// An absolute deadline is computed at the first try only: use k.Deadline(t, ns), and t.Expired(k) to see whether it
// has passed. A signal that interrupts a wait concerns no handler: the core deals with it, by Syscall.Restart.
//
// # Events
//
// A finished call is one event: thread, name, the scalar arguments that Syscall.Scalars names, result, digest of
// the bytes that were copied in and out, and t.Call.Detail (a path or an address, for people). Pointers are never
// part of the event.
//
// # Methods
//
// Methods of State need nothing but the state. Methods of Kernel also use the machine, the tape, the tree or the System.
package kernel
