package prometheus

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/bloodhound-dst/bloodhound/internal/alerts"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Bounds of one expression. Time is real and only ends what would have no end: reaching it is an error, never a missing alert.
const (
	maxSamples = 50_000_000
	maxTime    = 30 * time.Second
	lookback   = 5 * time.Minute // Prometheus' --query.lookback-delta
)

// evaluation is the state of the rules in one run.
type evaluation struct {
	rules   []Rule
	memory  *memory
	engine  *promql.Engine
	targets map[string]map[*series]bool // by target, what its last scrape had
	written map[*series]bool            // what rules wrote in the last step
	active  map[string]*alert
	unseen  []string        // by rule, of judged alerts: why the alert could not have fired so far
	gave    map[string]bool // selectors, with the calls around them, that had a value in a step
}

// alert is pending or firing.
type alert struct {
	rule    *Rule
	number  int // of the rule
	labels  labels.Labels
	value   float64
	sinceMs int64
	firing  bool
}

func withoutName(l labels.Labels) string {
	return labels.NewBuilder(l).Del(labels.AlertName).Labels().String()
}

func init() { alerts.Evaluate = evaluate }

func evaluate(a *world.Alerts, scrapes []alerts.Scrape) (*alerts.Evaluation, error) {
	rules, err := Read(a)
	if err != nil {
		return nil, err
	}
	e := newEvaluation(rules)
	out := &alerts.Evaluation{}
	var active []*alert
	for i := range scrapes {
		out.Scrapes++
		if active, err = e.step(&scrapes[i]); err != nil {
			out.Mistake = err.Error()
			return out, nil
		}
		if out.Firing = first(active, true); out.Firing != nil {
			break
		}
	}
	out.Pending = first(active, false)
	for i := range rules {
		if r := &rules[i]; r.Judged {
			judged := r.Rule
			judged.Unseen = e.unseen[i]
			out.Judged = append(out.Judged, judged)
		}
	}
	return out, nil
}

// first is the first judged alert that is firing, or pending.
func first(active []*alert, firing bool) *alerts.Alert {
	for _, a := range active {
		if a.rule.Judged && a.firing == firing {
			return &alerts.Alert{Rule: a.rule.Rule, Text: a.rule.Alert + withoutName(a.labels), Value: a.value,
				SinceMs: a.sinceMs, Summary: a.summary(), Description: a.description()}
		}
	}
	return nil
}

func newEvaluation(rules []Rule) *evaluation {
	return &evaluation{rules: rules, memory: newMemory(), targets: map[string]map[*series]bool{}, written: map[*series]bool{}, active: map[string]*alert{},
		unseen: slices.Repeat([]string{"no metrics were scraped"}, len(rules)), gave: map[string]bool{},
		engine: promql.NewEngine(promql.EngineOpts{MaxSamples: maxSamples, Timeout: maxTime, LookbackDelta: lookback,
			EnableAtModifier: true, EnableNegativeOffset: true,
			NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() }})} // Prometheus' default of evaluation_interval
}

// step takes in a scrape and evaluates all rules, in their order. It returns the alerts that are active, in the order of their rules and labels.
func (e *evaluation) step(scrape *alerts.Scrape) ([]*alert, error) {
	for i := range scrape.Targets {
		if err := e.scraped(scrape.AtMs, &scrape.Targets[i]); err != nil {
			return nil, err
		}
	}
	now := map[*series]bool{}
	seen := map[string]bool{}
	for i := range e.rules {
		if err := e.rule(i, scrape, now, seen); err != nil {
			return nil, fmt.Errorf("rule %s of %s: %w", e.rules[i].Name(), e.rules[i].File, err)
		}
	}
	for i := range e.rules {
		if r := &e.rules[i]; r.Judged && e.unseen[i] != "" {
			var err error
			if e.unseen[i], err = e.missing(r.expr, scrape.AtMs, func(expr string) string { return expr }); err != nil {
				return nil, fmt.Errorf("rule %s of %s: %w", r.Name(), r.File, err)
			}
		}
	}
	maps.DeleteFunc(e.active, func(key string, _ *alert) bool { return !seen[key] })
	vanish(e.written, now, scrape.AtMs)
	e.written = now
	list := slices.Collect(maps.Values(e.active))
	slices.SortFunc(list, func(a, b *alert) int { return cmp.Or(a.number-b.number, labels.Compare(a.labels, b.labels)) })
	return list, nil
}

