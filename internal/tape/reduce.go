package tape

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"unicode"
)

// reduce maps 64 random bits to [0, n) by multiplication (Lemire, "Fast Random Integer Generation in an
// Interval", 2019); the bias is below n/2^64.
func reduce(raw, n uint64) uint64 {
	hi, _ := bits.Mul64(raw, n)
	return hi
}

// Match reports whether a stream's name matches a pattern: * stands for one path element, ** for any number of
// them, none included.
func Match(pattern, stream string) bool {
	if pattern == "**" || pattern == stream {
		return true
	}
	return match(pattern, false, stream, false)
}

// match compares what is left of a pattern and of a name, which have ended or not.
func match(pattern string, patternEnded bool, stream string, streamEnded bool) bool {
	for !patternEnded {
		part, rest, more := strings.Cut(pattern, "/")
		pattern, patternEnded = rest, !more
		if part == "**" {
			for !match(pattern, patternEnded, stream, streamEnded) {
				if streamEnded {
					return false
				}
				_, stream, more = strings.Cut(stream, "/")
				streamEnded = !more
			}
			return true
		}
		if streamEnded {
			return false
		}
		element, rest, more := strings.Cut(stream, "/")
		if part != "*" && part != element {
			return false
		}
		stream, streamEnded = rest, !more
	}
	return streamEnded
}

// CheckPattern says what makes a text no pattern of streams, such as the forms that other languages of patterns have.
func CheckPattern(pattern string) error {
	if pattern == "" {
		return errors.New("it is empty")
	}
	if i := strings.IndexFunc(pattern, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }); i >= 0 {
		return errors.New("it has a space")
	}
	if i := strings.IndexAny(pattern, `[]{}?\!`); i >= 0 {
		return fmt.Errorf("%q is not allowed", pattern[i:i+1])
	}
	for _, part := range strings.Split(pattern, "/") {
		switch {
		case part == "":
			return errors.New("it has an empty part")
		case part != "*" && part != "**" && strings.Contains(part, "*"):
			return fmt.Errorf("%q contains *, which must be a whole part between slashes", part)
		}
	}
	return nil
}
