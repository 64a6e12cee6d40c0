package shell

import (
	"errors"
	"strings"
)

var escapes = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\$`, "$$")

// Value reads the value of a line NAME=value of a file of variables: quotes, escapes, comments, and variables.
func Value(value string, lookup func(string) (string, bool)) (filled string, unset []string, err error) {
	value = strings.TrimSpace(value)
	if strings.Contains(value, "\x00") {
		return "", nil, errors.New("a value cannot have a NUL character")
	}
	if value == "" {
		return "", nil, nil
	}
	if q := value[0]; q == '\'' || q == '"' {
		end := 1
		for end < len(value) && value[end] != q {
			if q == '"' && value[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(value) {
			return "", nil, errors.New("the quote is not closed on this line")
		}
		if rest := strings.TrimSpace(value[end+1:]); rest != "" && rest[0] != '#' {
			return "", nil, errors.New("text follows the closing quote")
		}
		if value = value[1:end]; q == '\'' {
			return value, nil, nil
		}
		value = escapes.Replace(value)
	} else if i := strings.Index(value, " #"); i >= 0 {
		value = strings.TrimSpace(value[:i])
	}
	filled, unset, err = Interpolate(value, lookup)
	if err == ErrDollar {
		return value, nil, nil // a lone dollar sign is itself here
	}
	return filled, unset, err
}