// scraped takes in what a target served.
func (e *evaluation) scraped(atMs int64, s *world.Scraped) error {
	of := labels.FromStrings("job", s.Job, "instance", s.Instance)
	key := of.String()
	now := map[*series]bool{}
	up := 1.0
	if s.Error != "" {
		up = 0
	} else if err := parse(s.Text, of, func(l labels.Labels, v float64) { now[e.memory.add(l, atMs, v)] = true }); err != nil {
		return fmt.Errorf("%s does not serve Prometheus's text format: %w", s.Instance, err)
	}
	vanish(e.targets[key], now, atMs)
	e.targets[key] = now
	e.memory.add(named(of, "up"), atMs, up)
	return nil
}

// rule evaluates a rule. It enters the series that it writes into now, and the keys of its active alerts into seen.
func (e *evaluation) rule(number int, scrape *alerts.Scrape, now map[*series]bool, seen map[string]bool) error {
	r, atMs := &e.rules[number], scrape.AtMs
	vector, err := e.query(r.Expr, atMs)
	if err != nil {
		return err
	}
	for _, s := range vector {
		b := labels.NewBuilder(s.Metric)
		b.Del(labels.MetricName)
		if r.Alert == "" {
			b.Set(labels.MetricName, r.Record)
			for name, v := range r.Labels {
				b.Set(name, v)
			}
			now[e.memory.add(b.Labels(), atMs, s.F)] = true
			continue
		}
		if scrape.Excused {
			continue
		}
		for name, text := range r.Labels {
			b.Set(name, expand(text, s.Metric, s.F))
		}
		b.Set(labels.AlertName, r.Alert)
		l := b.Labels()
		key := fmt.Sprint(number, l)
		seen[key] = true
		a := e.active[key]
		if a == nil {
			a = &alert{rule: r, labels: l, sinceMs: atMs, number: number}
			e.active[key] = a
		}
		a.value = s.F
		a.firing = a.firing || atMs-a.sinceMs >= r.For.Milliseconds()
		state := "pending"
		if a.firing {
			state = "firing"
		}
		now[e.memory.add(named(labels.NewBuilder(l).Set("alertstate", state).Labels(), "ALERTS"), atMs, 1)] = true
	}
	return nil
}

// vanish ends the series that are gone.
func vanish(before, now map[*series]bool, atMs int64) {
	for s := range before {
		if !now[s] {
			s.end(atMs)
		}
	}
}

func named(l labels.Labels, name string) labels.Labels {
	return labels.NewBuilder(l).Set(labels.MetricName, name).Labels()
}

func (e *evaluation) query(expr string, atMs int64) (promql.Vector, error) {
	q, err := e.engine.NewInstantQuery(context.Background(), e.memory, nil, expr, time.UnixMilli(atMs))
	if err != nil {
		return nil, err
	}
	defer q.Close()
	result := q.Exec(context.Background())
	if result.Err != nil {
		return nil, result.Err
	}
	switch v := result.Value.(type) {
	case promql.Vector:
		for i := range v {
			if v[i].H != nil {
				return nil, fmt.Errorf("it returns a native histogram, which scrapes do not contain")
			}
		}
		return slices.Clone(v), nil // Close takes its memory back
	case promql.Scalar:
		return promql.Vector{{F: v.V, T: v.T}}, nil
	}
	return nil, fmt.Errorf("it returns a %s, not a vector", result.Value.Type())
}

// missing returns why an expression could have had no result so far, or nothing: a selector in it never gave a value. Either side
// of an `or` is enough, the right side of an `unless` is not needed, and absent() looks for what is not there. `around` writes
// the calls around an expression by which a selector of a range has a value.
func (e *evaluation) missing(n parser.Expr, atMs int64, around func(expr string) string) (string, error) {
	switch x := n.(type) {
	case *parser.VectorSelector:
		return e.silent(x, around(wider(x).String()), around(x.String()), atMs)
	case *parser.MatrixSelector:
		of := x.VectorSelector.(*parser.VectorSelector)
		wide := *x
		wide.VectorSelector = wider(of)
		return e.silent(of, around(wide.String()), around(x.String()), atMs)
	case *parser.SubqueryExpr:
		return e.missing(x.Expr, atMs, func(expr string) string {
			return around("(" + expr + ")" + strings.TrimPrefix(x.String(), x.Expr.String()))
		})
	case *parser.BinaryExpr:
		left, err := e.missing(x.LHS, atMs, around)
		if err != nil || x.Op == parser.LUNLESS {
			return left, err
		}
		right, err := e.missing(x.RHS, atMs, around)
		if err != nil || x.Op == parser.LOR && (left == "" || right == "") {
			return "", err
		}
		return cmp.Or(left, right), nil
	case *parser.Call:
		if x.Func.Name == "absent" || x.Func.Name == "absent_over_time" {
			return "", nil
		}
	}
	reason := ""
	for child := range parser.ChildrenIter(n) {
		sub, ok := child.(parser.Expr)
		if !ok {
			continue
		}
		with := around
		if call, ok := n.(*parser.Call); ok && sub.Type() == parser.ValueTypeMatrix {
			with = func(expr string) string { return around(calling(call, sub, expr)) }
		}
		why, err := e.missing(sub, atMs, with)
		if err != nil {
			return "", err
		}
		reason = cmp.Or(reason, why)
	}
	return reason, nil
}

