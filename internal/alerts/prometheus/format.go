package prometheus

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// format reads the text format of metrics, version 0.0.4 with quoted names, as Prometheus' own package textparse does. That one also
// reads the formats of protocol buffers, and their packages would be a thirtieth of the program.
type format struct {
	text  string // with a line break at its end
	at    int
	start int // of the entry that is read
	kind  string
}

// samples gives each sample of a text to each, until a mistake. Times of samples are read and left out.
func samples(text string, each func(l labels.Labels, v float64)) error {
	f := &format{text: text + "\n"}
	for {
		f.start = f.at
		f.blanks()
		if f.at == len(f.text) {
			return nil
		}
		switch c := f.text[f.at]; {
		case c == 0: // what comes after a zero is not read
			return nil
		case c == '\n':
			f.at++
		case c == '#':
			if more, err := f.comment(); !more || err != nil {
				return err
			}
		case c == '{' || nameStart(c):
			l, v, err := f.sample()
			if err != nil {
				return err
			}
			each(l, v)
		default:
			return f.mistake("expected a valid start token")
		}
	}
}

// comment reads a line that begins with #: it may have the type of the samples that follow. It returns false if the text ends there.
func (f *format) comment() (more bool, err error) {
	f.at++
	begin := f.at
	if f.blanks(); f.at > begin {
		for _, word := range []string{"HELP", "TYPE"} {
			if rest, ok := strings.CutPrefix(f.text[f.at:], word); ok && rest != "" && blank(rest[0]) {
				f.at += len(word)
				f.blanks()
				return true, f.metadata(word)
			}
		}
	}
	line := f.text[f.at:]
	line = line[:strings.IndexByte(line, '\n')]
	if zero := strings.IndexByte(line, 0); zero == 0 || zero > 0 && f.at == begin {
		return false, nil
	}
	f.at += len(line)
	return true, nil
}

func (f *format) metadata(word string) error {
	if f.text[f.at] == '"' {
		if !f.quoted() {
			return f.mistake("expected metric name after " + word)
		}
	} else if !f.name() {
		return f.mistake("expected metric name after " + word)
	}
	line := f.text[f.at:]
	line = line[:strings.IndexByte(line, '\n')]
	f.at += len(line)
	text := ""
	if strings.Trim(line, " \t") != "" {
		text = line[1:]
	}
	switch {
	case word == "HELP" && !utf8.ValidString(text):
		return fmt.Errorf("help text %q is not a valid utf8 string", text)
	case word == "TYPE":
		switch text {
		case "counter", "gauge", "histogram", "summary", "untyped":
			f.kind = text
		default:
			return fmt.Errorf("invalid metric type %q", text)
		}
	}
	return nil
}

func (f *format) sample() (l labels.Labels, v float64, err error) {
	metric, named := "", false
	var pairs []string
	if f.text[f.at] != '{' {
		f.name()
		metric, named = f.text[f.start:f.at], true // blanks before it belong to it
		f.blanks()
	}
	if f.text[f.at] == '{' {
		if pairs, metric, named, err = f.labels(metric, named); err != nil {
			return l, 0, err
		}
		f.blanks()
	}
	if !named {
		return l, 0, f.mistake("metric name not set")
	}
	if v, err = f.number(); err != nil {
		return l, 0, err
	}
	b := labels.NewScratchBuilder(1 + len(pairs)/2)
	b.Add(labels.MetricName, unescape(metric))
	for i := 0; i < len(pairs); i += 2 {
		name := unescape(pairs[i])
		b.Add(name, f.value(name, unescape(pairs[i+1])))
	}
	b.Sort()
	return b.Labels(), v, nil
}

