package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind says how a value is written and what check makes of it.
type kind int

const (
	text       kind = iota // string
	word                   // string, one of shape.words
	boolean                // bool
	whole                  // int64 within min and max
	unsigned               // uint64
	number                 // float64 within min and max
	rate                   // uint64, parts per million; written as 0..1
	duration               // int64 ns; written as 30s
	signed                 // int64 ns; a duration that may be negative
	millis                 // int64 ns; written as a number of milliseconds
	seconds                // int64 ns; written as a number of seconds
	span                   // [2]int64 ns; written as [a, b] or a, in milliseconds
	date                   // int64 ns since 1970
	size                   // int64 bytes within min and max; written as 64m
	pattern                // *regexp.Regexp
	variables              // []variable; a mapping or a list
	anything               // not looked at
	section                // a mapping with shape.fields
	dictionary             // a mapping with names of the user's own, each with shape.item
	sequence               // a list, each item with shape.item
	either                 // the first of shape.alts that is written as the value is
)

// shape describes a value. It drives reading, docs/reference/config.md and docs/schema/config.json.
type shape struct {
	kind  kind
	words []string
	// spellings are further words that are accepted, with the one of words that each stands for.
	spellings map[string]string
	min       float64 // whole, number; ns for durations
	max       float64 // 0 is no bound
	fields    []field
	item      *shape
	alts      []shape
	names     *regexp.Regexp // dictionary: what names may be
	open      bool           // section: keys that begin with x- are extensions
	empty     bool           // it may be written without a value, which is an empty mapping or list
}

// field is one key of a section.
type field struct {
	name string
	// of is the usual key, where this one is another spelling; equal spellings need no note.
	of    string
	equal bool
	shape shape
	says  string // what it means, for people
	def   string // the default, for people
	idle  string // why the key has no effect, if it has none
	// refused is the remedy for a key that Compose knows and that cannot be accepted.
	refused  string
	verbatim bool // its values are read without filling in variables
}

// variable is one line of an environment.
type variable struct {
	name string
	text string
	set  bool // false: the name alone, to be taken from the environment
}

// accepts tells whether a value of this shape can be written as a node of kind k.
func (s *shape) accepts(k nodeKind) bool {
	switch s.kind {
	case anything:
		return true
	case section, dictionary:
		return k == mapping
	case sequence:
		return k == list
	case variables:
		return k == mapping || k == list
	case span:
		return k == scalar || k == list
	case either:
		return slices.ContainsFunc(s.alts, func(a shape) bool { return a.accepts(k) })
	}
	return k == scalar
}

// String names a shape in messages, and in the table of keys.
func (s *shape) String() string {
	switch s.kind {
	case text:
		return "text"
	case word:
		return strings.Join(s.words, ", ")
	case boolean:
		return "true or false"
	case whole:
		return "a whole number" + s.bounds()
	case unsigned:
		return "a whole number from 0 on"
	case number:
		return "a number" + s.bounds()
	case rate:
		return "a rate from 0 to 1"
	case duration:
		return "a duration such as 30s"
	case signed:
		return "a duration such as 30s or -2ms"
	case millis:
		return "a number of milliseconds"
	case seconds:
		return "a number of seconds"
	case span:
		return "a range [a, b] in milliseconds, or one number"
	case size:
		if s.min > 0 {
			return fmt.Sprintf("a size from %dm on, such as 64m or 1gb", int64(s.min)>>20)
		}
		return "a size such as 64m or 1gb"
	case date:
		return "a date such as 2025-01-01T00:00:00Z"
	case pattern:
		return "a regular expression"
	case variables:
		return "a mapping NAME: value or a list of NAME=value"
	case section, dictionary:
		return "a mapping"
	case sequence:
		if s.item.accepts(scalar) && s.item.kind != either {
			return "a list of " + strings.TrimPrefix(s.item.String(), "a ")
		}
		return "a list"
	case either:
		var names []string
		for i := range s.alts {
			names = append(names, s.alts[i].String())
		}
		return strings.Join(names, " or ")
	}
	return "anything"
}

func (s *shape) bounds() string {
	if s.max != 0 {
		return fmt.Sprintf(" from %.0f to %.0f", s.min, s.max)
	}
	return fmt.Sprintf(" from %.0f on", s.min)
}

