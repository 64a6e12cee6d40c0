package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/frontend/dockerfile/shell"
)

// dockerfile is one that was read.
type dockerfile struct {
	name   string // for people
	path   string // on this machine, empty of one that is inline
	text   []byte
	meta   []instructions.ArgCommand
	stages []instructions.Stage
	fresh  [2][]instructions.Stage // as commands gives them
	lex    *shell.Lex
}

func parseDockerfile(name string, content []byte) (*dockerfile, error) {
	ast, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		return nil, located(name, err)
	}
	f := &dockerfile{name: name, text: content, lex: shell.NewLex(ast.EscapeToken)}
	if f.stages, f.meta, err = instructions.Parse(ast.AST, nil); err != nil {
		return nil, located(name, err)
	}
	if len(f.stages) == 0 {
		return nil, &Error{File: name, Text: "it has no FROM", Remedy: "begin with FROM and the image to start with, or FROM scratch"}
	}
	number := len(f.meta)
	for i := range f.stages {
		st := &f.stages[i]
		if number += 1 + len(st.Commands); number > maxInstructions {
			return nil, f.errorAt(st.Location, "split it into several images",
				"the stages up to this one have more than %d instructions, the limit", maxInstructions)
		}
	}
	return f, nil
}

// located gives an error of BuildKit's parser its place.
func located(name string, err error) error {
	e := &Error{File: name, Text: err.Error()}
	var at *parser.LocationError
	if errors.As(err, &at) && len(at.Locations) > 0 && len(at.Locations[0]) > 0 {
		e.Line = at.Locations[0][0].Start.Line
		e.Text = strings.TrimSpace(at.Unwrap().Error())
	}
	var unknown *instructions.UnknownInstructionError
	if errors.As(err, &unknown) {
		e.Line, e.Text = unknown.Line, "unknown instruction "+unknown.Instruction
	}
	if _, rest, ok := strings.Cut(e.Text, "parse error on line "); ok {
		if line, text, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(line); err == nil {
				e.Line, e.Text = n, text
			}
		}
	}
	e.Remedy = "see https://docs.docker.com/reference/dockerfile/ for the format"
	return e
}

// commands are the instructions of a stage, which no other code has expanded. They are given once for planning and once for doing.
func (f *dockerfile) commands(i int, do bool) ([]instructions.Command, error) {
	fresh := &f.fresh[0]
	if do {
		fresh = &f.fresh[1]
	}
	if *fresh == nil {
		again, err := parseDockerfile(f.name, f.text)
		if err != nil {
			return nil, err
		}
		*fresh = again.stages
	}
	commands := (*fresh)[i].Commands
	(*fresh)[i].Commands = nil
	return commands, nil
}

// target is the stage that is asked for.
func (f *dockerfile) target(name string) (int, error) {
	if name == "" {
		return len(f.stages) - 1, nil
	}
	if i := f.find(name, len(f.stages)); i >= 0 {
		return i, nil
	}
	var names []string
	for i := range f.stages {
		if n := f.stages[i].Name; n != "" {
			names = append(names, n)
		}
	}
	return 0, &Error{File: f.name, Text: fmt.Sprintf("unknown stage %q", name), Remedy: "the stages are " + strings.Join(names, ", ")}
}

// find is the stage of a name, or of a number, that is before another one; -1 is none.
func (f *dockerfile) find(name string, before int) int {
	for i := before - 1; i >= 0; i-- {
		if f.stages[i].Name != "" && strings.EqualFold(f.stages[i].Name, name) {
			return i
		}
	}
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < before {
		return i
	}
	return -1
}

// errorAt returns an error about the first line of some ranges.
func (f *dockerfile) errorAt(ranges []parser.Range, remedy, format string, args ...any) *Error {
	e := &Error{File: f.name, Text: fmt.Sprintf(format, args...), Remedy: remedy}
	if len(ranges) > 0 {
		e.Line = ranges[0].Start.Line
	}
	return e
}

// platformArgs are the arguments that each Dockerfile may declare without a value.
var platformArgs = []string{"BUILDPLATFORM=linux/amd64", "BUILDOS=linux", "BUILDARCH=amd64", "BUILDVARIANT=",
	"TARGETPLATFORM=linux/amd64", "TARGETOS=linux", "TARGETARCH=amd64", "TARGETVARIANT="}

// metaArgs are the variables that FROM lines know: those of ARG before the first of them.
func (w *work) metaArgs() ([]string, error) {
	if w.meta != nil {
		return w.meta, nil
	}
	env := append(slices.Clone(platformArgs), "TARGETSTAGE="+w.targetName())
	for i := range w.file.meta {
		c := w.file.meta[i]
		c.Args = slices.Clone(c.Args)
		known := w.scope(env)
		if err := c.Expand(func(word string) (string, error) { return w.word(word, known) }); err != nil {
			return nil, w.explain(err, c.Location(), "ARG")
		}
		for _, a := range c.Args {
			if v, ok := w.argument(a, env); ok {
				env = set(env, a.Key, v)
			}
		}
		if err := checkVariables(env); err != nil {
			return nil, w.explain(err, c.Location(), "ARG")
		}
	}
	w.meta = env
	return env, nil
}

func (w *work) targetName() string {
	if w.request.Target == "" {
		return "default"
	}
	return w.request.Target
}

// argument is the value of a declared argument: that of the request, its default, or what is known by its name before any FROM.
func (w *work) argument(a instructions.KeyValuePairOptional, known []string) (string, bool) {
	if v, ok := w.request.Args[a.Key]; ok {
		return v, true
	}
	if a.Value != nil {
		return *a.Value, true
	}
	return get(known, a.Key)
}

// get looks a variable up in NAME=value lines.
func get(env []string, name string) (string, bool) {
	for _, line := range env {
		if k, v, _ := strings.Cut(line, "="); k == name {
			return v, true
		}
	}
	return "", false
}

// set sets a variable in NAME=value lines, in its place, or at their end.
func set(env []string, name, value string) []string {
	for i, line := range env {
		if k, _, _ := strings.Cut(line, "="); k == name {
			env[i] = name + "=" + value
			return env
		}
	}
	return append(env, name+"="+value)
}

// digest returns a digest of parts in order.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(sum, "%d:%s", len(p), p)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// text is plain data as one text, the same for equal data.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
