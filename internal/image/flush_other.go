//go:build !linux

package image

// flush: worlds run on Linux alone, and a store elsewhere is looked through when it is used.
func flush(string) error { return nil }
