// Package e2e proves that worlds of unmodified servers repeat: it has no code of its own but tests, which run the
// program itself on worlds of testdata and of examples.
package e2e
