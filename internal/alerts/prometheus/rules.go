// Package prometheus evaluates alerting rules of Prometheus on the metrics that programs of a world serve. PromQL is parsed and
// evaluated by Prometheus itself; here are the files of rules, the series of one run, and the life of an alert: inactive,
// pending, firing.
package prometheus

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/bloodhound-dst/bloodhound/internal/alerts"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// FileError is a mistake in a file of rules.
type FileError struct {
	File   string
	Line   int // 0 is the file as a whole
	Text   string
	Remedy string
}

func (e *FileError) Error() string {
	at := e.File
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line)
	}
	return at + ": " + e.Text
}

// Rule is a rule that is evaluated: an alert, or a record.
type Rule struct {
	alerts.Rule // Alert is empty where it records
	Record      string
	Labels      map[string]string
	Annotations map[string]string
	Judged      bool // of an alert: a violation where it fires
	expr        parser.Expr
}

// Name is the rule's alert or record.
func (r *Rule) Name() string { return r.Alert + r.Record }

// placed is the place of a mistake in an error of package rulefmt, LINE:COLUMN, or of YAML.
var placed = regexp.MustCompile(`^(?:yaml: )?(?:\s*line )?(\d+)(?::\d+)?: `)

// Read reads all rules of an alerts check, and marks those that it judges. Of an error, errors.As finds the FileErrors.
func Read(a *world.Alerts) ([]Rule, error) {
	var rules []Rule
	var mistakes []error
	for _, f := range a.Files {
		file := parsed(f)
		rules = append(rules, file.rules...)
		mistakes = append(mistakes, file.mistakes...)
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	for i := range rules {
		rules[i].Judged = a.Judges(rules[i].Alert, rules[i].Labels)
	}
	return rules, nil
}

// file is a file of rules as it was read, which nobody changes.
type file struct {
	rules    []Rule
	mistakes []error
}

// maxKept is how many files are kept as they were read: a process judges many runs by the same few.
const maxKept = 64

var (
	keeping sync.Mutex
	kept    = map[world.RuleFile]file{}
)

// parsed reads a file, once.
func parsed(f world.RuleFile) file {
	keeping.Lock()
	defer keeping.Unlock()
	got, ok := kept[f]
	if !ok {
		if len(kept) == maxKept {
			clear(kept)
		}
		got.rules, got.mistakes = read(f)
		kept[f] = got
	}
	return got
}

func read(f world.RuleFile) ([]Rule, []error) {
	groups, errs := rulefmt.Parse([]byte(f.Text), false, model.UTF8Validation)
	if len(errs) > 0 {
		var list []error
		for _, err := range errs {
			for text := range strings.Lines(err.Error()) { // YAML joins mistakes
				e := &FileError{File: f.Name, Text: strings.TrimSpace(text), Remedy: "correct the file: it needs `groups:` with `rules:`, as in Prometheus"}
				if m := placed.FindStringSubmatch(text); m != nil {
					e.Line, _ = strconv.Atoi(m[1])
					e.Text = strings.TrimSpace(text[len(m[0]):])
				}
				if e.Text != "yaml: unmarshal errors:" {
					list = append(list, e)
				}
			}
		}
		return nil, list
	}
	var rules []Rule
	var mistakes []error
	refuse := func(remedy, format string, args ...any) {
		mistakes = append(mistakes, &FileError{File: f.Name, Text: fmt.Sprintf(format, args...), Remedy: remedy})
	}
	for _, g := range groups.Groups {
		if g.Limit != 0 {
			refuse("remove it", "group %q: `limit` is not supported", g.Name)
		}
		if g.QueryOffset != nil && *g.QueryOffset != 0 {
			refuse("remove it", "group %q: `query_offset` is not supported", g.Name)
		}
		for _, r := range g.Rules {
			expr, err := parser.ParseExpr(r.Expr)
			if err != nil { // rulefmt has parsed it
				refuse("correct the expression", "group %q, rule %q: %v", g.Name, r.Alert+r.Record, err)
				continue
			}
			with := maps.Clone(g.Labels)
			if with == nil {
				with = map[string]string{}
			}
			maps.Copy(with, r.Labels)
			rules = append(rules, Rule{Rule: alerts.Rule{File: f.Name, Group: g.Name, Alert: r.Alert, Expr: expr.String(), For: time.Duration(r.For)},
				Record: r.Record, Labels: with, Annotations: r.Annotations, expr: expr})
		}
	}
	if len(rules) == 0 && len(mistakes) == 0 {
		refuse("write `groups: [{name: NAME, rules: [{alert: NAME, expr: EXPRESSION}]}]`", "the file has no rules")
	}
	return rules, mistakes
}

// Keep lists the metrics that the rules ask for, which scrapes must keep. `all` is set where a rule selects metrics without naming one.
func Keep(rules []Rule) (names []string, all bool) {
	for i := range rules {
		for _, m := range selectors(rules[i].expr) {
			name := metricOf(m)
			switch {
			case name == "":
				all = true
			case !slices.Contains(names, name):
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, all
}

// LongestFor is the longest time that a judged alert is pending before it fires.
func LongestFor(rules []Rule) (longest time.Duration, name string) {
	for i := range rules {
		if r := &rules[i]; r.Judged && r.For > longest {
			longest, name = r.For, r.Alert
		}
	}
	return longest, name
}

func selectors(expr parser.Expr) [][]*labels.Matcher {
	var list [][]*labels.Matcher
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			list = append(list, v.LabelMatchers)
		}
		return nil
	})
	return list
}

// metricOf is the name of the metric that matchers select, or nothing if they do not name one.
func metricOf(matchers []*labels.Matcher) string {
	for _, m := range matchers {
		if m.Name == labels.MetricName && m.Type == labels.MatchEqual {
			return m.Value
		}
	}
	return ""
}

func written(matchers []*labels.Matcher) string {
	var parts []string
	for _, m := range matchers {
		if m.Name != labels.MetricName || m.Type != labels.MatchEqual {
			parts = append(parts, m.String())
		}
	}
	if name := metricOf(matchers); len(parts) == 0 {
		return name
	} else {
		return name + "{" + strings.Join(parts, ", ") + "}"
	}
}
