package formats

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/values"
)

var (
	startsPorcupine = regexp.MustCompile(`^\s*\{:process \d+, :type :invoke, :f :(get|put|append), :key "`)
	logLine         = regexp.MustCompile(`\bjepsen\.util - +(\S+)[ \t]+:(\w+)[ \t]+:(\S+)[ \t]*(.*)$`)
)

// isPorcupine recognises by a file's beginning a map of texts as Porcupine's tests have it.
func isPorcupine(start []byte) bool { return startsPorcupine.Match(start) }

// isJepsenLog recognises by a file's beginning what jepsen.util printed of a history.
func isJepsenLog(start []byte) bool {
	for line := range bytes.Lines(start) {
		if logLine.Match(bytes.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}

// ReadPorcupine reads a map of texts as Porcupine's tests have it: EDN with get, put and append of a :key. A key that was never written reads as
// the empty text, so that a get of that found nothing and a put of it is one of null; an append of it does nothing and is left out. Texts are
// themselves.
func ReadPorcupine(r io.Reader, do func(*history.Event) error) error {
	idle := map[string]bool{} // clients that append nothing
	return ReadEDN(r, false, func(e *history.Event) error {
		for _, v := range []*string{&e.Key, &e.Input, &e.Output} {
			text, ok := values.AsText(*v)
			if !ok && *v != "" {
				return fmt.Errorf("%s is not text; a Porcupine map contains only text", *v)
			}
			*v = text
		}
		e.Found = e.Found && e.Output != ""
		switch e.Op {
		case "get":
		case "put", "append":
			if e.NoInput {
				return fmt.Errorf("a %s without a value", e.Op)
			}
			if e.Type != history.Invoke {
				break
			}
			e.NoInput = e.Input == ""
			idle[e.Client] = e.NoInput && e.Op == "append"
		default:
			return fmt.Errorf("unknown operation %s; a Porcupine map has get, put and append", e.Op)
		}
		if idle[e.Client] && e.Op == "append" {
			return nil
		}
		return do(e)
	})
}

// ReadJepsenLog reads what jepsen.util printed of a history: lines of a process, a type, an operation and its value, as Porcupine's tests have them.
// Other lines do not count. A cas that failed with its value found another one.
func ReadJepsenLog(r io.Reader, do func(*history.Event) error) error {
	j := newJepsen(false, do)
	err := eachLine(r, func(line string) error {
		m := logLine.FindStringSubmatch(line)
		if m == nil {
			return nil
		}
		process, err := formOfEDN(m[1])
		if err != nil {
			return err
		}
		value, err := formOfEDN(m[4])
		if err != nil {
			return err
		}
		event := fields{process: process, kind: ednKeyword(m[2]), f: ednKeyword(m[3])}
		if pair, isPair := value.(ednList); m[2] == "fail" && m[3] == "cas" && isPair && len(pair) == 2 {
			event.kind = ednKeyword(history.Ok)
			j.refused = true
		}
		if reason, is := value.(ednKeyword); is && (m[2] == "info" || m[2] == "fail") {
			event.err = reason
		} else {
			event.value, event.hasValue = value, true
		}
		err = j.make(&event)
		j.refused = false
		return err
	})
	if err == nil && j.count == 0 {
		err = fmt.Errorf("the file has no line of jepsen.util")
	}
	return err
}

// formOfEDN is the form that a text has.
func formOfEDN(text string) (ednForm, error) {
	p := newEDNParser(bufio.NewReader(strings.NewReader(text)))
	c, err := p.skip()
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return p.form(c, 0)
}
