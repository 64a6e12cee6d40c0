//go:build !linux

package model

// inMemory reports whether the files of a folder lie in memory.
func inMemory(string) bool { return false }
