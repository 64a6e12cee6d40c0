package syntax

import (
	"strings"
)

// ErrorAt is an error at a place of a file, with the line of its text.
func ErrorAt(file, text string, pos Pos, message string) *Error {
	return &Error{File: file, Pos: pos, Message: message, Line: Line(text, pos.Line)}
}

// Line is a line of a text, by its number from 1 on, without its end.
func Line(text string, n int) string {
	for ; n > 1; n-- {
		_, after, found := strings.Cut(text, "\n")
		if !found {
			return ""
		}
		text = after
	}
	text, _, _ = strings.Cut(text, "\n")
	return strings.TrimSuffix(text, "\r")
}
