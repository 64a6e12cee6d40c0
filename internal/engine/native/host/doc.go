// Package host is the only place that touches the real Linux: it starts programs under ptrace and seccomp, runs
// one of their threads at a time to its next system call, reads and writes their memory, makes them execute real
// calls (map, clone, exec), and owns the files behind a world's bytes.
//
// Real process and thread ids, file descriptors and addresses of our own live here and nowhere else. The rest of
// the native engine names threads by kernel-wide numbers of its own (ThreadID).
package host
