// Package variable finds the variables of a program by its debug information (DWARF 5) or its symbols, and prints what memory holds as their
// types say.
package variable
