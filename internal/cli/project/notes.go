package project

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/cli/console"
	"github.com/bloodhound-dst/bloodhound/internal/config"
)

// remark is one thing that a file's notes say, with all keys that it is said of.
type remark struct {
	file, text string
	idle       bool
	notes      []config.Note
}

// remarks gathers notes that say the same of several keys of a file: each service of a Compose file may have the key.
func remarks(notes []config.Note) []remark {
	var all []remark
	for _, n := range notes {
		same := slices.IndexFunc(all, func(r remark) bool { return r.file == n.File && r.text == n.Text })
		if same < 0 {
			same = len(all)
			all = append(all, remark{file: n.File, text: n.Text, idle: n.Idle})
		}
		all[same].notes = append(all[same].notes, n)
	}
	return all
}

// moreShown bounds the further places of a remark that are listed.
const moreShown = 8

func (r *remark) String() string {
	text := r.notes[0].String()
	var more []string
	for _, n := range r.notes[1:min(len(r.notes), moreShown+1)] {
		more = append(more, fmt.Sprintf("%s on line %d", n.Key, n.Line))
	}
	if rest := len(r.notes) - 1 - len(more); rest > 0 {
		more = append(more, fmt.Sprintf("%d more", rest))
	}
	if len(more) > 0 {
		text += " (also " + strings.Join(more, ", ") + ")"
	}
	return text
}

// Notes prints what a configuration says of its keys, in full.
func Notes(a *console.App, notes []config.Note) {
	for _, r := range remarks(notes) {
		a.Note("note: %s", &r)
	}
}

// briefNotes prints the notes of a configuration that is run again and again: keys without effect are one line for a file.
// arguments name the project for the command that prints them all.
func briefNotes(a *console.App, notes []config.Note, arguments string) {
	idle := map[string][]remark{} // by file
	var all []remark
	for _, r := range remarks(notes) {
		if r.idle {
			idle[r.file] = append(idle[r.file], r)
		}
		all = append(all, r)
	}
	for _, r := range all {
		of := idle[r.file]
		switch {
		case !r.idle || len(of) == 1:
			a.Note("note: %s", &r)
		case of[0].text == r.text: // the first of them stands for all
			a.Note("note: %s: these keys have no effect here: %s; `bloodhound config%s` shows where and why",
				r.file, strings.Join(lastParts(of), ", "), arguments)
		}
	}
}

// lastParts names the keys of remarks without the services that have them, each once.
func lastParts(remarks []remark) []string {
	var names []string
	for _, r := range remarks {
		for _, n := range r.notes {
			names = append(names, n.Key[strings.LastIndexByte(n.Key, '.')+1:])
		}
	}
	slices.SortFunc(names, cmp.Compare)
	return slices.Compact(names)
}
