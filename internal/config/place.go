package config

import (
	"strconv"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// place names a part of the Spec, or a key at the top of the configuration.
type place struct {
	node string
	part engine.Part
	name string
}

// location is where a part was written.
type location struct {
	position
	key string
}

// remember keeps where a part of the Spec was written, if it was.
func (l *loader) remember(p place, n *node, key string) {
	if n == nil {
		return
	}
	for n.kind == list && len(n.items) > 0 { // of a command, its first word
		n = n.items[0]
	}
	l.result.places[p] = location{n.position, key}
}

// rememberParts keeps where the parts of a node were written that a machine may lack.
func (l *loader) rememberParts(d *declared) {
	for _, part := range []struct {
		name engine.Part
		keys []string // the last one that is there counts
	}{
		{engine.PartCommand, []string{"command", "entrypoint"}},
		{engine.PartWorkingDir, []string{"working_dir"}},
		{engine.PartUser, []string{"user"}},
		{engine.PartRoot, []string{"root"}},
		{engine.PartVolume, []string{"tmpfs", "volumes"}},
	} {
		l.result.places[place{node: d.name, part: part.name}] = location{d.at, d.key}
		for _, key := range part.keys {
			l.remember(place{node: d.name, part: part.name}, d.value.get(key), d.key+"."+key)
		}
	}
	for i, hook := range d.value.get("post_start").list() {
		l.remember(place{d.name, engine.PartPostStart, strconv.Itoa(i)}, hook.get("command"), d.key+".post_start")
	}
	test := d.value.get("healthcheck").get("test")
	if words := test.list(); len(words) > 1 {
		test = words[1] // after CMD
	}
	l.remember(place{node: d.name, part: engine.PartHealthcheck}, test, d.key+".healthcheck.test")
}

// Locate makes Errors of what the machine lacks, at the places where the configuration asks for it.
func (r *Result) Locate(mistakes engine.Mistakes) Errors {
	var errs []*Error
	for _, m := range mistakes {
		errs = append(errs, r.mistake(place{m.Node, m.Part, m.Name}, m.Place(), m.Problem, m.Remedy))
	}
	return sortErrors(errs, r.files)
}

// Mistake is an Error about the value of output.dir or debug.trace_file.
func (r *Result) Mistake(key, problem, remedy string) *Error {
	return r.mistake(place{part: engine.Part(key)}, key, problem, remedy)
}

// mistake is an Error where a part was written, or else about the file as a whole, with words for the part.
func (r *Result) mistake(p place, words, problem, remedy string) *Error {
	at, ok := r.places[p]
	if !ok {
		p.name = ""
		at, ok = r.places[p]
	}
	if !ok {
		return &Error{File: r.File, Message: words + ": " + problem, Remedy: remedy}
	}
	return at.mistake(at.key+": "+problem, remedy)
}
