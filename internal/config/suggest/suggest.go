// Package suggest finds the word that a user meant.
package suggest

import (
	"slices"
	"strconv"
	"strings"
)

// Nearest returns the first of the words that differ least from what was written, or nothing.
func Nearest(written string, words []string) string {
	if near := nearest(written, words); len(near) > 0 {
		return near[0]
	}
	return ""
}

// nearest returns the words that differ least from what was written, or else the only one that begins with it and continues after an underscore.
func nearest(written string, words []string) (best []string) {
	least := max(1, min(3, len(written)/3))
	for _, w := range words {
		d := Distance(strings.ToLower(written), strings.ToLower(w))
		if d > least || d >= max(len(w), len(written)) {
			continue
		}
		if d < least {
			best, least = nil, d
		}
		best = append(best, w)
	}
	if len(best) > 0 {
		return best
	}
	longer := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, strings.ToLower(written)+"_") })
	if len(longer) == 1 {
		return longer
	}
	return nil
}

// maxWordCompared bounds the words that distance compares, since its time is quadratic.
const maxWordCompared = 64

// Distance counts the insertions, deletions, replacements and swaps of neighbours between two words (optimal string
// alignment, a restricted form of Damerau, CACM 1964).
func Distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > maxWordCompared || len(y) > maxWordCompared {
		return maxWordCompared
	}
	two, one := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			swap := 1
			if x[i-1] == y[j-1] {
				swap = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+swap)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one = one, row
	}
	return one[len(y)]
}

// maxNamed bounds the equally near words of a remedy; more of them are no help.
const maxNamed = 3

// Remedy returns the remedy for an unknown word: the similar words, or else all known ones.
func Remedy(written string, words []string) string {
	if near := nearest(written, words); len(near) > 0 && len(near) <= maxNamed {
		for i := range near {
			near[i] = strconv.Quote(near[i])
		}
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	switch len(words) {
	case 0:
		return "none are defined"
	case 1:
		return "the only one is " + words[0]
	}
	return "use one of " + strings.Join(words, ", ")
}
