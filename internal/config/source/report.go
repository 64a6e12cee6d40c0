package source

import (
	"fmt"
	"strings"
)

// Note is a remark about one key.
type Note struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Key  string `json:"key"` // such as debug.gdb_port
	Text string `json:"text"`
	// Idle says that the key has no effect.
	Idle bool `json:"idle,omitempty"`
}

func (n Note) String() string { return fmt.Sprintf("%s:%d: %s: %s", n.File, n.Line, n.Key, n.Text) }

// Fail adds a mistake.
func (r *Reader) Fail(at Position, remedy, format string, args ...any) {
	r.Errs = append(r.Errs, at.Mistake(fmt.Sprintf(format, args...), remedy))
}

// Mistake makes an Error about a position.
func (at Position) Mistake(message, remedy string) *Error {
	e := &Error{Message: message, Remedy: remedy, Line: at.Line, Column: at.Column}
	if at.File != nil {
		e.File = at.File.Name
		if at.Line > 0 && at.Line <= len(at.File.lines) {
			e.Source = at.File.lines[at.Line-1]
		}
		if names := at.File.Unset[at.Spot()]; len(names) > 0 {
			e.Message += fmt.Sprintf(" (unset variables, which are empty: %s)", strings.Join(names, ", "))
			e.Remedy = SetRemedy(names) + "; otherwise: " + e.Remedy
		}
	}
	return e
}

// Missing complains about a key that a mapping must have.
func (r *Reader) Missing(n *Node, key, remedy, format string, args ...any) {
	if n != nil && !n.Has(key) && !n.Incomplete {
		r.Fail(n.Position, remedy, format, args...)
	}
}

// Note adds a note about a key.
func (r *Reader) Note(at Position, key, format string, args ...any) {
	r.Notes = append(r.Notes, Note{File: at.File.Name, Line: at.Line, Key: key, Text: fmt.Sprintf(format, args...)})
}

// Idle adds the note of a key that is accepted without an effect.
func (r *Reader) Idle(at Position, key, why string) {
	if r.Surveying {
		return
	}
	r.NoteIdle(at, key, why)
}

// NoteIdle is Idle, also while the files are surveyed.
func (r *Reader) NoteIdle(at Position, key, why string) {
	r.Note(at, key, "accepted, no effect here: %s", why)
	r.Notes[len(r.Notes)-1].Idle = true
}
