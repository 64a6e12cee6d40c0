// Package methods finds what stands for a method of gRPC.
package methods

import (
	"fmt"
	"strings"
)

// Table has what stands for methods by their names: "/shop.Payments/Charge"; "/shop.Payments/*", all methods of a service; or "*", all.
type Table[T any] map[string]*T

// Add enters what stands for a name. It panics at one that cannot be, or that is there.
func (t Table[T]) Add(name string, entry *T) {
	parts := strings.Split(name, "/")
	switch {
	case name != "*" && (len(parts) != 3 || parts[0] != "" || parts[1] == "" || parts[2] == ""):
		panic(fmt.Sprintf("gRPC: %q is not a method: write /SERVICE/METHOD, /SERVICE/* or *", name))
	case t[name] != nil:
		panic(fmt.Sprintf("gRPC: %s is there twice", name))
	}
	t[name] = entry
}

// Lookup returns the entry for a method by the most specific name, or nil.
func (t Table[T]) Lookup(method string) *T {
	if entry := t[method]; entry != nil {
		return entry
	}
	if entry := t[method[:strings.LastIndexByte(method, '/')+1]+"*"]; entry != nil {
		return entry
	}
	return t["*"]
}
