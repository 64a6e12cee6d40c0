//go:build amd64 || arm64

package shadow

import "unsafe"

// self identifies the goroutine that calls it.
func self() uintptr

// stackOf is where the stack of a goroutine begins: the first word of the runtime's g.
func stackOf(g uintptr) uintptr { return **(**uintptr)(unsafe.Pointer(&g)) }
