// Package ndjson reads the logs of JSON values that a specification goes through, and keeps the line on which each value is.
package ndjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
	"github.com/bloodhound-dst/bloodhound/internal/tla/syntax"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Logs are the files of JSON values that a specification reads, and its environment. What was read before is the same value, as
// long as the file has not changed.
type Logs struct {
	sync.Mutex
	environment map[string]string // what IOEnv shows besides the environment of the process
	instead     string            // a file that is read in place of the one that the specification names; empty: none
	named       string            // that one
	Opened      []*Log
	modules     []*syntax.Module // of the specification
}

// Log is a log with the lines on which its items begin.
type Log struct {
	File  string
	text  []byte
	Items *value.Tuple
	Lines []int
	line  map[value.Value]int // of items, by their addresses
}

// Open reads a log, if that was not done before.
func (l *Logs) Open(name string) *Log {
	l.Lock()
	defer l.Unlock()
	if l.instead != "" && name != l.instead {
		if l.named == "" {
			l.named = name
		}
		if l.named != name {
			value.Fail("the specification reads the logs %q and %q, and one is given: let it take their names from IOEnv, and give each by --env",
				l.named, name)
		}
		name = l.instead
	}
	text, err := os.ReadFile(name)
	if err != nil {
		value.Fail("%v", err)
	}
	for _, r := range l.Opened {
		if r.File == name && bytes.Equal(r.text, text) {
			return r
		}
	}
	r := readJSON(name, text)
	l.Opened = append(l.Opened, r)
	return r
}

// LineOf finds the line of the log on which an item is; 0 if it is none of a log.
func (l *Logs) LineOf(item value.Value) (*Log, int) {
	for _, r := range l.Opened {
		if n := r.line[item]; n > 0 {
			return r, n
		}
	}
	return nil, 0
}

// readJSON reads all JSON values of a file's text. Mistakes are reported with their line.
func readJSON(name string, text []byte) *Log {
	r := &Log{File: name, text: text, line: map[value.Value]int{}}
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
			if end := r.lineBefore(at); end > begin && (text[at] == '{' || strings.Contains(err.Error(), " after ")) {
				at, err = end, fmt.Errorf("this line does not end the JSON value that stands here, and the next line does not go on with it: %w", err)
			}
			r.failAt(at, err)
		case errors.Is(err, io.ErrUnexpectedEOF):
			r.fail(lineAt(begin), -1, errors.New("this JSON value has no end"))
		case err != nil:
			r.fail(lineAt(begin), -1, err)
		}
		var twice *strictjson.Twice
		if errors.As(strictjson.Unique(text[begin:d.InputOffset()]), &twice) {
			r.failAt(begin+twice.Offset, fmt.Errorf("the key %q stands twice in an object", twice.Key))
		}
		at := lineAt(begin)
		item := r.ofJSON(v, at, begin, int(d.InputOffset()))
		items, r.Lines = append(items, item), append(r.Lines, at)
		switch item.(type) {
		case *value.Record, *value.Function, *value.Tuple:
			r.line[item] = at
		}
	}
	r.Items = value.NewTuple(items)
	return r
}

// lineBefore is the end of what is on the lines before an offset, if that is the first on its line; -1 if it is not.
func (r *Log) lineBefore(at int) int {
	if at < 0 || at >= len(r.text) {
		return -1
	}
	before := bytes.TrimRight(r.text[:at], " \t\r\n")
	if bytes.IndexByte(r.text[len(before):at], '\n') < 0 {
		return -1
	}
	return len(before)
}

// ofJSON is the counterpart of a JSON value in a part of the text, which begins on a line.
func (r *Log) ofJSON(v any, line, begin, end int) value.Value {
	switch x := v.(type) {
	case bool:
		return value.Bool(x)
	case string:
		return value.Text(x)
	case json.Number:
		n, err := r.number(x, line)
		if err != nil {
			r.failOf(x.String(), begin, end, err)
		}
		return n
	case []any:
		items := make([]value.Value, len(x))
		for i, e := range x {
			items[i] = r.ofJSON(e, line, begin, end)
		}
		return value.NewTuple(items)
	case map[string]any:
		names, values := make([]value.Value, 0, len(x)), make([]value.Value, 0, len(x))
		for name, e := range x {
			names, values = append(names, value.Text(name)), append(values, r.ofJSON(e, line, begin, end))
		}
		return value.FunctionOf(names, values)
	}
	r.failOf("null", begin, end, errors.New("null has no counterpart in TLA+: leave it out of the log"))
	return nil
}

