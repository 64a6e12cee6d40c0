package faults

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

func writtenRules(l *load.State, n *source.Node, roles []string) []world.FaultRule {
	var rules []world.FaultRule
	for i, item := range n.List() {
		key := fmt.Sprintf("faults.rules[%d]", i)
		var r world.FaultRule
		ok := false
		if item.Kind == source.Scalar {
			r, ok = sentence(l, item, key, roles)
		} else {
			r, ok = rule(l, item, key, roles)
		}
		if !ok {
			continue
		}
		feasible(l, item.Position, &r, key)
		if r.MaxNs == 0 {
			span := fault.RowOf(r.Kind).Span
			r.MinNs, r.MaxNs = span.MinNs, span.MaxNs
		}
		if r.Most == 0 {
			amount(l, nil, "", &r)
		}
		if r.RatePPM == 0 && !slices.ContainsFunc(presets[l.Spec.Faults.Mode], func(p world.FaultRule) bool { return p.Kind == r.Kind }) {
			l.Idle(item.Position, key, "its rate is 0, so it never injects; write a higher rate, or remove the rule")
		}
		rules = append(rules, r)
	}
	return rules
}

// sentence reads a rule of one line, in the language of package fault.
func sentence(l *load.State, n *source.Node, key string, roles []string) (world.FaultRule, bool) {
	before := len(l.Errs)
	r, err := fault.Parse(n.Text)
	if err != nil {
		l.Fail(n.Position, "see `bloodhound docs faults` for the syntax; an example: crash on n1 after 5s max 1", "%s: %v", key, err)
		return r, false
	}
	r.Text = strings.Join(strings.Fields(n.Text), " ")
	condition(l, n.Position, &r, r.When, key, roles)
	var targets []string
	for _, t := range r.Targets {
		targets = append(targets, expand(l, t)...)
	}
	r.Targets = targets
	for _, t := range r.Targets {
		faultTarget(l, n.Position, t, r.Kind, key)
	}
	if len(l.Errs) == before {
		partShape(l, n.Position, &r, key)
		hidden(l, n.Position, &r, key)
	}
	if len(l.Errs) == before && (r.OnCalls() || r.NthTo > 0) {
		calls(l, n.Position, &r, key)
	}
	return r, len(l.Errs) == before
}

// moments are the keys of a rule that say at what programs do it injects.
var moments = []string{"at", "during", "after_call", "after_reply", "between", "in_recovery", "in_transfer", "in_operation"}

// aloneKeys are those of the moments without calls.
var aloneKeys = map[string]world.Moment{"after_reply": world.AfterReply, "in_recovery": world.InRecovery, "in_transfer": world.InTransfer}

// moment reads where a rule injects, and gives the place of the key that says so; nil if there is none.
func moment(l *load.State, n *source.Node, r *world.FaultRule, key string) (at *source.Node) {
	for _, name := range moments {
		written := n.Get(name)
		alone := aloneKeys[name]
		switch {
		case written == nil, alone != "" && !source.ValueOr(written, false):
			continue
		case at != nil:
			l.Fail(written.Position, "remove all but one of them", "%s has more than one of %s", key, strings.Join(moments, ", "))
			return at
		}
		at = written
		if alone != "" {
			r.Moment = alone
			continue
		}
		switch name {
		case "between":
			if err := fault.ParseBetween(r, written.Text); err != nil {
				l.Fail(written.Position, "write two calls such as: fsync of *.tmp and rename of *.snap", "%s.between: %v", key, err)
			}
			if p := n.Get("path"); p != nil {
				l.Fail(p.Position, "write each pattern directly after its call, such as: fsync of *.tmp and rename of *.snap",
					"%s.path cannot be combined with `between`, which has two calls", key)
			}
			continue
		case "in_operation":
			r.Moment, r.Path = world.InOperation, written.Text
			if p := n.Get("path"); p != nil {
				l.Fail(p.Position, "remove it", "%s.path cannot be combined with `in_operation`, which is not about files", key)
			}
			continue
		case "during":
			r.Moment = world.During
		case "after_call":
			r.Moment = world.AfterCall
		}
		for _, c := range written.Scalars() {
			r.At = append(r.At, c.Text)
		}
	}
	if nth := n.Get("nth"); nth != nil {
		var err error
		if r.NthFrom, r.NthTo, err = fault.ParseNth(nth.Text); err != nil {
			l.Fail(nth.Position, "write a number such as 7, or a range such as 1..200", "%s.nth: %v", key, err)
		}
		if at == nil {
			at = nth
		}
	}
	return at
}

