// Package shelf is one of two packages that are counted.
package shelf

// Put puts a thing onto a shelf that has room.
func Put(shelf []string, thing string) []string {
	if len(shelf) == cap(shelf) {
		return shelf
	}
	return append(shelf, thing)
}

// Never is called by no program.
func Never() int {
	return 7
}
