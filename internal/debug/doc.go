// Package debug takes a run forward and backward for a debugger. A Timeline keeps snapshots of a world and comes to any position of its run; a Server
// speaks gdb's remote protocol (package rsp has its packets), and Commands are what gdb's monitor command and a prompt have in common.
package debug