// conditions are those of a rule, each of which must hold.
func conditions(l *load.State, n *source.Node, r *world.FaultRule, key string, roles []string) (when []string) {
	if a := n.Get("after"); a != nil {
		when = append(when, fault.After(a.Value.(int64)))
	}
	if a := n.Get("after_event"); a != nil {
		when = append(when, fault.AfterEvent(uint64(a.Value.(int64))))
	}
	if w := n.Get("while"); w != nil {
		knownRole(l, w.Position, w.Text, key+".while", roles)
		when = append(when, "role == "+strconv.Quote(w.Text))
	}
	if w := n.Get("when"); w != nil {
		if strings.TrimSpace(w.Text) == "" {
			l.Fail(w.Position, "remove it, or write a condition such as: operations > 100", "%s.when is empty", key)
		} else {
			condition(l, w.Position, r, w.Text, key+".when", roles)
		}
		when = append(when, w.Text)
	}
	return when
}

// idleKeys notes the keys of a rule that have no effect on its kind of fault.
func idleKeys(l *load.State, n *source.Node, r *world.FaultRule, key string) {
	for _, name := range []string{"amount_ms", "amount_ppm"} {
		if n.Has(name) && amountKey(r.Kind) != name {
			l.Idle(n.Entry(name).Key.Position, key+"."+name, string(r.Kind)+" does not use this amount")
		}
	}
	if r.OneWay && fault.RowOf(r.Kind).Place != fault.OnLink {
		l.Idle(n.Entry("one_way").Key.Position, key+".one_way", "only partition, clog, slow_link and reset have a direction")
	}
	if r.Max > 0 && fault.RowOf(r.Kind).Place == fault.OnPacket {
		l.Idle(n.Entry("max").Key.Position, key+".max", "the number of faults per packet is not limited")
	}
}

func rule(l *load.State, n *source.Node, key string, roles []string) (world.FaultRule, bool) {
	before := len(l.Errs)
	r := world.FaultRule{Kind: world.FaultKind(source.ValueOr(n.Get("kind"), "")), RatePPM: source.ValueOr(n.Get("rate"), uint64(0)),
		LinkEffect: world.LinkEffect{OneWay: source.ValueOr(n.Get("one_way"), false)}, Max: int(source.ValueOr(n.Get("max"), int64(0))), ByUser: true,
		Trigger:   world.Trigger{Path: source.ValueOr(n.Get("path"), "")},
		FromStart: source.ValueOr(n.Get("from_start"), false)}
	if r.Kind == "" {
		l.Missing(n, "kind", "add `kind:`, one of "+strings.Join(keys.FaultKinds, ", "), "%s has no kind", key)
		return r, false
	}
	operatorCommand(l, n, &r, key)
	at := moment(l, n, &r, key)
	when := conditions(l, n, &r, key, roles)
	r.When = fault.All(when...)
	switch {
	case n.Has("rate"):
	case len(when) > 0 || r.OnCalls():
		r.RatePPM = 1_000_000
	default:
		l.Missing(n, "rate", "add `rate:`, from 0 to 1", "%s has no rate", key)
		return r, false
	}
	if d := n.Get("duration_ms"); d != nil {
		v := d.Value.([2]int64)
		r.MinNs, r.MaxNs = v[0], v[1]
		if r.MaxNs > 0 && !fault.RowOf(r.Kind).Lasts() {
			l.Idle(n.Entry("duration_ms").Key.Position, key+".duration_ms", string(r.Kind)+" has no duration")
		}
	}
	slowLink(l, n, "", key+".", &r)
	amount(l, n, amountKey(r.Kind), &r)
	idleKeys(l, n, &r, key)
	for _, t := range n.Get("targets").Scalars() {
		for _, target := range expand(l, t.Text) {
			if !faultTarget(l, t.Position, target, r.Kind, key+".targets") {
				break
			}
			r.Targets = append(r.Targets, target)
		}
	}
	hidden(l, n.Get("kind").Position, &r, key)
	if s := n.Get("shape"); s != nil && len(l.Errs) == before {
		r.Shape = s.Text
		partShape(l, s.Position, &r, key)
	}
	switch {
	case at != nil && len(r.At) == 0 && !r.Moment.Alone() && !n.Has("nth"):
		l.Fail(at.Position, "list system calls, such as fsync", "%s has an empty list of calls", key)
	case at != nil && len(l.Errs) == before:
		calls(l, at.Position, &r, key)
	case at == nil && r.Path != "" && fault.RowOf(r.Kind).Place != fault.OnCall:
		l.Fail(n.Get("path").Position, "add `at:` with system calls", "%s.path applies to system calls, but there is no `at:`", key)
	}
	return r, len(l.Errs) == before
}

