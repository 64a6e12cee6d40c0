package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/model"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// mostLeftOut is the share of events that a model may leave out if the file does not say.
const mostLeftOut = 0.05

// conformance reads which steps of a specification the events of a run are.
func (l *loader) conformance(n *node, c *world.Check, key string) {
	before := len(l.errs)
	m := &world.Mapping{LeftOut: valueOr(n.get("left_out"), mostLeftOut)}
	c.Mapping = m
	file := func(name, text string) string {
		if text == "" {
			return ""
		}
		path := l.under(l.spec.Dir, text)
		if _, err := os.Stat(path); err != nil {
			l.fail(n.get(name).position, "give the path of a file, from the folder of this one", "%s.%s: %v", key, name, err)
		}
		return path
	}
	l.missing(n, "spec", "add `spec: Name.tla`", "%s has no specification", key)
	m.Spec = file("spec", valueOr(n.get("spec"), ""))
	if m.Config = file("config", valueOr(n.get("config"), "")); m.Config == "" && m.Spec != "" {
		m.Config = strings.TrimSuffix(m.Spec, ".tla") + ".cfg"
		if _, err := os.Stat(m.Config); err != nil {
			l.fail(n.get("spec").position, "write it, or name another by `config:`", "%s: the specification has no configuration: %v", key, err)
		}
	}
	for _, e := range n.get("library").scalars() {
		m.Library = append(m.Library, l.under(l.spec.Dir, e.text))
	}
	m.View = strings.TrimSpace(valueOr(n.get("view"), ""))
	m.Lines = patternText(n.get("lines"))
	l.missing(n, "events", "add `events:` with rules such as `{log: 'accepted (?P<n>\\d+)', action: Accept, args: [node, int(n)]}`", "%s does not say what the steps are", key)
	list := n.get("events").list()
	if n.get("events") != nil && len(list) == 0 {
		l.fail(n.get("events").position, "write a rule", "%s.events is empty: no event would be a step", key)
	}
	for i, e := range list {
		m.Rules = append(m.Rules, l.modelRule(e, fmt.Sprintf("%s.events[%d]", key, i)))
	}
	if len(l.errs) > before {
		return
	}
	_, err := model.Map(m)
	for _, err := range apart(err) {
		at, remedy, where := n.position, "look at "+m.Spec, key
		var wrong *model.RuleError
		if errors.As(err, &wrong) {
			remedy = wrong.Remedy
			if wrong.Rule >= 0 {
				at = list[wrong.Rule].position
				name, _, _ := strings.Cut(wrong.Key, "[")
				if e := list[wrong.Rule].get(name); e != nil {
					at = e.position
				}
			}
			if e := n.get(wrong.Key); wrong.Rule < 0 && e != nil {
				at = e.position
			}
		} else if e := n.get("spec"); e != nil {
			at = e.position
		}
		l.fail(at, remedy, "%s: %v", where, err)
	}
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

func patternText(n *node) string {
	if re := valueOr[*regexp.Regexp](n, nil); re != nil {
		return n.text
	}
	return ""
}

// modelRule reads which events are which steps.
func (l *loader) modelRule(n *node, key string) world.ModelRule {
	r := world.ModelRule{Log: patternText(n.get("log")), Crash: valueOr(n.get("crash"), false), Restart: valueOr(n.get("restart"), false), Operation: patternText(n.get("operation")),
		Outcome: valueOr(n.get("outcome"), ""), Node: patternText(n.get("node")), Action: strings.TrimSpace(valueOr(n.get("action"), "")), Args: n.get("args").words(),
		Ignore: strings.TrimSpace(valueOr(n.get("ignore"), ""))}
	var about []string
	for _, name := range []string{"log", "crash", "restart", "operation"} {
		if n.has(name) {
			about = append(about, name)
		}
	}
	if len(about) != 1 {
		l.fail(n.position, "give one of log, crash, restart and operation", "%s is about %s: it must be about one kind of events", key, orNothing(about))
	}
	for _, name := range []string{"crash", "restart"} {
		if e := n.get(name); e != nil && !valueOr(e, false) {
			l.fail(e.position, "write true, or remove the rule", "%s.%s: false matches nothing", key, name)
		}
	}
	if e := n.get("outcome"); e != nil && !n.has("operation") {
		l.fail(e.position, "remove it", "%s.outcome is of operations", key)
	}
	switch {
	case r.Action != "" && r.Ignore != "":
		l.fail(n.get("ignore").position, "keep one of the two", "%s has an action, and is to be ignored", key)
	case r.Action == "" && r.Ignore == "":
		l.fail(n.position, "add `action:`, or `ignore:` with the reason", "%s does not say which step the event is", key)
	case r.Ignore != "" && (n.has("args") || n.has("shows")):
		l.fail(n.get("ignore").position, "remove them, or give an action", "%s has arguments, and is to be ignored", key)
	}
	for i, e := range n.get("shows").list() {
		at := fmt.Sprintf("%s.shows[%d]", key, i)
		l.missing(e, "operator", "add `operator:`", "%s names no operator", at)
		l.missing(e, "is", "add `is:`", "%s does not say what the operator must be", at)
		r.Shows = append(r.Shows, world.Shown{Operator: valueOr(e.get("operator"), ""), Args: e.get("args").words(), Is: valueOr(e.get("is"), "")})
	}
	return r
}

func orNothing(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(slices.Clone(words), " and ")
}
