package source

import (
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/shell"
)

// EnvFile reads a file of variables: NAME=value or NAME alone a line, also after `export`; # begins a comment; values in
// single quotes are taken as they are; in double quotes \n, \r, \t, \", \\ and \$ mean what they do in C, and, as in
// unquoted values, variables are filled in, also those of earlier lines.
// (https://docs.docker.com/compose/how-tos/environment-variables/variable-interpolation/#env-file-syntax)
func (r *Reader) EnvFile(name string, content []byte, lookup func(string) (string, bool)) []Variable {
	f := &File{Name: name, lines: strings.Split(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n")}
	var vars []Variable
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
		at := Position{File: f, Line: i + 1, Column: firstColumn(line)}
		key, value, set := strings.Cut(trimmed, "=")
		key = strings.TrimSpace(key)
		if key == "" || strings.ContainsAny(key, " \t\x00\"'") {
			r.Fail(at, "write NAME=value, or start a comment with #", "this line is not a variable")
			continue
		}
		text, unset, err := shell.Value(value, known)
		if err != nil {
			r.Fail(at, "put values with special characters in single quotes", "%s: %v", key, err)
			continue
		}
		for _, name := range unset {
			r.Note(at, key, "variable %s is not set, so it is empty; for a literal dollar sign put the value in single quotes", name)
		}
		if !r.Fill(at, text) {
			return vars
		}
		if set {
			own[key] = text
		}
		vars = append(vars, Variable{key, text, set})
	}
	return vars
}