// calling writes a call with an expression in the place of one of its arguments.
func calling(call *parser.Call, place parser.Expr, expr string) string {
	var args []string
	for _, a := range call.Args {
		if a == place {
			args = append(args, expr)
		} else {
			args = append(args, a.String())
		}
	}
	return call.Func.Name + "(" + strings.Join(args, ", ") + ")"
}

// silent returns why a selector never gave a value. It is evaluated with the calls around it, less strictly, until it has given
// one; `text` is how the user wrote these.
func (e *evaluation) silent(s *parser.VectorSelector, wide, text string, atMs int64) (string, error) {
	if metricOf(s.LabelMatchers) == "ALERTS" { // whether an alert was active is the question
		return e.nobody(s), nil
	}
	if !e.gave[wide] {
		vector, err := e.query(wide, atMs)
		if err != nil {
			return "", err
		}
		e.gave[wide] = len(vector) > 0
	}
	if e.gave[wide] {
		return "", nil
	}
	return cmp.Or(e.never(s.LabelMatchers), fmt.Sprintf("%s never had a value: its window had too few samples, or its offset had none", text)), nil
}

// nobody returns that a selector of ALERTS asks for an alert that no rule has, or nothing.
func (e *evaluation) nobody(s *parser.VectorSelector) string {
	var names []*labels.Matcher
	for _, m := range s.LabelMatchers {
		if m.Name == labels.AlertName {
			names = append(names, m)
		}
	}
	if slices.ContainsFunc(e.rules, func(r Rule) bool {
		return r.Alert != "" && matches(labels.FromStrings(labels.AlertName, r.Alert), names)
	}) {
		return ""
	}
	return fmt.Sprintf("no rule defines an alert that %s selects", s)
}

// targeted reports whether a matcher is about the metric's name or a label of targets, which must match.
func targeted(m *labels.Matcher) bool {
	return m.Name == "job" || m.Name == "instance" || m.Name == labels.MetricName
}

// wider is a selector for which the labels that a program gives its metrics may have any values, since some values, such as codes
// of errors, are rare; but the metrics must have such labels.
func wider(s *parser.VectorSelector) *parser.VectorSelector {
	wide := *s
	wide.LabelMatchers = nil
	for _, m := range s.LabelMatchers {
		switch {
		case targeted(m):
			wide.LabelMatchers = append(wide.LabelMatchers, m)
		case !m.Matches(""):
			wide.LabelMatchers = append(wide.LabelMatchers, labels.MustNewMatcher(labels.MatchNotEqual, m.Name, ""))
		}
	}
	return &wide
}

// never returns which part of a selector, as wide as wider makes it, has matched nothing at any time.
func (e *evaluation) never(matchers []*labels.Matcher) string {
	name := metricOf(matchers)
	among := e.memory.list
	if name != "" {
		among = e.memory.byName[name]
	}
	if len(among) == 0 {
		return fmt.Sprintf("metric %s never existed", name)
	}
	var rest []*labels.Matcher
	for _, m := range matchers {
		if targeted(m) {
			rest = append(rest, m)
		} else if !m.Matches("") && !slices.ContainsFunc(among, func(s *series) bool { return s.labels.Get(m.Name) != "" }) {
			return fmt.Sprintf("%s never had a label %q", name, m.Name)
		}
	}
	if !slices.ContainsFunc(among, func(s *series) bool { return matches(s.labels, rest) }) {
		return fmt.Sprintf("nothing matched %s; targets have the labels %s", written(rest), e.targetLabels())
	}
	return ""
}

func (e *evaluation) targetLabels() string {
	list := slices.Sorted(maps.Keys(e.targets))
	return strings.Join(list, ", ")
}
