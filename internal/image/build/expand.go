package build

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
)

// Bounds of what the variables of a Dockerfile may become: a few lines such as ENV A=$A$A would fill the machine's memory.
const (
	// maxExpandedBytes bounds all that variables put into the words of a build.
	maxExpandedBytes = 64 << 20
	// maxVariables and maxVariablesBytes bound the variables of a stage, ARG and ENV together, names and values. Linux executes no
	// program with 2 MiB of them (execve(2)).
	maxVariables      = 4096
	maxVariablesBytes = 1 << 20
	// maxInstructions bounds the instructions of all stages.
	maxInstructions = 10_000
	// maxNesting bounds variables in the defaults of others: ${A:-${B:-...}}.
	maxNesting = 64
	// maxPorts bounds the ports of EXPOSE in a build.
	maxPorts = 1 << 18
)

// scope holds the variables of an instruction, for BuildKit's shell. It counts the bytes that they add to words, and
// returns nothing more once there are too many.
type scope struct {
	values map[string]string
	work   *work
	times  int // how often the value of a variable may count in the word that is expanded
}

// scope makes one of NAME=value lines, each of which has another name.
func (w *work) scope(env []string) *scope {
	s := &scope{values: make(map[string]string, len(env)), work: w, times: 1}
	for _, line := range env {
		name, value, _ := strings.Cut(line, "=")
		s.values[name] = value
	}
	return s
}

// Get looks a variable up.
func (s *scope) Get(name string) (string, bool) {
	v, ok := s.values[name]
	if s.work.expanded += int64(len(v)) * int64(s.times); s.work.expanded > maxExpandedBytes {
		return "", ok
	}
	return v, ok
}

// Keys are the names of all variables.
func (s *scope) Keys() []string {
	var names []string
	for name := range s.values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// replaces finds variables whose values are searched for a pattern, and of which each character may become the whole replacement.
var replaces = lazyregexp.New(`\$\{\w+[#%/]`)

// count prepares for a word.
func (s *scope) count(word string) error {
	if err := s.work.ctx.Err(); err != nil {
		return err
	}
	depth := 0
	for i := range len(word) {
		switch {
		case word[i] == '{' && i > 0 && word[i-1] == '$':
			depth++
		case word[i] == '}' && depth > 0:
			depth--
		}
		if depth > maxNesting {
			return &Error{Text: fmt.Sprintf("more than %d nested variables", maxNesting), Remedy: "use a separate variable for each part"}
		}
	}
	s.times = 1
	if replaces.MatchString(word) {
		s.times = len(word)
	}
	return nil
}

// check is an error if variables became more than they may.
func (s *scope) check() error {
	if s.work.expanded > maxExpandedBytes {
		return &Error{Text: fmt.Sprintf("the variables of this build expand to more than %d MiB, the limit",
			maxExpandedBytes>>20), Remedy: "does a variable grow with each line?"}
	}
	return nil
}

// word expands variables.
func (w *work) word(word string, s *scope) (string, error) {
	if err := s.count(word); err != nil {
		return "", err
	}
	out, _, err := w.file.lex.ProcessWord(word, s)
	if over := s.check(); over != nil {
		return "", over
	}
	return out, err
}

// words expands variables, and parts the result at its blanks.
func (w *work) words(word string, s *scope) ([]string, error) {
	if err := s.count(word); err != nil {
		return nil, err
	}
	out, err := w.file.lex.ProcessWords(word, s)
	if over := s.check(); over != nil {
		return nil, over
	}
	return out, err
}

// checkVariables is an error if there are more variables than a stage may have.
func checkVariables(lists ...[]string) error {
	number, size := 0, 0
	for _, list := range lists {
		number += len(list)
		for _, line := range list {
			size += len(line)
		}
	}
	switch {
	case number > maxVariables:
		return &Error{Text: fmt.Sprintf("more than %d variables, the limit", maxVariables), Remedy: "write them to a file in the image"}
	case size > maxVariablesBytes:
		return &Error{Text: fmt.Sprintf("the variables together have more than %d bytes, the limit", maxVariablesBytes),
			Remedy: "no program could start with them; write long values to a file in the image"}
	}
	return nil
}