// number is an integer if no digit is lost, as of 4, 4.0 or 4e2. TLC leaves out the digits behind the point, and so takes 4.5 for 4: a log would be accepted
// that says otherwise.
func (r *Log) number(x json.Number, line int) (value.Value, error) {
	if i, err := x.Int64(); err == nil {
		return value.Int(i), nil
	}
	_, exponent, _ := strings.Cut(strings.ToLower(x.String()), "e")
	if len(exponent) > 4 { // it would be a number of thousands of digits
		return nil, fmt.Errorf("%s is not a 64-bit integer", x)
	}
	n, ok := new(big.Rat).SetString(x.String())
	switch {
	case !ok || n.IsInt() && !n.Num().IsInt64():
		return nil, fmt.Errorf("%s is not a 64-bit integer", x)
	case !n.IsInt():
		return value.NewFraction(n, x.String(), fmt.Sprintf("%s:%d", r.File, line)), nil
	}
	return value.Int(n.Num().Int64()), nil
}

// Empty is the error of a log that nothing can be said of.
func (r *Log) Empty() error {
	return fmt.Errorf("%s is empty: it has no item that a behavior could go through", r.File)
}

// failOf ends the evaluation with a mistake whose text is in a part of the log. If it is there more than once, the place is where the part begins.
func (r *Log) failOf(wrong string, begin, end int, err error) {
	if part := r.text[begin:end]; bytes.Count(part, []byte(wrong)) == 1 {
		r.failAt(begin+bytes.Index(part, []byte(wrong)), err)
	}
	r.fail(1+bytes.Count(r.text[:begin], []byte("\n")), -1, err)
}

// failAt ends the evaluation with a mistake at an offset of the log.
func (r *Log) failAt(at int, err error) {
	before := r.text[:min(max(at, 0), len(r.text))]
	r.fail(1+bytes.Count(before, []byte("\n")), len(before)-1-bytes.LastIndexByte(before, '\n'), err)
}

// fail ends the evaluation with the place of a mistake in the log, and a caret under it. The column counts bytes from 0 on; -1 if it is not known.
func (r *Log) fail(line, column int, err error) {
	place := fmt.Sprintf("%s:%d", r.File, line)
	text := r.LineText(line)
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

// LineText is a line of the file, by its number from 1 on.
func (r *Log) LineText(n int) string { return syntax.Line(string(r.text), n) }

// named finds the variables of the environment that the name of the log depends on: those that stand in what ndJsonDeserialize and its kin are given, or in
// definitions that this uses.
func (l *Logs) names() []string {
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
	for _, m := range l.modules {
		units(m.Units)
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

// New makes the Logs for a specification with some modules. environment adds variables that IOEnv shows to those of the
// process. log is a file that the specification reads as its log: by the variables of the environment that determine
// the log's name, or else instead of the file that it names.
func New(modules []*syntax.Module, environment map[string]string, log string) (*Logs, error) {
	l := &Logs{modules: modules, environment: map[string]string{}}
	if log != "" {
		names := l.names()
		if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { v, given := environment[n]; return !given || v == log }) {
			n := names[0]
			return nil, fmt.Errorf("two logs are given: %s, and %s by --env %[3]s=%[2]s, as the specification takes the log's "+
				"name from IOEnv.%[3]s; leave one of them out",
				log, environment[n], n)
		}
		for _, n := range names {
			l.environment[n] = log
		}
		if len(names) == 0 {
			l.instead = log
		}
	}
	maps.Copy(l.environment, environment)
	return l, nil
}

// Lacks says what to do where a record that has no such field is the environment. Of other values it says nothing.
func (l *Logs) Lacks(of, field value.Value) {
	r, isRecord := of.(*value.Record)
	name, isText := field.(*value.String)
	if !isRecord || !isText || r.Field(name) >= 0 || !value.Equal(of, l.Environment()) {
		return
	}
	if slices.Contains(l.names(), name.Text) {
		value.Fail("no log is given: the specification takes its name from the variable %[1]s of the environment, which is not "+
			"set; give the log as second argument, bloodhound model trace SPEC.tla LOG.ndjson, or set %[1]s", name.Text)
	}
	value.Fail("the variable %[1]s of the environment is not set; set it, or give it by bloodhound model trace --env %[1]s=VALUE", name.Text)
}

// Environment is IOEnv: the variables of the environment as a record.
func (l *Logs) Environment() value.Value {
	all := map[string]string{}
	for _, e := range os.Environ() {
		name, v, _ := strings.Cut(e, "=")
		if _, ok := all[name]; !ok && name != "" {
			all[name] = v
		}
	}
	maps.Copy(all, l.environment)
	var names, values []value.Value
	for name, v := range all {
		names, values = append(names, value.Text(name)), append(values, value.Text(v))
	}
	return value.FunctionOf(names, values)
}
