package explore

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check"
)

// MaxSignatureBytes bounds a signature.
const MaxSignatureBytes = 300

// Signature names a kind of failure: the property and its reason (or, without one, the first line of evidence),
// with everything that varies from tape to tape taken out. Two runs with equal signatures count as one failure.
func Signature(v check.Verdict) string {
	text := v.Reason
	if text == "" && len(v.Evidence) > 0 {
		text = v.Evidence[0]
	}
	s := v.Property + ": " + normalise(text)
	if len(s) > MaxSignatureBytes {
		s = s[:MaxSignatureBytes]
	}
	return s
}

// stale are the ends of reasons that one lost or delayed write has: whether a read finds an older value or none is decided by the operations before it.
var stale = regexp.MustCompile(`(: a \S+ by client \S+) (returned "\.\.\."\S*( \(# bytes\))?, which was no longer the value|found nothing, although the key was there)$`)

// Alike reports whether two signatures are of one kind of failure: they are equal, or two forms of one. A run that has changed may show the other form.
func Alike(a, b string) bool {
	if a == b {
		return true
	}
	x, y := stale.FindStringSubmatchIndex(a), stale.FindStringSubmatchIndex(b)
	return x != nil && y != nil && a[:x[3]] == b[:y[3]]
}

// FailureID is the short name of a signature, for files and commands.
func FailureID(signature string) string {
	sum := sha256.Sum256([]byte(signature))
	return hex.EncodeToString(sum[:6])
}

// normalise writes # for every word that has a digit in it (numbers, times, addresses, keys, values), "..." for
// what is quoted, and single spaces.
func normalise(text string) string {
	var b strings.Builder
	for _, word := range strings.Fields(unquote(text)) {
		core := strings.Trim(word, ".,;:()[]{}")
		if strings.ContainsAny(core, "0123456789") {
			word = strings.Replace(word, core, "#", 1)
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	return b.String()
}

// quoted is a text in double quotes, in which a backslash takes away the meaning of what follows; or one that was cut short.
var quoted = regexp.MustCompile(`(?s)"(?:[^"\\]|\\.)*(?:"|\\?\.\.\.$)`)

// unquote replaces every double-quoted text by "...".
func unquote(text string) string {
	if !strings.Contains(quoted.ReplaceAllLiteralString(text, ""), `"`) {
		return quoted.ReplaceAllLiteralString(text, `"..."`)
	}
	parts := strings.Split(text, `"`)
	if len(parts)%2 == 0 {
		return text // quotes do not pair
	}
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "..."
	}
	return strings.Join(parts, `"`)
}
