package library

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// The modules Json, CSV and IOUtils read and write files, named from the working directory as in TLC. They execute no programs.

// effect is an operator of n values that is evaluated each time.
func effect(n int, f func(args []value.Value) value.Value) *Builtin {
	return &Builtin{Arguments: n, Effect: f}
}

func refused(n int, why string) *Builtin {
	return effect(n, func([]value.Value) value.Value { value.Fail("%s", why); return nil })
}

const (
	NoPrograms = "programs are not executed: IOExec and its kin are refused"
	NoBinary   = "TLC's binary format is not supported: Json has operators that read and write values"
)

var jsonModule = map[string]*Builtin{
	"ToJson":       {One: func(v value.Value) value.Value { return value.Text(string(ToJSON(v, JSONAny))) }},
	"ToJsonArray":  {One: func(v value.Value) value.Value { return value.Text(string(ToJSON(v, jsonArray))) }},
	"ToJsonObject": {One: func(v value.Value) value.Value { return value.Text(string(ToJSON(v, jsonObject))) }},
	"JsonSerialize": effect(2, func(args []value.Value) value.Value {
		switch args[1].(type) {
		case *value.Tuple, *value.Record, *value.Function:
		default:
			value.Fail("JsonSerialize writes a sequence or a record, and not the %s %s", value.Kind(args[1]), value.Short(args[1]))
		}
		return written(args[0], append(ToJSON(args[1], JSONAny), '\n'), os.O_TRUNC)
	}),
	"ndJsonSerialize": effect(2, func(args []value.Value) value.Value {
		var b []byte
		for _, v := range value.Items(args[1]) {
			b = append(append(b, ToJSON(v, JSONAny)...), '\n')
		}
		return written(args[0], b, os.O_TRUNC)
	}),
}

var ioutilsModule = map[string]*Builtin{
	"IOExec": refused(1, NoPrograms), "IOEnvExec": refused(2, NoPrograms), "IOExecTemplate": refused(2, NoPrograms),
	"IOEnvExecTemplate": refused(3, NoPrograms),
	"IOSerialize":       refused(3, NoBinary), "IODeserialize": refused(2, NoBinary),
	"atoi": {One: func(s value.Value) value.Value {
		n, err := strconv.ParseInt(Text(s), 10, 64)
		if err != nil {
			value.Fail("atoi(%s): that is not a 64-bit integer", s)
		}
		return value.Int(n)
	}},
	"zeroPadN": {Two: func(n, width value.Value) value.Value {
		w := Integer(width)
		value.AtMost(int(min(max(w, 0), value.Most+1)))
		digits := strconv.FormatInt(Integer(n), 10) // zeros stand before a sign, too
		return value.Text(strings.Repeat("0", max(int(w)-len(digits), 0)) + digits)
	}},
	"Serialize": effect(3, func(args []value.Value) value.Value {
		flag := os.O_TRUNC
		for _, o := range options(args[2]) {
			if o == "APPEND" {
				flag = os.O_APPEND
			}
		}
		written(args[1], []byte(Text(args[0])), flag)
		return outcome("")
	}),
	"Deserialize": effect(2, func(args []value.Value) value.Value {
		options(args[1])
		return outcome(string(contents(args[0])))
	}),
}

var csvModule = map[string]*Builtin{
	"CSVWrite": effect(3, func(args []value.Value) value.Value {
		return written(args[2], []byte(filled(Text(args[0]), value.Items(args[1]))+"\n"), os.O_APPEND)
	}),
	"CSVWriteRecord": effect(4, func(args []value.Value) value.Value {
		r, ok := args[0].(*value.Record)
		if !ok {
			value.Fail("CSVWriteRecord writes a record, and not the %s %s", value.Kind(args[0]), value.Short(args[0]))
		}
		var names, values []string
		for i, n := range r.Names {
			names, values = append(names, n.Text), append(values, r.Values[i].String())
		}
		row := strings.Join(values, Text(args[1])) + "\n"
		if Boolean(args[2]) {
			row = strings.Join(names, Text(args[1])) + "\n" + row
		}
		return written(args[3], []byte(row), os.O_APPEND)
	}),
	"CSVRecords": effect(1, func(args []value.Value) value.Value { return value.Int(records(args[0])) }),
	"CSVRead": effect(3, func(args []value.Value) value.Value {
		var rows []value.Value
		names := value.Items(args[0])
		if _, err := os.Stat(Text(args[2])); errors.Is(err, os.ErrNotExist) {
			return value.EmptyTuple
		}
		for i, line := range lines(contents(args[2])) {
			cells := strings.Split(line, Text(args[1]))
			if len(cells) != len(names) {
				value.Fail("line %d of %s has %s, and not %d", i+1, Text(args[2]), plural.Count(len(cells), "column"), len(names))
			}
			values := make([]value.Value, len(cells))
			for i, cell := range cells {
				values[i] = value.Text(cell)
			}
			rows = append(rows, value.FunctionOf(names, values))
		}
		return value.NewTuple(rows)
	}),
}