// operatorCommand reads the command of a rule of the kind run.
func operatorCommand(l *load.State, n *source.Node, r *world.FaultRule, key string) {
	c := n.Get("command")
	switch {
	case r.Kind != fault.Run && c != nil:
		l.Fail(c.Position, "remove it, or use `kind: run`", "%s.command: %s executes no command", key, r.Kind)
	case r.Kind == fault.Run && c == nil:
		l.Missing(n, "command", "add `command:`, such as: command: etcdctl defrag", "%s has no command", key)
	case c != nil:
		if r.Command = l.Argv(c, key+".command"); len(r.Command) == 0 && !c.Bad {
			l.Fail(c.Position, "write the name of a program, and its arguments", "%s.command is empty", key)
		}
	}
}

// feasible refuses upgrades and downgrades of nodes without releases.
func feasible(l *load.State, at source.Position, r *world.FaultRule, key string) {
	if r.Kind != fault.Upgrade && r.Kind != fault.Downgrade || len(l.Errs) > 0 {
		return
	}
	for i := range l.Nodes {
		n := &l.Nodes[i].Spec
		if n.Role == world.Server && len(n.Releases) > 0 && (len(r.Targets) == 0 || slices.Contains(r.Targets, n.Name)) {
			return
		}
	}
	l.Fail(at, "list the commands of later releases with `releases` of a node", "%s: none of its nodes has other releases", key)
}

// calls checks the system calls at which a rule injects, and the files.
func calls(l *load.State, at source.Position, r *world.FaultRule, key string) {
	for _, c := range slices.Concat(r.At, r.Then) {
		if !callName.MatchString(c) {
			l.Fail(at, "write a name as strace prints it, such as fsync", "%s: %q is not the name of a system call", key, source.Shorten(c))
		}
	}
	row := fault.RowOf(r.Kind)
	for _, c := range r.At {
		if row.Call != nil && callName.MatchString(c) && !slices.Contains(row.Call.Names, c) {
			l.Fail(at, "use some of "+strings.Join(row.Call.Names, ", ")+", or use another kind", "%s: %s cannot be injected into %s", key, r.Kind, c)
		}
	}
	if why := fault.WrongMoment(row, r.Moment, r.At, r.Then, r.NthTo); why != "" {
		l.Fail(at, "see `bloodhound docs faults` for moments", "%s: %s: %s", key, r.Kind, why)
	}
	for _, pattern := range []string{r.Path, r.ThenPath} {
		if _, err := path.Match(pattern, ""); err != nil {
			l.Fail(at, "write a pattern such as *.wal", "%s: %q is not a valid pattern for file names", key, source.Shorten(pattern))
		}
	}
	l.Places[load.Place{Part: engine.PartFault, Name: strings.Join(r.At, ",")}] = load.Location{Position: at, Key: key}
}

var callName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// condition checks a condition of a rule: one that asks for what does not exist is never true, or always.
func condition(l *load.State, at source.Position, r *world.FaultRule, text, key string, roles []string) {
	if text == "" {
		return
	}
	if _, err := fault.CompileCondition(text); err != nil {
		l.Fail(at, "see `bloodhound docs faults` for conditions; an example: role == \"leader\" and time_s > 5", "%s: %v", key, err)
		return
	}
	asks := fault.Asked(text)
	if len(r.At) == 0 && fault.RowOf(r.Kind).Place != fault.OnCall {
		for _, name := range []string{"call", "path"} {
			if slices.Contains(asks.Names, name) {
				l.Fail(at, "set `at` to system calls, or remove it from the condition", "%s: `%s` exists only in rules with `at`", key, name)
			}
		}
	}
	var patterns []string
	for _, p := range l.Spec.LogPatterns {
		patterns = append(patterns, p.Name)
	}
	for _, name := range asks.Logs {
		if !slices.Contains(patterns, name) {
			l.Fail(at, "define it under `log_patterns:`; "+suggest.Remedy(name, patterns), "%s: logs.%s: unknown log pattern %q",
				key, source.Shorten(name), source.Shorten(name))
		}
	}
	for _, name := range asks.Nodes {
		l.Known(at, key, name)
	}
	for _, c := range asks.Compared {
		switch c.Name {
		case "role":
			knownRole(l, at, c.Text, key, roles)
		case "node", "peer":
			if c.Text != "" {
				l.Known(at, key, c.Text)
			}
		case "call":
			if len(r.At) > 0 && !slices.Contains(r.At, c.Text) {
				l.Fail(at, "compare it with one of "+strings.Join(r.At, ", "),
					"%s: the condition tests for the call %q, which `at` does not list, so it can never be true", key, source.Shorten(c.Text))
			}
		}
	}
}

func knownRole(l *load.State, at source.Position, role, key string, roles []string) {
	if role != "" && !slices.Contains(roles, role) {
		l.Fail(at, "define it under faults.roles; "+suggest.Remedy(role, roles), "%s: unknown role %q", key, source.Shorten(role))
	}
}
