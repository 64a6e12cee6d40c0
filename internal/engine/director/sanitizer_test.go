package director

import (
	"testing"
)

// What sanitizers print is distinguished from what Go prints at a panic.
func TestSanitizerLines(t *testing.T) {
	for line, is := range map[string]bool{
		"panic: runtime error: index out of range [3] with length 3":              false,
		"panic: runtime error: invalid memory address or nil pointer dereference": false,
		"kv.c:12:9: runtime error: signed integer overflow":                       true,
		"==12==ERROR: AddressSanitizer: heap-use-after-free":                      true,
		"WARNING: DATA RACE": true,
	} {
		if sanitizerLine.MatchString(line) != is {
			t.Errorf("%q: %v", line, !is)
		}
	}
}
