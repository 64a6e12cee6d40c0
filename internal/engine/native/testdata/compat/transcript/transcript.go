// Package transcript is compat.h for the Go programs of this folder.
package transcript

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strings"
)

// Play runs the case that the command line names, or all of them. A case's name is its function's.
func Play(cases ...func()) {
	for _, run := range cases {
		name := strings.TrimPrefix(runtime.FuncForPC(reflect.ValueOf(run).Pointer()).Name(), "main.")
		if len(os.Args) == 1 || os.Args[1] == name {
			fmt.Println("==", name)
			run()
		}
	}
}
