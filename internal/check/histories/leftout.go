package histories

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// maxKeysShown bounds the keys that a line about what was left out names.
const maxKeysShown = 3

// KeyMatches reports whether patterns choose a key: one of them matches it, or there are only exclusions, and no exclusion
// matches. * stands for any text, ? for one character, and a leading ! excludes. No patterns choose every key.
func KeyMatches(patterns []string, key string) bool {
	chosen := true
	for _, p := range patterns {
		if !strings.HasPrefix(p, "!") {
			chosen = false
			break
		}
	}
	for _, p := range patterns {
		if excluded, ok := strings.CutPrefix(p, "!"); ok {
			if wildcardMatches(excluded, key) {
				return false
			}
			continue
		}
		chosen = chosen || wildcardMatches(p, key)
	}
	return chosen
}

// wildcardMatches compares a text with a pattern in which * stands for any text and ? for one character.
func wildcardMatches(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	star, resume := -1, 0 // the last * seen, and where in the text it ends for now
	i := 0
	for k := 0; k < len(t); {
		switch {
		case i < len(p) && p[i] == '*':
			star, resume = i, k
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[k]):
			i++
			k++
		case star >= 0:
			resume++
			i, k = star+1, resume
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// leftOut lists the parts of a history that a check does not judge: whole keys, because an operation on them has no
// model, and the keys and operations that the user left out by `keys` and `operations`.
type leftOut struct {
	keys map[string]omission
	// otherKeys are those that the user did not choose, with their operations.
	otherKeys map[string]int
	// otherOps counts operations that the user did not choose, by name; they are not of the model.
	otherOps map[string]int
}

// omission is why a key cannot be judged. Keys that cannot be judged for the same reason share a line of a report.
type omission struct {
	reason string
	detail string // what is wrong on this very key
	ops    int
}

func newLeftOut() leftOut {
	return leftOut{keys: map[string]omission{}, otherKeys: map[string]int{}, otherOps: map[string]int{}}
}

// chooses reports whether the user wants a key to be judged; it counts the operations on keys that are not wanted.
func (l *leftOut) chooses(c *world.Check, o *history.Operation) bool {
	if len(c.KeyPatterns) == 0 {
		return true
	}
	if n, seen := l.otherKeys[o.Key]; seen {
		l.otherKeys[o.Key] = n + 1
		return false
	}
	if KeyMatches(c.KeyPatterns, o.Key) {
		return true
	}
	l.otherKeys[o.Key] = 1
	return false
}

// judges reports whether a key is judged.
func (l *leftOut) judges(key string) bool {
	if len(l.keys) > 0 {
		if _, left := l.keys[key]; left {
			return false
		}
	}
	if len(l.otherKeys) > 0 {
		if _, left := l.otherKeys[key]; left {
			return false
		}
	}
	return true
}

// notice remembers the first operation without a model on each key that it may have changed.
func notice(strange map[string]*history.Operation, o *history.Operation) {
	for _, key := range touched(*o) {
		if strange[key] == nil {
			strange[key] = o
		}
	}
}

// foreign leaves out the keys that operations without a model may have changed, in the words of what they are. One without
// a key may have changed all keys.
func (l *leftOut) foreign(c *world.Check, strange map[string]*history.Operation, sizes map[string]int, what string, judged func(key string) bool) {
	for key, o := range strange {
		if !KeyMatches(c.KeyPatterns, key) {
			l.otherKeys[key] = max(sizes[key], 1)
			continue
		}
		reason := fmt.Sprintf(what, o.Op)
		l.keys[key] = omission{reason, fmt.Sprintf("%s, and it may have changed key %q at event %d", reason, key, o.Call), max(sizes[key], 1)}
	}
	everywhere := strange[""]
	if everywhere == nil {
		return
	}
	for key, n := range sizes {
		if key == "" || !judged(key) || strange[key] != nil {
			continue
		}
		reason := fmt.Sprintf(what+", and no key", everywhere.Op)
		detail := fmt.Sprintf("%s: it may have changed key %q at event %d; if it changes no key that is to be judged, list the operations to "+
			"judge in `operations`", reason, key, everywhere.Call)
		l.keys[key] = omission{reason, detail, n}
	}
}

// broken is why a key cannot be judged on which an operation has a result that its kind cannot have.
func broken(o *history.Operation, err error, ops int) omission {
	return omission{fmt.Sprintf("operation %q has an impossible input or result", o.Op),
		fmt.Sprintf("broken history: %s %q by client %s at event %d: %v", o.Op, o.Key, o.Client, o.Call, err), ops}
}

// any reports whether something cannot be judged, though the user did not leave it out.
func (l *leftOut) any() bool { return len(l.keys) > 0 }

// first explains one of the keys that cannot be judged: the first one that has a name.
func (l *leftOut) first() string {
	keys := slices.Sorted(maps.Keys(l.keys))
	if keys[0] == "" && len(keys) > 1 {
		keys = keys[1:]
	}
	return l.keys[keys[0]].detail
}

// unjudged returns why the keys that a property wants to be judged are not, or nothing. judged counts those that are.
// Without `keys`, what can be judged is enough; keys that the user names must all be judgeable.
func (l *leftOut) unjudged(c *world.Check, judged int) string {
	switch {
	case l.any() && judged == 0:
		return l.first()
	case l.any() && len(c.KeyPatterns) > 0:
		return l.first() + "; `keys` selects that key"
	case judged == 0 && len(l.otherKeys) > 0:
		return fmt.Sprintf("no key matches %s; there were %s", strings.Join(c.KeyPatterns, ", "),
			someKeys(slices.Sorted(maps.Keys(l.otherKeys))))
	}
	return ""
}

// blame finishes a verdict that what was judged proves too little: the run did too little, unless more could have been judged but for what was
// left out.
func (l *leftOut) blame(v *verdict.Verdict) {
	if l.any() {
		v.Reason = l.first() + "; of the other keys, " + v.Reason
		return
	}
	v.Idle = true
}

// lines describes the parts that were left out, one a line.
func (l *leftOut) lines() (list []string) {
	byReason := map[string][]string{}
	for key, o := range l.keys {
		byReason[o.reason] = append(byReason[o.reason], key)
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		keys := byReason[reason]
		slices.Sort(keys)
		ops := 0
		for _, key := range keys {
			ops += l.keys[key].ops
		}
		list = append(list, fmt.Sprintf("%s with %s: %s", someKeys(keys), counted(ops, "operation"), reason))
	}
	if len(l.otherKeys) > 0 {
		ops := 0
		for _, n := range l.otherKeys {
			ops += n
		}
		list = append(list, fmt.Sprintf("%s with %s, which `keys` does not select",
			someKeys(slices.Sorted(maps.Keys(l.otherKeys))), counted(ops, "operation")))
	}
	for _, op := range slices.Sorted(maps.Keys(l.otherOps)) {
		list = append(list, fmt.Sprintf("%s %q, which `operations` does not select", counted(l.otherOps[op], "operation"), op))
	}
	return list
}

// someKeys names a few keys, and counts the rest.
func someKeys(keys []string) string {
	var names []string
	for _, key := range keys[:min(len(keys), maxKeysShown)] {
		names = append(names, verdict.Shorten(key))
	}
	text := "key "
	if len(keys) != 1 {
		text = fmt.Sprintf("%d keys: ", len(keys))
	}
	text += strings.Join(names, ", ")
	if len(keys) > maxKeysShown {
		text += ", ..."
	}
	return text
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// maxNamesShown bounds the kinds of operations that a reason lists.
const maxNamesShown = 10

// Unseen reports operations that a check names and a history lacks. A history without operations proves no name wrong, so
// nothing is reported of it. there has the names of all operations that began.
func Unseen(names []string, there map[string]bool) string {
	if len(there) == 0 {
		return ""
	}
	seen := slices.Sorted(maps.Keys(there))
	for _, name := range names {
		if slices.ContainsFunc(seen, func(op string) bool { return strings.EqualFold(name, op) }) {
			continue
		}
		more := ""
		if n := len(seen) - maxNamesShown; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		return fmt.Sprintf("no operation %q was seen; there were %s%s", name, strings.Join(seen[:min(len(seen), maxNamesShown)], ", "), more)
	}
	return ""
}

func joined[T ~string](words []T) string {
	var list []string
	for _, w := range words {
		list = append(list, string(w))
	}
	return strings.Join(list, ", ")
}
