package config

import (
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
)

// Locate makes Errors of what the machine lacks, at the places where the configuration asks for it.
func (r *Result) Locate(mistakes engine.Mistakes) source.Errors {
	var errs []*source.Error
	for _, m := range mistakes {
		errs = append(errs, r.mistake(load.Place{Node: m.Node, Part: m.Part, Name: m.Name}, m.Place(), m.Problem, m.Remedy))
	}
	return source.Sort(errs, r.files)
}

// Mistake is an Error about the value of output.dir or debug.trace_file.
func (r *Result) Mistake(key, problem, remedy string) *source.Error {
	return r.mistake(load.Place{Part: engine.Part(key)}, key, problem, remedy)
}

// mistake is an Error where a part was written, or else about the file as a whole, with words for the part.
func (r *Result) mistake(p load.Place, words, problem, remedy string) *source.Error {
	at, ok := r.places[p]
	if !ok {
		p.Name = ""
		at, ok = r.places[p]
	}
	if !ok {
		return &source.Error{File: r.File, Message: words + ": " + problem, Remedy: remedy}
	}
	return at.Mistake(at.Key+": "+problem, remedy)
}
