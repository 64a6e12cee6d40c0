// Package plural writes numbers with words in their right number.
package plural

import (
	"fmt"
	"strings"
)

// Number is any type of integer.
type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Count writes a number and a word, given for one: 1 run, 2 runs.
func Count[N Number](n N, one string) string { return fmt.Sprintf("%d %s", n, Word(n, one)) }

// Word is a word, given for one, as a number asks for it. Of several words the last one changes, or the one before "of": further properties, kinds of failure.
func Word[N Number](n N, one string) string {
	if n == 1 {
		return one
	}
	return many(one)
}

// Verb chooses between the two forms of a verb: was and were.
func Verb[N Number](n N, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

func many(word string) string {
	const vowels = "aeiou"
	if head, of, is := strings.Cut(word, " of "); is {
		return many(head) + " of " + of
	}
	switch {
	case strings.HasSuffix(word, "y") && len(word) > 1 && !strings.ContainsRune(vowels, rune(word[len(word)-2])):
		return word[:len(word)-1] + "ies"
	case strings.HasSuffix(word, "s"), strings.HasSuffix(word, "x"), strings.HasSuffix(word, "ch"), strings.HasSuffix(word, "sh"):
		return word + "es"
	}
	return word + "s"
}