// written writes to a file whose folder is made if there is none.
func written(file value.Value, b []byte, how int) value.Value {
	name := Text(file)
	err := os.MkdirAll(filepath.Dir(name), 0o777)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|how, 0o666); err == nil {
			_, err = f.Write(b)
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		value.Fail("%v", err)
	}
	return value.Bool(true)
}

func contents(file value.Value) []byte {
	b, err := os.ReadFile(Text(file))
	if err != nil {
		value.Fail("%v", err)
	}
	return b
}

func lines(b []byte) []string {
	s := strings.TrimSuffix(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

// records is how many lines a file has; 0 if there is none.
func records(file value.Value) int {
	b, err := os.ReadFile(Text(file))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0
	case err != nil:
		value.Fail("%v", err)
	}
	return len(lines(b))
}

var verb = regexp.MustCompile(`%(?:(\d+)\$)?(.?)`)

// filled puts values into the places of a template: %1$s is the first, %s the next.
func filled(template string, values []value.Value) string {
	next := 0
	return verb.ReplaceAllStringFunc(template, func(v string) string {
		m := verb.FindStringSubmatch(v)
		switch {
		case m[2] == "%" && m[1] == "":
			return "%"
		case m[2] == "n" && m[1] == "":
			return "\n"
		case m[2] != "s":
			value.Fail("%s in a template is not supported: %%s, %%1$s, %%n and %%%% are", v)
		}
		at := next
		if m[1] == "" {
			next++
		} else if n, err := strconv.Atoi(m[1]); err == nil {
			at = n - 1
		}
		if at < 0 || at >= len(values) {
			value.Fail("the template has %s, and there are %s", v, plural.Count(len(values), "value"))
		}
		return values[at].String()
	})
}

// options are the openOptions of Serialize and Deserialize, whose format is text.
func options(v value.Value) []string {
	format := value.Apply(v, value.Text("format"))
	if f, ok := format.(*value.String); !ok || f.Text != "TXT" {
		value.Fail("the format %s is not supported: TXT is", format)
	}
	r, _ := v.(*value.Record)
	if r == nil || r.Field(value.Text("openOptions")) < 0 {
		return nil
	}
	var list []string
	for _, o := range value.Items(value.Apply(r, value.Text("openOptions"))) {
		list = append(list, Text(o))
	}
	return list
}

func outcome(stdout string) value.Value {
	return value.FunctionOf([]value.Value{value.Text("exitValue"), value.Text("stderr"), value.Text("stdout")},
		[]value.Value{value.Int(0), value.Text(""), value.Text(stdout)})
}

// form is whether a function is an array or an object.
type form uint8

const (
	JSONAny    form = iota // an array if it is a sequence
	jsonArray              // its values, in the order of its domain
	jsonObject             // the same as jsonAny, but for a sequence without items
)

// ToJSON is a value in JSON.
func ToJSON(v value.Value, as form) []byte {
	var b bytes.Buffer
	WriteJSON(&b, Settled(v), as)
	return b.Bytes()
}

// WriteJSON appends a value in JSON.
func WriteJSON(b *bytes.Buffer, v value.Value, as form) {
	list := func(items []value.Value) {
		b.WriteByte('[')
		for i, x := range items {
			if i > 0 {
				b.WriteByte(',')
			}
			WriteJSON(b, x, JSONAny)
		}
		b.WriteByte(']')
	}
	object := func(names []string, values []value.Value) {
		b.WriteByte('{')
		for i, n := range names {
			if i > 0 {
				b.WriteByte(',')
			}
			quoted(b, n)
			b.WriteByte(':')
			WriteJSON(b, values[i], JSONAny)
		}
		b.WriteByte('}')
	}
	switch x := v.(type) {
	case value.Bool:
		b.WriteString(strconv.FormatBool(bool(x)))
	case value.Int:
		b.WriteString(x.String())
	case *value.Fraction:
		b.WriteString(x.String())
	case *value.String:
		quoted(b, x.Text)
	case *value.Model:
		quoted(b, x.Name)
	case *value.Tuple:
		if len(x.Items) == 0 && as == jsonObject {
			b.WriteString("{}")
			return
		}
		list(x.Items)
	case *value.Record:
		if as == jsonArray {
			list(x.Values)
			return
		}
		names := make([]string, len(x.Names))
		for i, n := range x.Names {
			names[i] = n.Text
		}
		object(names, x.Values)
	case *value.Function:
		if as == jsonArray {
			list(x.Values)
			return
		}
		names := make([]string, len(x.Values))
		for i, k := range x.Domain.Items {
			names[i] = k.String()
			if s, ok := k.(*value.String); ok {
				names[i] = s.Text
			}
		}
		object(names, x.Values)
	default:
		if value.IsSet(v) {
			list(value.Explicit(v).Items)
			return
		}
		WriteJSON(b, value.Spelled(v), as)
	}
}

func quoted(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		value.Fail("%v", err)
	}
	b.Truncate(b.Len() - 1) // Encode ends a line
}
