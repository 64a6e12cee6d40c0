package config

import (
	"errors"
	"strings"
)

// envFile reads a file of variables: NAME=value or NAME alone a line, also after `export`; # begins a comment; values in
// single quotes are taken as they are; in double quotes \n, \r, \t, \", \\ and \$ mean what they do in C, and, as in
// unquoted values, variables are filled in, also those of earlier lines.
// (https://docs.docker.com/compose/how-tos/environment-variables/variable-interpolation/#env-file-syntax)
func (l *loader) envFile(name string, content []byte, lookup func(string) (string, bool)) []variable {
	f := &file{name: name, lines: strings.Split(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n")}
	var vars []variable
	own := map[string]string{}
	known := func(name string) (string, bool) {
		if v, ok := lookup(name); ok {
			return v, true
		}
		v, ok := own[name]
		return v, ok
	}
	for i, line := range f.lines {
		trimmed := strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(trimmed, "export"); ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
			trimmed = strings.TrimSpace(rest)
		}
		at := position{file: f, line: i + 1, column: firstColumn(line)}
		key, value, set := strings.Cut(trimmed, "=")
		key = strings.TrimSpace(key)
		if key == "" || strings.ContainsAny(key, " \t\x00\"'") {
			l.fail(at, "write NAME=value, or # before a comment", "this line is not a variable")
			continue
		}
		text, unset, err := envValue(value, known)
		if err != nil {
			l.fail(at, "quote values with special characters in single quotes", "%s: %v", key, err)
			continue
		}
		for _, name := range unset {
			l.note(at, key, "variable %s is not set, and counts as empty; quote the value in single quotes if a dollar sign is meant", name)
		}
		if set {
			own[key] = text
		}
		vars = append(vars, variable{key, text, set})
	}
	return vars
}

var escapes = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\$`, "$$")

func envValue(value string, lookup func(string) (string, bool)) (filled string, unset []string, err error) {
	value = strings.TrimSpace(value)
	if strings.Contains(value, "\x00") {
		return "", nil, errors.New("a value cannot hold the character 0")
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
	filled, unset, err = interpolate(value, lookup)
	if err == errDollar {
		return value, nil, nil // a lone dollar sign is itself here
	}
	return filled, unset, err
}
