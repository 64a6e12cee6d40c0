//go:build amd64 || arm64

package shadow

// self identifies the goroutine that calls it.
func self() uintptr
