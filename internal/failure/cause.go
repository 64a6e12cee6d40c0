// Package failure identifies failures. A cause has a code and canonical fields; the signature and the id follow from these, never from
// prose. The package also names the run that shows a failure, and its headline.
package failure

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Code names a way in which a run can be wrong, as CHECK/CAUSE. Each check declares its own codes. Ids of failures come from codes, so a
// code never changes; the words for people may.
type Code string

var declared = map[Code]bool{}

// Declare adds a code to the table. Call it for package variables only.
func Declare(code Code) Code {
	if declared[code] {
		panic(fmt.Sprintf("failure: code %s is declared twice", code))
	}
	declared[code] = true
	return code
}

// Codes lists all declared codes, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(declared)) }

// Cause returns a cause with this code and the fields that tell it from others with the code: names and messages from programs,
// users and specifications, such as an operation, a node, or the text of a panic. It removes the parts that vary between tapes.
func (c Code) Cause(fields ...string) Cause {
	if !declared[c] {
		panic(fmt.Sprintf("failure: code %q is not declared", c))
	}
	cause := Cause{Code: c}
	for _, f := range fields {
		cause.Fields = append(cause.Fields, normalise(f))
	}
	return cause
}

// Cause explains to programs why a property is violated.
type Cause struct {
	Code   Code     `json:"code"`
	Fields []string `json:"fields,omitempty"`
}

// Claim returns the cause in words for people.
func (c Cause) Claim(format string, args ...any) Claim { return Claim{c, fmt.Sprintf(format, args...)} }

// Claim is a cause in words.
type Claim struct {
	Cause
	Words string
}

// MaxSignatureBytes bounds a signature.
const MaxSignatureBytes = 300

// Signature names a kind of failure of a test: the property, and the cause. Two runs with equal signatures count as one failure.
func Signature(property string, c Cause) string {
	s := property + ": " + string(c.Code)
	if len(c.Fields) > 0 {
		s += " (" + strings.Join(c.Fields, " | ") + ")"
	}
	return s[:min(len(s), MaxSignatureBytes)]
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
