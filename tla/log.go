package tla

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// logs are the files of JSON values that a specification reads. What was read before is the same value, as long as the file has not changed.
type logs struct {
	sync.Mutex
	environment map[string]string // what IOEnv shows besides the environment of the process
	instead     string            // a file that is read in place of the one that the specification names; empty: none
	named       string            // that one
	read        []*recording
}

// recording is a log with the lines on which its items begin.
type recording struct {
	file  string
	text  []byte
	items *value.Tuple
	lines []int
	line  map[value.Value]int // of items that are told apart by their addresses
}

// file reads a log, if that was not done before.
func (l *logs) file(name string) *recording {
	l.Lock()
	defer l.Unlock()
	if l.instead != "" && name != l.instead {
		if l.named == "" {
			l.named = name
		}
		if l.named != name {
			value.Fail("the specification reads the logs %q and %q, and one is given: let it take their names from IOEnv, and give each by --env", l.named, name)
		}
		name = l.instead
	}
	text, err := os.ReadFile(name)
	if err != nil {
		value.Fail("%v", err)
	}
	for _, r := range l.read {
		if r.file == name && bytes.Equal(r.text, text) {
			return r
		}
	}
	r := readJSON(name, text)
	l.read = append(l.read, r)
	return r
}

// lineOf finds the line of the log on which an item stands; 0 if it is none of a log.
func (l *logs) lineOf(item value.Value) (*recording, int) {
	for _, r := range l.read {
		if n := r.line[item]; n > 0 {
			return r, n
		}
	}
	return nil, 0
}

// readJSON reads all JSON values of a file's text. What is wrong in it is told with its line.
func readJSON(name string, text []byte) *recording {
	r := &recording{file: name, text: text, line: map[value.Value]int{}}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var items []value.Value
	from, n := 0, 1 // n is the line at from
	lineAt := func(offset int) int {
		offset = max(min(offset, len(text)), from)
		n, from = n+bytes.Count(text[from:offset], []byte("\n")), offset
		return n
	}
	for {
		begin := int(d.InputOffset())
		for begin < len(text) && bytes.IndexByte([]byte(" \t\r\n"), text[begin]) >= 0 {
			begin++
		}
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		var wrong *json.SyntaxError
		switch {
		case errors.As(err, &wrong):
			at := int(wrong.Offset) - 1
			r.fail(lineAt(at), at-1-bytes.LastIndexByte(text[:min(max(at, 0), len(text))], '\n'), err)
		case errors.Is(err, io.ErrUnexpectedEOF):
			r.fail(lineAt(begin), -1, errors.New("this JSON value has no end"))
		case err != nil:
			r.fail(lineAt(begin), -1, err)
		}
		at := lineAt(begin)
		item := ofJSON(v, name, at)
		items, r.lines = append(items, item), append(r.lines, at)
		switch item.(type) {
		case *value.Record, *value.Function, *value.Tuple:
			r.line[item] = at
		}
	}
	r.items = value.NewTuple(items)
	return r
}

// fail ends the evaluation with the place of a mistake in the log, and a caret under it. The column counts bytes from 0 on; -1 if it is not known.
func (r *recording) fail(line, column int, err error) {
	place := fmt.Sprintf("%s:%d", r.file, line)
	text := r.lineText(line)
	if column >= 0 {
		place += fmt.Sprintf(":%d", column+1)
		begin := max(0, min(column, len(text))-60)
		text = text[begin:]
		text = text[:min(len(text), 120)] + "\n" + strings.Repeat(" ", column-begin) + "^"
	} else {
		text = text[:min(len(text), 120)]
	}
	text = strings.Map(func(r rune) rune { // nothing that a terminal would obey
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, text)
	value.Fail("%s: %v\n%s", place, err, text)
}

func (r *recording) lineText(n int) string { return line(string(r.text), n) }

// named finds the variables of the environment that the name of the log depends on: those that stand in what ndJsonDeserialize and its kin are given, or in
// definitions that this uses.
func (l *loader) named() []string {
	bodies := map[string]syntax.Expr{}
	var all []syntax.Expr
	var units func(list []syntax.Unit)
	units = func(list []syntax.Unit) {
		for _, u := range list {
			switch u := u.(type) {
			case *syntax.Operator:
				bodies[u.Text] = u.Body
				all = append(all, u.Body)
			case *syntax.Function:
				all = append(all, u.Body)
			case syntax.Assumption:
				all = append(all, u.Body)
			case *syntax.Module:
				units(u.Units)
			}
		}
	}
	for _, p := range l.parsed {
		units(p.tree.Units)
	}
	for i := 0; i < len(all); i++ { // definitions within LET are added on the way
		syntax.Inspect(all[i], func(e syntax.Expr) bool {
			if let, ok := e.(*syntax.Let); ok {
				units(let.Units)
			}
			return true
		})
	}
	var names []string
	seen := map[string]bool{}
	var in func(e syntax.Expr)
	in = func(e syntax.Expr) {
		syntax.Inspect(e, func(e syntax.Expr) bool {
			switch x := e.(type) {
			case *syntax.Field:
				if environmental(x.Record) {
					names = append(names, x.Name)
				}
			case *syntax.Index:
				if s, ok := x.Args[0].(*syntax.String); ok && environmental(x.Function) {
					names = append(names, s.Text)
				}
			case *syntax.Apply:
				if body := bodies[x.Name]; body != nil && !seen[x.Name] {
					seen[x.Name] = true
					in(body)
				}
			}
			return true
		})
	}
	for _, e := range all {
		syntax.Inspect(e, func(e syntax.Expr) bool {
			if a, ok := e.(*syntax.Apply); ok && len(a.Args) == 1 && (a.Name == "ndJsonDeserialize" || a.Name == "JsonDeserialize") {
				in(a.Args[0])
			}
			return true
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func environmental(e syntax.Expr) bool {
	a, ok := e.(*syntax.Apply)
	return ok && a.Name == "IOEnv"
}

// giveLog lets a specification read a log: by the variables of the environment that its name depends on, or else in place of the file that it names.
func (l *loader) giveLog(config *Config) {
	l.logs.environment = map[string]string{}
	if config.Log != "" {
		names := l.named()
		for _, n := range names {
			l.logs.environment[n] = config.Log
		}
		if len(names) == 0 {
			l.logs.instead = config.Log
		}
	}
	for n, v := range config.Environment {
		l.logs.environment[n] = v
	}
}

// shown is IOEnv: the variables of the environment as a record.
func (l *logs) shown() value.Value {
	all := map[string]string{}
	for _, e := range os.Environ() {
		name, v, _ := strings.Cut(e, "=")
		if _, ok := all[name]; !ok && name != "" {
			all[name] = v
		}
	}
	for name, v := range l.environment {
		all[name] = v
	}
	var names, values []value.Value
	for name, v := range all {
		names, values = append(names, value.Text(name)), append(values, value.Text(v))
	}
	return value.FunctionOf(names, values)
}
