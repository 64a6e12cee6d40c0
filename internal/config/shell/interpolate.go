// Package shell has what configurations take from shells: variables in texts, values with quotes, and the words of a command line.
package shell

import (
	"errors"
	"fmt"
	"strings"
)

// maxNesting bounds defaults inside defaults: ${A:-${B:-...}}.
const maxNesting = 16

// MaxBytes bounds a text with its variables filled in: a variable may hold others many times.
const MaxBytes = 4 << 20

var (
	ErrDollar = errors.New("a dollar sign without a variable")
	ErrLong   = fmt.Errorf("more than %d MiB after its variables are filled in", MaxBytes>>20)
)

// Interpolate fills variables into a text with Compose's rules: $NAME and ${NAME}; ${NAME:-default} where NAME is unset
// or empty and ${NAME-default} where it is unset; ${NAME:?message} and ${NAME?message}, which are errors then;
// ${NAME:+text} and ${NAME+text} where it is set; and $$ for a dollar sign. Values may hold variables themselves.
// Variables that are unset and have no default count as empty and are returned.
// (https://docs.docker.com/reference/compose-file/interpolation/)
func Interpolate(text string, lookup func(string) (string, bool)) (filled string, unset []string, err error) {
	in := &interpolation{lookup: lookup}
	filled, rest, err := in.run(text, 0)
	if err == nil && rest != "" {
		panic("config: interpolation stopped before the end")
	}
	return filled, in.unset, err
}

type interpolation struct {
	lookup func(string) (string, bool)
	unset  []string
}

// run fills in a text; inside braces (depth above 0) it ends before the brace that closes them.
func (in *interpolation) run(text string, depth int) (filled, rest string, err error) {
	var b strings.Builder
	for text != "" {
		if depth > 0 && text[0] == '}' {
			return b.String(), text, nil
		}
		if text[0] != '$' {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		text = text[1:]
		name := variableName(text)
		switch {
		case strings.HasPrefix(text, "$"):
			b.WriteByte('$')
			text = text[1:]
		case strings.HasPrefix(text, "{"):
			value, after, err := in.braces(text[1:], depth+1)
			if err != nil {
				return "", "", err
			}
			if b.Len()+len(value) > MaxBytes {
				return "", "", ErrLong
			}
			b.WriteString(value)
			text = after
		case name != "":
			value := in.plain(name)
			if b.Len()+len(value) > MaxBytes {
				return "", "", ErrLong
			}
			b.WriteString(value)
			text = text[len(name):]
		default:
			return "", "", ErrDollar
		}
	}
	return b.String(), "", nil
}

func (in *interpolation) plain(name string) string {
	v, ok := in.lookup(name)
	if !ok {
		in.unset = append(in.unset, name)
	}
	return v
}

// braces fills in what follows "${" and returns what follows the closing brace.
func (in *interpolation) braces(text string, depth int) (value, rest string, err error) {
	if depth > maxNesting {
		return "", "", fmt.Errorf("more than %d nested variables", maxNesting)
	}
	name := variableName(text)
	if name == "" {
		return "", "", ErrDollar
	}
	text = text[len(name):]
	if strings.HasPrefix(text, "}") {
		return in.plain(name), text[1:], nil
	}
	emptyCounts := strings.HasPrefix(text, ":")
	text = strings.TrimPrefix(text, ":")
	if text == "" || !strings.Contains("-?+", text[:1]) {
		return "", "", fmt.Errorf("${%s is not followed by }, :-, -, :?, ?, :+ or +", name)
	}
	op := text[0]
	before := len(in.unset)
	word, rest, err := in.run(text[1:], depth)
	if err != nil {
		return "", "", err
	}
	if !strings.HasPrefix(rest, "}") {
		return "", "", fmt.Errorf("${%s has no closing brace", name)
	}
	rest = rest[1:]
	v, ok := in.lookup(name)
	there := ok && (v != "" || !emptyCounts)
	wordUsed := op == '+' && there || op == '-' && !there
	if !wordUsed {
		in.unset = in.unset[:before] // variables of a text that is not used
	}
	switch {
	case op == '?' && !there:
		if word == "" {
			word = "a value is required"
		}
		return "", "", fmt.Errorf("variable %s is not set: %s", name, word)
	case op == '+' && !there:
		return "", rest, nil
	case wordUsed:
		return word, rest, nil
	}
	return v, rest, nil
}

// variableName is the name at the start of a text, or empty.
func variableName(text string) string {
	for i := 0; i < len(text); i++ {
		c := text[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return text[:i]
		}
	}
	return text
}

// LookupIn finds variables in an environment.
func LookupIn(env map[string]string) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}
