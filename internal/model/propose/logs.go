package propose

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/lazyregexp"
	"github.com/bloodhound-dst/bloodhound/internal/model"
)

// Logs are lines of log files as events.
type Logs struct {
	Events []model.Event
	// Disordered says why it is not known which of two events of different files was first; empty: it is.
	Disordered string
	// Left counts the lines around those of a run.
	Left int
}

// printed is a line of bloodhound run --logs: virtual time, node, line.
var printed = lazyregexp.New(`^ *(\d+\.\d{6})s  (\S+) +(.*)$`)

// stamped is a line that begins with its time, or has it as a member of JSON.
var stamped = lazyregexp.New(`^(?:\{.*?"(?:ts|time|timestamp|@timestamp)": ?")?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[-+]\d\d:\d\d)?)`)

// ReadLogs reads files of logs, each by its name and its text: what bloodhound run --logs prints, or the log of one node, with
// the name of the file. Lines of several nodes are put in the order of the dates with which they begin.
func ReadLogs(names, texts []string) *Logs {
	l := &Logs{}
	for i, text := range texts {
		lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
		if slices.ContainsFunc(lines, printed.MatchString) {
			l.run(names[i], lines, len(texts))
			continue
		}
		base := filepath.Base(names[i])
		l.node(names[i], strings.TrimSuffix(base, filepath.Ext(base)), lines, len(texts))
	}
	slices.SortStableFunc(l.Events, func(a, b model.Event) int { return cmp.Compare(a.TimeNs, b.TimeNs) })
	for i := range l.Events {
		l.Events[i].Number = uint64(i + 1)
	}
	return l
}

// run takes in what a run printed, which is in order.
func (l *Logs) run(name string, lines []string, files int) {
	if files > 1 {
		l.Disordered = name + " is the log of a whole run, but there are other files"
	}
	for _, line := range lines {
		m := printed.FindStringSubmatch(line)
		if m == nil {
			l.Left++
			continue
		}
		seconds, _ := strconv.ParseFloat(m[1], 64)
		l.Events = append(l.Events, model.Event{Kind: model.LineEvent, TimeNs: int64(seconds * 1e9), Node: m[2], Line: m[3]})
	}
}

// node takes in the log of one node. A line without a date follows the one before.
func (l *Logs) node(name, node string, lines []string, files int) {
	last, undated := int64(0), 0
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if t, ok := date(line); ok {
			last = max(last, t)
		} else if last == 0 {
			undated++
		}
		l.Events = append(l.Events, model.Event{Kind: model.LineEvent, TimeNs: last, Node: node, Line: line})
	}
	if files > 1 && undated > 0 && l.Disordered == "" {
		l.Disordered = fmt.Sprintf("lines of %s do not begin with a date such as 2006-01-02T15:04:05.000Z, so their order among other lines is unknown", name)
	}
}

func date(line string) (ns int64, ok bool) {
	m := stamped.FindStringSubmatch(line)
	if m == nil {
		return 0, false
	}
	text := strings.Replace(strings.Replace(m[1], ",", ".", 1), " ", "T", 1)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixNano(), true
		}
	}
	return 0, false
}
