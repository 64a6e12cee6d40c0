package alerts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Bounds of one expression. Time is real and only ends what would have no end: reaching it is an error, never a missing alert.
const (
	maxSamples = 50_000_000
	maxTime    = 30 * time.Second
	lookback   = 5 * time.Minute // Prometheus' --query.lookback-delta
)

// Evaluation is the state of the rules in one run.
type Evaluation struct {
	rules   []Rule
	memory  *memory
	engine  *promql.Engine
	targets map[string]map[*series]bool // by target, what its last scrape had
	written map[*series]bool            // what rules wrote in the last step
	active  map[string]*Alert
}

// Alert is an alert that is pending or firing.
type Alert struct {
	Rule    *Rule
	Labels  labels.Labels
	Value   float64
	SinceMs int64 // since when its expression is true
	Firing  bool
	rule    int
}

func (a *Alert) String() string { return a.Rule.Alert + withoutName(a.Labels) }

func withoutName(l labels.Labels) string {
	return labels.NewBuilder(l).Del(labels.AlertName).Labels().String()
}

// New begins to evaluate rules.
func New(rules []Rule) *Evaluation {
	return &Evaluation{rules: rules, memory: newMemory(), targets: map[string]map[*series]bool{}, written: map[*series]bool{}, active: map[string]*Alert{},
		engine: promql.NewEngine(promql.EngineOpts{MaxSamples: maxSamples, Timeout: maxTime, LookbackDelta: lookback, EnableAtModifier: true, EnableNegativeOffset: true,
			NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() }})} // Prometheus' default of evaluation_interval
}

// Scraped takes in what the targets served at a time, in milliseconds since 1970. It returns what was no metrics.
func (e *Evaluation) Scraped(atMs int64, scrapes []world.Scraped) []error {
	var broken []error
	for i := range scrapes {
		s := &scrapes[i]
		of := labels.FromStrings("job", s.Job, "instance", s.Instance)
		key := of.String()
		now := map[*series]bool{}
		up := 1.0
		if s.Error != "" {
			up = 0
		} else if err := parse(s.Text, of, func(l labels.Labels, v float64) { now[e.memory.add(l, atMs, v)] = true }); err != nil {
			broken = append(broken, fmt.Errorf("%s serves what is not the text format of Prometheus: %w", s.Instance, err))
			up, now = 0, map[*series]bool{}
		}
		vanish(e.targets[key], now, atMs)
		e.targets[key] = now
		e.memory.add(named(of, "up"), atMs, up)
	}
	return broken
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

// Step evaluates all rules at a time, in their order, and returns the alerts that are active, in the order of their texts. While faults excuse alerts, none is active.
func (e *Evaluation) Step(atMs int64, excused bool) ([]*Alert, error) {
	now := map[*series]bool{}
	seen := map[string]bool{}
	for i := range e.rules {
		r := &e.rules[i]
		vector, err := e.query(r, atMs)
		if err != nil {
			return nil, fmt.Errorf("rule %s of %s: %w", r.Name(), r.File, err)
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
			if excused {
				continue
			}
			for name, text := range r.Labels {
				b.Set(name, expand(text, s.Metric, s.F))
			}
			b.Set(labels.AlertName, r.Alert)
			l := b.Labels()
			key := fmt.Sprint(i, l)
			seen[key] = true
			a := e.active[key]
			if a == nil {
				a = &Alert{Rule: r, Labels: l, SinceMs: atMs, rule: i}
				e.active[key] = a
			}
			a.Value = s.F
			a.Firing = a.Firing || atMs-a.SinceMs >= r.For.Milliseconds()
			state := "pending"
			if a.Firing {
				state = "firing"
			}
			now[e.memory.add(named(labels.NewBuilder(l).Set("alertstate", state).Labels(), "ALERTS"), atMs, 1)] = true
		}
	}
	maps.DeleteFunc(e.active, func(key string, _ *Alert) bool { return !seen[key] })
	vanish(e.written, now, atMs)
	e.written = now
	list := slices.Collect(maps.Values(e.active))
	slices.SortFunc(list, func(a, b *Alert) int {
		if a.rule != b.rule {
			return a.rule - b.rule
		}
		return labels.Compare(a.Labels, b.Labels)
	})
	return list, nil
}

func (e *Evaluation) query(r *Rule, atMs int64) (promql.Vector, error) {
	q, err := e.engine.NewInstantQuery(context.Background(), e.memory, nil, r.Expr.String(), time.UnixMilli(atMs))
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
				return nil, fmt.Errorf("it gives a native histogram, and scrapes have none")
			}
		}
		return slices.Clone(v), nil // Close takes its memory back
	case promql.Scalar:
		return promql.Vector{{F: v.V, T: v.T}}, nil
	}
	return nil, fmt.Errorf("it gives a %s and no vector", result.Value.Type())
}

// Unseen returns why a rule could not have fired in this run, or nothing: a metric that it needs never existed.
func (e *Evaluation) Unseen(r *Rule) string { return e.unseen(r.Expr) }

// unseen goes through an expression. Either side of an `or` is enough, the right side of an `unless` is not needed, and absent() looks for what is not there.
func (e *Evaluation) unseen(n parser.Expr) string {
	switch x := n.(type) {
	case *parser.VectorSelector:
		return e.missing(x.LabelMatchers)
	case *parser.BinaryExpr:
		left, right := e.unseen(x.LHS), e.unseen(x.RHS)
		switch {
		case x.Op == parser.LUNLESS:
			return left
		case x.Op == parser.LOR && (left == "" || right == ""):
			return ""
		case left != "":
			return left
		}
		return right
	case *parser.Call:
		if x.Func.Name == "absent" || x.Func.Name == "absent_over_time" {
			return ""
		}
	}
	for child := range parser.ChildrenIter(n) {
		if sub, ok := child.(parser.Expr); ok {
			if why := e.unseen(sub); why != "" {
				return why
			}
		}
	}
	return ""
}

// missing returns why a selector never selected anything. Labels that a program gives its metrics may have any values, since some values, such as codes of errors, are rare; but it must
// have such labels. Labels of targets must match.
func (e *Evaluation) missing(matchers []*labels.Matcher) string {
	name := metricOf(matchers)
	among := e.memory.list
	if name != "" {
		among = e.memory.byName[name]
	}
	if name == "ALERTS" { // whether an alert was active is the question
		return ""
	}
	if len(among) == 0 {
		return fmt.Sprintf("metric %s never existed", name)
	}
	var rest []*labels.Matcher
	for _, m := range matchers {
		if target := m.Name == "job" || m.Name == "instance"; target || m.Name == labels.MetricName {
			rest = append(rest, m)
			continue
		}
		if m.Matches("") {
			continue
		}
		if !slices.ContainsFunc(among, func(s *series) bool { return s.labels.Get(m.Name) != "" }) {
			return fmt.Sprintf("%s never had a label %q", name, m.Name)
		}
	}
	if !slices.ContainsFunc(among, func(s *series) bool { return matches(s.labels, rest) }) {
		return fmt.Sprintf("nothing matched %s; targets have the labels %s", written(rest), e.targetLabels())
	}
	return ""
}

func (e *Evaluation) targetLabels() string {
	list := slices.Sorted(maps.Keys(e.targets))
	return strings.Join(list, ", ")
}