// check compares a value with its shape, and stores in it what the rest of the package reads. What is wrong is told
// and marked, and the rest is still checked. The path is the key's place, such as faults.network.drop_rate.
func (l *loader) check(n *node, s *shape, path string, verbatim bool) {
	if n.bad || s.kind == anything {
		return
	}
	if n.kind == null && s.empty {
		n.kind = mapping
		if s.kind == sequence {
			n.kind = list
		}
	}
	if n.kind == null {
		n.bad = true
		l.fail(n.position, "give it one, or remove the key", "%s has no value", path)
		return
	}
	if !s.accepts(n.kind) {
		n.bad = true
		l.fail(n.position, "write "+s.String(), "%s cannot be %s", path, n.kind)
		return
	}
	switch s.kind {
	case either:
		for i := range s.alts {
			if s.alts[i].accepts(n.kind) {
				l.check(n, &s.alts[i], path, verbatim)
				return
			}
		}
	case section:
		l.checkSection(n, s, path, verbatim)
	case dictionary:
		for _, e := range n.entries {
			if !e.implied && s.names != nil && !s.names.MatchString(e.name) {
				e.value.bad = true
				l.fail(e.key.position, "use letters, digits, and - _ . inside", "%q is not a name for %s", e.name, path)
				continue
			}
			l.check(e.value, s.item, path+"."+e.name, verbatim)
		}
	case sequence:
		for i, item := range n.items {
			l.check(item, s.item, fmt.Sprintf("%s[%d]", path, i), verbatim)
		}
	case variables:
		l.checkVariables(n, path, verbatim)
	case span:
		l.checkSpan(n, path)
	default:
		if verbatim || l.fill(n, path) {
			l.checkScalar(n, s, path)
		}
	}
}

// fill puts variables into a scalar.
func (l *loader) fill(n *node, path string) bool {
	filled, unset, err := interpolate(n.text, n.file.lookup)
	if err == errDollar {
		n.bad = true
		l.fail(n.position, "write $$ for a dollar sign, $NAME or ${NAME} for a variable", "%s has a dollar sign that begins no variable", path)
		return false
	}
	if err != nil {
		n.bad = true
		l.fail(n.position, "set the variable in the environment or in .env, or write $$ for a dollar sign", "%s: %v", path, err)
		return false
	}
	for _, name := range unset {
		l.note(n.position, path, "variable %s is not set, and counts as empty; %s, or $$ for a dollar sign", name, setRemedy([]string{name}))
	}
	slices.Sort(unset)
	n.leaveUnset(slices.Compact(unset))
	n.text = filled
	return true
}

func (l *loader) checkSection(n *node, s *shape, path string, verbatim bool) {
	for _, e := range n.entries {
		key := join(path, e.name)
		f := s.field(e.name)
		switch {
		case f == nil && s.open && strings.HasPrefix(e.name, "x-"):
			if !e.implied && !e.key.file.compose { // there, everybody knows them
				l.idle(e.key.position, key, "an extension; it can hold anchors for the rest of the file")
			}
			e.value.bad = true
			continue
		case f == nil:
			e.value.bad, n.incomplete = true, true
			l.fail(e.key.position, s.elsewhere(l.root, path, e.name), "unknown key %q%s", e.name, within(path))
			continue
		case f.refused != "":
			e.value.bad = true
			l.fail(e.key.position, f.refused, "%s is not supported", key)
			continue
		}
		if f.of != "" {
			if first := n.entry(f.of); first != nil {
				e.value.bad = true
				l.fail(e.key.position, "keep one of the two", "%s says the same as %s, on line %d", key, first.key.text, first.key.line)
				continue
			}
			if !f.equal {
				l.note(e.key.position, key, "accepted spelling: %s; the usual one is %s", f.name, f.of)
			}
			e.name = f.of
		}
		if f.idle != "" && !e.implied {
			l.idle(e.key.position, key, f.idle)
		}
		l.check(e.value, &f.shape, key, verbatim || f.verbatim)
		if e.value.kind == scalar { // mistakes may be found at the key
			e.key.leaveUnset(e.value.file.unset[e.value.spot()])
		}
	}
}

