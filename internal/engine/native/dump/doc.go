// Package dump keeps what is left of a process as a fatal signal ends it: its core file (core(5)), and the stacks of its
// threads with names and lines. It reads memory and files through its callers and changes neither.
package dump
