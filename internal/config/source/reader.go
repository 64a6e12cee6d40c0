// Package source reads the YAML files of a configuration: a tree of values that have their places in the files, and the mistakes
// and notes about them, with line and caret.
package source

import (
	"os"
	"strings"
)

// Reader reads files, and collects the mistakes and notes about them.
type Reader struct {
	Env   map[string]string // variables for interpolation; those of a .env file come after them
	Files []*File
	Errs  []*Error
	Notes []Note
	// Surveying: the files are read for their places alone, and notes about keys without effect follow later.
	Surveying bool
	// Texts, by the names of files, are read instead of what these have.
	Texts map[string][]byte

	dotEnvs map[string]map[string]string // by the names of the files
	filled  int                          // bytes, see Fill
}

// maxFilledBytes bounds all values of a configuration, with their variables filled in.
const maxFilledBytes = 64 << 20

// Fill counts a text that was filled in, and reports whether all such texts are within their bound. The first that is not is a mistake.
func (r *Reader) Fill(at Position, text string) bool {
	before := r.filled
	r.filled += len(text)
	if r.filled <= maxFilledBytes {
		return true
	}
	if before <= maxFilledBytes {
		r.Fail(at, "use shorter variables, or use them in fewer places",
			"all values together have more than %d MiB after their variables are filled in", maxFilledBytes>>20)
	}
	return false
}

// NewReader makes a Reader with an environment; nil is that of this process.
func NewReader(env map[string]string) *Reader {
	if env == nil {
		env = map[string]string{}
		for _, v := range os.Environ() {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
	}
	return &Reader{Env: env, dotEnvs: map[string]map[string]string{}}
}
