//go:build !linux

package cli

// inMemory reports whether the files of a folder lie in memory.
func inMemory(string) bool { return false }