// labels reads what stands in braces: names and values of labels, as written, and perhaps the name of the metric.
func (f *format) labels(metric string, named bool) (pairs []string, _ string, _ bool, err error) {
	for f.at++; ; {
		f.blanks()
		begin := f.at
		switch c := f.text[f.at]; {
		case c == '}':
			f.at++
			return pairs, metric, named, nil
		case c == '"':
			if !f.quoted() {
				return nil, "", false, f.mistake("expected label name")
			}
		case c == '_' || letter(c):
			for f.at++; f.text[f.at] == '_' || letter(f.text[f.at]) || digit(f.text[f.at]); f.at++ {
			}
		default:
			return nil, "", false, f.mistake("expected label name")
		}
		word := f.text[begin:f.at]
		f.blanks()
		if c := f.text[f.at]; c == ',' || c == '}' {
			if named || len(word) < 2 {
				return nil, "", false, f.mistake("metric name already set")
			}
			metric, named = word[1:len(word)-1], true
			if f.at++; c == '}' {
				return pairs, metric, named, nil
			}
			continue
		}
		if word[0] == '"' {
			word = word[1 : len(word)-1]
		}
		if f.text[f.at] != '=' {
			return nil, "", false, f.mistake("expected equal")
		}
		f.at++
		f.blanks()
		begin = f.at
		if f.text[f.at] != '"' || !f.quoted() {
			return nil, "", false, f.mistake("expected label value")
		}
		quoted := f.text[begin:f.at]
		if !utf8.ValidString(quoted) {
			return nil, "", false, fmt.Errorf("invalid UTF-8 label value: %q", quoted)
		}
		pairs = append(pairs, word, quoted[1:len(quoted)-1])
		if f.blanks(); f.text[f.at] == ',' {
			f.at++
		}
	}
}

// number reads the value of a sample and perhaps its time, up to the end of the line.
func (f *format) number() (v float64, err error) {
	begin := f.at
	for c := f.text[f.at]; c != '{' && c != 0 && c != '\n' && !blank(c); c = f.text[f.at] {
		f.at++
	}
	if f.at == begin {
		return 0, f.mistake("expected value after metric")
	}
	text := f.text[begin:f.at]
	if strings.ContainsAny(text, "pP_") {
		return 0, f.mistake("unsupported character in float")
	}
	if v, err = strconv.ParseFloat(text, 64); err != nil {
		return 0, fmt.Errorf("%w while parsing: %q", err, f.text[f.start:f.at])
	}
	if math.IsNaN(v) {
		v = math.Float64frombits(value.NormalNaN)
	}
	f.blanks()
	begin = f.at
	for ; digit(f.text[f.at]); f.at++ {
	}
	if f.at > begin {
		if _, err := strconv.ParseInt(f.text[begin:f.at], 10, 64); err != nil {
			return 0, fmt.Errorf("%w while parsing: %q", err, f.text[f.start:f.at])
		}
		f.blanks()
	}
	if f.text[f.at] != '\n' {
		return 0, f.mistake("expected timestamp or new record")
	}
	f.at++
	return v, nil
}

// value gives quantiles and bounds of buckets, which are numbers, one spelling.
func (f *format) value(name, text string) string {
	if f.kind == "summary" && name == model.QuantileLabel || f.kind == "histogram" && name == model.BucketLabel {
		if number, err := strconv.ParseFloat(text, 64); err == nil {
			return labels.FormatOpenMetricsFloat(number)
		}
	}
	return text
}

func (f *format) blanks() {
	for f.at < len(f.text) && blank(f.text[f.at]) {
		f.at++
	}
}

// name goes to the end of a metric's name.
func (f *format) name() bool {
	if !nameStart(f.text[f.at]) {
		return false
	}
	for f.at++; nameStart(f.text[f.at]) || digit(f.text[f.at]); f.at++ {
	}
	return true
}

// quoted goes to the end of a text in quotes.
func (f *format) quoted() bool {
	for i := f.at + 1; i < len(f.text); i++ {
		switch f.text[i] {
		case '\\':
			if i++; i < len(f.text) && f.text[i] == '\n' {
				return false
			}
		case '"':
			f.at = i + 1
			return true
		}
	}
	return false
}

func (f *format) mistake(what string) error {
	return errors.New(what + fmt.Sprintf(" while parsing: %q", f.text[f.start:min(len(f.text), f.at+1)]))
}

var escapes = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n")

func unescape(s string) string { return escapes.Replace(s) }

func blank(c byte) bool     { return c == ' ' || c == '\t' }
func digit(c byte) bool     { return '0' <= c && c <= '9' }
func letter(c byte) bool    { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func nameStart(c byte) bool { return c == '_' || c == ':' || letter(c) }
