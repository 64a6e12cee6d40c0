// Package failure says what a failure is: its cause by a code, the signature and the id that follow from that, the run that shows it, and its headline.
// Ids never depend on prose.
package failure

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Code names what can be wrong with a run, as CHECK/CAUSE. The checks declare theirs, each next to what it judges. Ids of failures come from codes, so
// a code stays as it is; the words for people may change.
type Code string

var declared = map[Code]bool{}

// Declare adds a code to the table of all codes. It is for variables of packages.
func Declare(code Code) Code {
	if declared[code] {
		panic(fmt.Sprintf("failure: code %s is declared twice", code))
	}
	declared[code] = true
	return code
}

// Codes are all that this program knows, in order.
func Codes() []Code { return slices.Sorted(maps.Keys(declared)) }

// Of is a cause with the fields that tell it from others of its code. Fields are what programs, users and specifications are called and say, such as an
// operation, a node, or the message of a panic. What varies from tape to tape is taken out of them.
func (c Code) Of(fields ...string) Cause {
	if !declared[c] {
		panic(fmt.Sprintf("failure: code %q is not declared", c))
	}
	cause := Cause{Code: c}
	for _, f := range fields {
		cause.Fields = append(cause.Fields, normalise(f))
	}
	return cause
}

// Cause is why a property is violated, for programs.
type Cause struct {
	Code   Code     `json:"code"`
	Fields []string `json:"fields,omitempty"`
}

// Say adds the words for people.
func (c Cause) Say(format string, args ...any) Claim { return Claim{c, fmt.Sprintf(format, args...)} }

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
