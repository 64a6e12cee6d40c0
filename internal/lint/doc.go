// Package lint holds the few rules of this project that go vet does not know, as tests.
package lint
