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
	return match(strings.Split(pattern, "/"), strings.Split(stream, "/"))
}

func match(p, s []string) bool {
	for len(p) > 0 {
		if p[0] == "**" {
			for i := 0; i <= len(s); i++ {
				if match(p[1:], s[i:]) {
					return true
				}
			}
			return false
		}
		if len(s) == 0 || p[0] != "*" && p[0] != s[0] {
			return false
		}
		p, s = p[1:], s[1:]
	}
	return len(s) == 0
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
		return fmt.Errorf("%q stands for nothing", pattern[i:i+1])
	}
	for _, part := range strings.Split(pattern, "/") {
		switch {
		case part == "":
			return errors.New("it has an empty part")
		case part != "*" && part != "**" && strings.Contains(part, "*"):
			return fmt.Errorf("%q is no whole part between slashes, and * stands for one", part)
		}
	}
	return nil
}
