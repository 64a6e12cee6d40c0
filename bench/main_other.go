//go:build !linux || !amd64

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench: the native engine runs on Linux x86-64")
	os.Exit(1)
}
