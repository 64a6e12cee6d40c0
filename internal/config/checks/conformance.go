package checks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// mostLeftOut is the share of events that a model may leave out if the file does not say.
const mostLeftOut = 0.05

// Guide reads the mapping of a model that guides the search; nil if there is none.
func Guide(l *load.State, n *source.Node, key string) *world.Mapping {
	if n == nil || n.Bad {
		return nil
	}
	return mapping(l, n, key, 1)
}

// mapping reads which steps of a specification the events of a run are. leftOut is the share of events that may be left out if the file does not say.
func mapping(l *load.State, n *source.Node, key string, leftOut float64) *world.Mapping {
	before := len(l.Errs)
	m := &world.Mapping{LeftOut: source.ValueOr(n.Get("left_out"), leftOut)}
	file := func(name, text string) string {
		if text == "" {
			return ""
		}
		path := l.Under(l.Spec.Dir, text)
		if _, err := os.Stat(path); err != nil {
			l.Fail(n.Get(name).Position, "write a path relative to the folder of this file", "%s.%s: %v", key, name, err)
		}
		return path
	}
	l.Missing(n, "spec", "add `spec: Name.tla`", "%s has no specification", key)
	m.Spec = file("spec", source.ValueOr(n.Get("spec"), ""))
	if m.Config = file("config", source.ValueOr(n.Get("config"), "")); m.Config == "" && m.Spec != "" {
		m.Config = strings.TrimSuffix(m.Spec, ".tla") + ".cfg"
		if _, err := os.Stat(m.Config); err != nil {
			l.Fail(n.Get("spec").Position, "write that file, or set `config:`", "%s: the specification has no configuration file: %v", key, err)
		}
	}
	for _, e := range n.Get("library").Scalars() {
		m.Library = append(m.Library, l.Under(l.Spec.Dir, e.Text))
	}
	m.View = strings.TrimSpace(source.ValueOr(n.Get("view"), ""))
	m.Lines = patternText(n.Get("lines"))
	l.Missing(n, "events", "add `events:` with rules such as `{log: 'accepted (?P<n>\\d+)', action: Accept, args: [node, int(n)]}`", "%s has no events", key)
	list := n.Get("events").List()
	if n.Get("events") != nil && len(list) == 0 {
		l.Fail(n.Get("events").Position, "write at least one rule", "%s.events is empty", key)
	}
	for i, e := range list {
		m.Rules = append(m.Rules, modelRule(l, e, fmt.Sprintf("%s.events[%d]", key, i)))
	}
	if len(l.Errs) > before {
		return m
	}
	_, err := model.Map(m)
	for _, err := range apart(err) {
		at, remedy, where := n.Position, "correct "+m.Spec, key
		var wrong *model.RuleError
		if errors.As(err, &wrong) {
			remedy = wrong.Remedy
			if wrong.Rule >= 0 {
				at = list[wrong.Rule].Position
				name, _, _ := strings.Cut(wrong.Key, "[")
				if e := list[wrong.Rule].Get(name); e != nil {
					at = e.Position
				}
			}
			if e := n.Get(wrong.Key); wrong.Rule < 0 && e != nil {
				at = e.Position
			}
		} else if e := n.Get("spec"); e != nil {
			at = e.Position
		}
		l.Fail(at, remedy, "%s: %v", where, err)
	}
	return m
}

// apart takes joined errors apart.
func apart(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func patternText(n *source.Node) string {
	if re := source.ValueOr[*regexp.Regexp](n, nil); re != nil {
		return n.Text
	}
	return ""
}

// eventsOf are the keys that say which events a rule is about.
var eventsOf = []string{"log", "sdk", "probe", "crash", "restart", "operation"}

// modelRule reads which events are which steps.
func modelRule(l *load.State, n *source.Node, key string) world.ModelRule {
	r := world.ModelRule{At: fmt.Sprintf("%s:%d", filepath.Base(n.File.Name), n.Line), Log: patternText(n.Get("log")),
		SDK: patternText(n.Get("sdk")), Probe: patternText(n.Get("probe")), Crash: source.ValueOr(n.Get("crash"), false),
		Restart: source.ValueOr(n.Get("restart"), false), Operation: patternText(n.Get("operation")),
		Outcome: source.ValueOr(n.Get("outcome"), ""), Node: patternText(n.Get("node")),
		Action: strings.TrimSpace(source.ValueOr(n.Get("action"), "")), Args: n.Get("args").Words(),
		Ignore: strings.TrimSpace(source.ValueOr(n.Get("ignore"), "")), Optional: source.ValueOr(n.Get("optional"), false)}
	var about []string
	for _, name := range eventsOf {
		if n.Has(name) {
			about = append(about, name)
		}
	}
	if len(about) != 1 {
		choice := strings.Join(eventsOf[:len(eventsOf)-1], ", ") + " and " + eventsOf[len(eventsOf)-1]
		l.Fail(n.Position, "set one of "+choice, "%s has %s, but needs exactly one of %s", key, orNothing(about), choice)
	}
	for _, name := range []string{"crash", "restart"} {
		if e := n.Get(name); e != nil && !source.ValueOr(e, false) {
			l.Fail(e.Position, "write true, or remove the rule", "%s.%s: false matches nothing", key, name)
		}
	}
	if e := n.Get("outcome"); e != nil && !n.Has("operation") && !n.Has("probe") {
		l.Fail(e.Position, "remove it", "%s.outcome applies to operations and probes only", key)
	} else if e != nil && n.Has("probe") && r.Outcome != "ok" && r.Outcome != "fail" {
		l.Fail(e.Position, "write ok or fail", "%s.outcome: a probe cannot have the result %s", key, r.Outcome)
	}
	switch {
	case r.Action != "" && r.Ignore != "":
		l.Fail(n.Get("ignore").Position, "remove one of the two", "%s has both an action and ignore", key)
	case r.Action == "" && r.Ignore == "":
		l.Fail(n.Position, "add `action:`, or `ignore:` with the reason", "%s has no action", key)
	case r.Ignore != "" && (n.Has("args") || n.Has("shows")):
		l.Fail(n.Get("ignore").Position, "remove them, or set `action:`", "%s has ignore, which allows neither args nor shows", key)
	}
	for i, e := range n.Get("shows").List() {
		at := fmt.Sprintf("%s.shows[%d]", key, i)
		l.Missing(e, "operator", "add `operator:`", "%s has no operator", at)
		l.Missing(e, "is", "add `is:`", "%s has no expected value", at)
		r.Shows = append(r.Shows, world.Shown{Operator: source.ValueOr(e.Get("operator"), ""), Args: e.Get("args").Words(),
			Is: source.ValueOr(e.Get("is"), "")})
	}
	return r
}

func orNothing(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(slices.Clone(words), " and ")
}