func (s *shape) field(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

// elsewhere is the remedy for a key that is unknown at a path: the nearest one of the section, or the section where it belongs. Of several
// such sections it is one that shares most of the path. One of list items or of names of the user's own must share some.
func (s *shape) elsewhere(root *shape, path, written string) string {
	var names []string
	for i := range s.fields {
		if s.fields[i].refused == "" {
			names = append(names, s.fields[i].name)
		}
	}
	var places []string
	most := 0
	walkKeys(root, "", func(at string, f *field) {
		parent, name := split(at)
		if name != written || f.refused != "" {
			return
		}
		switch both := shared(parent, path); {
		case both > most:
			places, most = []string{parent}, both
		case both == most && (most > 0 || !strings.ContainsAny(parent, "*[")):
			places = append(places, parent)
		}
	})
	near := nearest(written, names)
	switch {
	case near != "" && (len(places) == 0 || distance(near, written) <= 2):
		return fmt.Sprintf("did you mean %q?", near)
	case len(places) > 0:
		if places[0] == "" {
			return "write it at the top of the file, without indentation"
		}
		return fmt.Sprintf("it belongs under %q", places[0])
	case len(names) > 16:
		return "docs/reference/config.md lists the keys"
	}
	return "the keys here are " + strings.Join(names, ", ")
}

// shared counts the names with which two paths begin alike.
func shared(a, b string) (n int) {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for n < min(len(x), len(y)) && x[n] == y[n] && x[n] != "" {
		n++
	}
	return n
}

func within(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:]
}

// walkKeys visits every key below a shape, in the order of the tables: a.b for sections, a.*.b for names of the user's
// own and a[].b for lists.
func walkKeys(s *shape, path string, visit func(path string, f *field)) {
	switch s.kind {
	case section:
		for i := range s.fields {
			f := &s.fields[i]
			visit(join(path, f.name), f)
			walkKeys(&f.shape, join(path, f.name), visit)
		}
	case dictionary:
		walkKeys(s.item, join(path, "*"), visit)
	case sequence:
		walkKeys(s.item, path+"[]", visit)
	case either:
		for i := range s.alts {
			walkKeys(&s.alts[i], path, visit)
		}
	}
}

// maxSeconds bounds every time in a configuration, about 31 years, so that sums stay far from overflow.
const maxSeconds = 1e9

// checkScalar reads a single value.
func (l *loader) checkScalar(n *node, s *shape, path string) {
	if usual, ok := s.spellings[strings.TrimSpace(n.text)]; ok {
		l.note(n.position, path, "accepted spelling: %s; the usual one is %s", strings.TrimSpace(n.text), usual)
		n.text = usual
	}
	v, err := s.read(n.text)
	if err == nil {
		n.value = v
		return
	}
	n.bad = true
	l.fail(n.position, err.remedy, "%s: %s", path, err.message)
}

// misread is why a text is not a value of a shape.
type misread struct{ message, remedy string }

func (s *shape) read(written string) (any, *misread) {
	wrong := &misread{fmt.Sprintf("%q is not %s", shorten(written), s.String()), s.hint(written)}
	trimmed := strings.TrimSpace(written)
	switch s.kind {
	case text:
		return written, nil
	case word:
		if !slices.Contains(s.words, trimmed) {
			return nil, &misread{fmt.Sprintf("%q is not known here", shorten(written)), suggest(trimmed, s.words)}
		}
		return trimmed, nil
	case boolean:
		switch strings.ToLower(trimmed) {
		case "true", "yes", "on":
			return true, nil
		case "false", "no", "off":
			return false, nil
		}
		return nil, wrong
	case whole:
		v, err := strconv.ParseInt(trimmed, 10, 64)
		if err != nil || !s.inside(float64(v)) {
			return nil, wrong
		}
		return v, nil
	case unsigned:
		v, err := strconv.ParseUint(trimmed, 10, 64)
		if err != nil {
			return nil, wrong
		}
		return v, nil
	case number:
		v, ok := finite(trimmed)
		if !ok || !s.inside(v) {
			return nil, wrong
		}
		return v, nil
	case rate:
		return readRate(trimmed, wrong)
	case duration, signed:
		v, ok := readDuration(trimmed)
		if !ok || s.kind == duration && (v < 0 || float64(v) < s.min) {
			return nil, wrong
		}
		return v, nil
	case millis, seconds:
		unit := 1e6
		if s.kind == seconds {
			unit = 1e9
		}
		v, ok := finite(trimmed)
		if !ok || v < 0 || v*unit < s.min || v*unit > maxSeconds*1e9 {
			return nil, wrong
		}
		return int64(math.Round(v * unit)), nil
	case size:
		v, ok := readSize(trimmed)
		if !ok || !s.inside(float64(v)) {
			return nil, wrong
		}
		return v, nil
	case date:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", time.DateOnly} {
			if t, err := time.Parse(layout, trimmed); err == nil && t.Year() >= 1970 && t.Year() < 2200 {
				return t.UnixNano(), nil
			}
		}
		return nil, wrong
	case pattern:
		re, err := regexp.Compile(written)
		if err != nil {
			return nil, &misread{fmt.Sprintf("%q is not a regular expression: %v", shorten(written), err),
				"use Go's syntax: https://pkg.go.dev/regexp/syntax"}
		}
		return re, nil
	}
	panic("config: a shape that is not a scalar's")
}

