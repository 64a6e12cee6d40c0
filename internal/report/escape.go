package report

import (
	"html"

	"github.com/bloodhound-dst/bloodhound/internal/printable"
)

// Visible makes one line of bounded length of a text that a program wrote.
func Visible(text string, runes int) string { return printable.Line(text, runes) }

// Printable makes a text that a program wrote safe for a terminal.
func Printable(text string) string { return printable.Text(text) }

// markup is a visible text inside HTML or SVG.
func markup(text string, runes int) string { return html.EscapeString(Visible(text, runes)) }