// hint is the remedy for a scalar that cannot be read.
func (s *shape) hint(written string) string {
	_, plain := finite(strings.TrimSpace(written))
	switch {
	case s.kind == rate && strings.HasSuffix(strings.TrimSpace(written), "%"):
		return "write 0.05 for 5%"
	case s.kind == rate:
		return "write 0.05 for 5 in 100"
	case s.kind == size && s.min > 0:
		return fmt.Sprintf("write a number of bytes, or one with a unit such as 512k, 64m or 1gb, from %dm on", int64(s.min)>>20)
	case s.kind == size:
		return "write a number of bytes, or one with a unit such as 512k, 64m or 1gb"
	case s.kind == duration && s.min > 0 && plain:
		return "write a number with a unit, above 0, such as 30s, 500ms or 5m"
	case (s.kind == duration || s.kind == signed) && plain:
		return fmt.Sprintf("add a unit, as in %ss or %sms", strings.TrimSpace(written), strings.TrimSpace(written))
	case s.kind == duration && s.min > 0:
		return "write a number with a unit, above 0 and below 31 years, such as 30s, 500ms or 5m"
	case s.kind == duration || s.kind == signed:
		return "write a number with a unit, such as 30s, 500ms or 5m"
	case s.kind == millis || s.kind == seconds:
		return "write a number without a unit, such as 500"
	}
	return "write " + s.String()
}

func (s *shape) inside(v float64) bool { return v >= s.min && (s.max == 0 || v <= s.max) }

func finite(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

func readRate(s string, wrong *misread) (any, *misread) {
	v, ok := finite(s)
	if !ok || v < 0 || v > 1 {
		return nil, wrong
	}
	ppm := uint64(math.Round(v * 1e6))
	if ppm == 0 && v > 0 {
		return nil, &misread{s + " is too small a rate", "the smallest rate above 0 is 0.000001"}
	}
	return ppm, nil
}

func readDuration(s string) (int64, bool) {
	d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	return int64(d), err == nil && d.Abs() <= time.Duration(maxSeconds)*time.Second
}

// shorten keeps messages on one line.
func shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// checkSpan reads [a, b] or a single number of milliseconds.
func (l *loader) checkSpan(n *node, path string) {
	one := shape{kind: millis}
	ends := n.items
	if n.kind == scalar {
		ends = []*node{n}
	}
	for _, e := range ends {
		l.check(e, &one, path, false)
		n.bad = n.bad || e.bad
	}
	if n.bad {
		return
	}
	if len(ends) != 1 && len(ends) != 2 {
		n.bad = true
		l.fail(n.position, "write [shortest, longest]", "%s has %d numbers", path, len(ends))
		return
	}
	from, to := ends[0].value.(int64), ends[len(ends)-1].value.(int64)
	if from > to {
		n.bad = true
		l.fail(n.position, fmt.Sprintf("write [%d, %d]", to/1e6, from/1e6), "%s ends before it begins", path)
		return
	}
	n.value = [2]int64{from, to}
}

// checkVariables reads an environment, as a mapping or as a list.
func (l *loader) checkVariables(n *node, path string, verbatim bool) {
	var vars []variable
	add := func(at *node, v variable) {
		if v.name == "" || strings.ContainsAny(v.name, "=\x00") || strings.Contains(v.text, "\x00") {
			l.fail(at.position, "write NAME: value or NAME=value", "%s has no variable's name here", path)
			return
		}
		vars = append(vars, v)
	}
	for _, e := range n.entries {
		switch {
		case e.value.bad:
		case e.value.kind == null:
			add(e.key, variable{name: e.name})
		case e.value.kind != scalar:
			l.fail(e.value.position, "write text", "%s.%s cannot be %s", path, e.name, e.value.kind)
		case verbatim || l.fill(e.value, join(path, e.name)):
			add(e.key, variable{e.name, e.value.text, true})
		}
	}
	for _, item := range n.items {
		switch {
		case item.bad:
		case item.kind != scalar:
			l.fail(item.position, "write NAME=value", "an item of %s cannot be %s", path, item.kind)
		case verbatim || l.fill(item, path):
			name, value, set := strings.Cut(item.text, "=")
			add(item, variable{name, value, set})
		}
	}
	n.value = vars
}
