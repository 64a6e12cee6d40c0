// Package checks reads properties and the checks that judge them.
package checks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// recoveryKeys is how many keys a recovery check tries that does not say.
const recoveryKeys = 10

// Read reads `properties`, and adds the checker node if a check probes.
func Read(l *load.State, top *source.Node) {
	probes := false
	for i, n := range top.Get("properties").List() {
		key := fmt.Sprintf("properties[%d]", i)
		if n.Has("allow") {
			allow(l, n, key)
			continue
		}
		p, ok := property(l, n, key)
		if slices.ContainsFunc(l.Spec.Properties, func(o world.Property) bool { return o.Name == p.Name && p.Name != "" }) {
			l.Fail(n.Get("name").Position, "give each property a unique name", "%s: another property has the name %q", key, p.Name)
		}
		if !ok {
			continue
		}
		l.Spec.Properties = append(l.Spec.Properties, p)
		probes = probes || p.Check.Type.Probes()
	}
	if probes {
		l.Checker()
	}
}

// allow reads how programs may break a promise of every program.
func allow(l *load.State, n *source.Node, key string) {
	name := strings.TrimSpace(source.ValueOr(n.Get("name"), ""))
	if !slices.Contains(world.Promises, name) {
		l.Fail(n.Entry("allow").Key.Position, "name it "+strings.Join(world.Promises, ", ")+", or move `allow` to a node",
			"%s.allow: the property %q says nothing about how programs end", key, source.Shorten(name))
		return
	}
	for _, other := range []string{"kind", "check", "timeout", "timeout_ms", "description"} {
		if e := n.Entry(other); e != nil {
			l.Fail(e.Key.Position, "remove it", "%s.%s has no effect with `allow`, which only adds exceptions to a property that is the "+
				"same for every program", key, e.Key.Text)
		}
	}
	list := l.Allowances(n.Get("allow"), key+".allow")
	for i := range list {
		if list[i].Panic == "" && name == world.NoPanic {
			l.Fail(n.Get("allow").Position, "add `panic: TEXT`", "%s.allow does not say which panic to allow, so it would have no effect", key)
			return
		}
		list[i].Property = name
	}
	l.Spec.Allow = append(l.Spec.Allow, list...)
}

func property(l *load.State, n *source.Node, key string) (world.Property, bool) {
	before := len(l.Errs)
	p := world.Property{Name: strings.TrimSpace(source.ValueOr(n.Get("name"), "")), Kind: world.PropertyKind(source.ValueOr(n.Get("kind"), "")),
		Description: source.ValueOr(n.Get("description"), ""), TimeoutNs: source.ValueOr(n.Get("timeout"), int64(0))}
	l.Missing(n, "name", "add `name:`", "%s has no name", key)
	if e := n.Get("name"); e != nil && p.Name == "" {
		l.Fail(e.Position, "write a name", "%s.name is empty", key)
	}
	l.Missing(n, "kind", "add `kind: safety`, `liveness` or `invariant`", "%s has no kind", key)
	c := n.Get("check")
	if c == nil {
		l.Missing(n, "check", "add `check: {type: ...}`", "%s has no check", key)
		return p, false
	}
	timed := p.Kind == world.Liveness || source.ValueOr(c.Get("type"), "") == string(world.RecoveryCheck)
	switch {
	case timed && source.ValueOr(c.Get("type"), "") == string(world.ProgressCheck):
		timed = false
	case timed && p.TimeoutNs == 0:
		p.TimeoutNs = p.Timeout()
	}
	if !timed && p.TimeoutNs != 0 {
		l.Idle(n.Entry("timeout").Key.Position, key+"."+n.Entry("timeout").Key.Text, "only liveness and recovery properties have a timeout")
		p.TimeoutNs = 0
	}
	propertyCheck(l, c, &p, key+".check")
	return p, len(l.Errs) == before
}

// checkKeys names the types of checks that each key belongs to.
var checkKeys = func() map[string]string {
	types := map[string]string{}
	for i := range world.CheckKinds {
		k := &world.CheckKinds[i]
		for _, key := range k.Keys {
			types[key] = strings.TrimSpace(types[key] + " " + string(k.Type))
		}
	}
	return types
}()

// readers read what each type of checks has besides the keys that several types share.
var readers = map[world.CheckType]func(l *load.State, n *source.Node, p *world.Property, key string){
	world.Linearizability: keyed,
	world.Isolation:       isolation,
	world.Expression:      expression,
	world.InvariantCheck:  expression,
	world.Monotonic:       monotonic,
	world.Durability:      keyed,
	world.Delivery:        delivery,
	world.Watch:           keyed,
	world.Exclusion:       keyed,
	world.Unique:          ordered,
	world.Prefix:          ordered,
	world.Listing:         keyed,
	world.Conformance: func(l *load.State, n *source.Node, p *world.Property, key string) {
		p.Check.Mapping = mapping(l, n, key, mostLeftOut)
	},
	world.HTTPCheck:     httpCheck,
	world.RedisCheck:    redisCheck,
	world.SQLCheck:      sqlCheck,
	world.Custom:        custom,
	world.Agreement:     agreement,
	world.ProgressCheck: progress,
	world.RecoveryCheck: recovery,
	world.AlertsCheck:   alertsCheck,
}

func propertyCheck(l *load.State, n *source.Node, p *world.Property, key string) {
	c := &p.Check
	c.Type = world.CheckType(source.ValueOr(n.Get("type"), ""))
	if c.Type == "" {
		l.Missing(n, "type", "add `type:`, one of "+strings.Join(keys.CheckTypes, ", "), "%s has no type", key)
		return
	}
	l.OnlyFor(n, key, "type", string(c.Type), checkKeys)
	kind := c.Type.Kind()
	switch {
	case kind.Basis == world.ByProbes:
		c.IntervalNs = source.ValueOr(n.Get("interval"), kind.IntervalNs)
	case kind.Waits:
	case p.Kind == world.Liveness:
		l.Fail(n.Position, "use `kind: safety`", "%s: a violation of %s is permanent, so its property cannot be of kind liveness", key, c.Type)
	}
	if own := p.Kind == world.Progress || p.Kind == world.Recovery; own && string(p.Kind) != string(c.Type) {
		l.Fail(n.Get("type").Position, fmt.Sprintf("write `type: %s`, or another kind", p.Kind),
			"%s.type: a property of kind %s needs the check of the same name", key, p.Kind)
	}
	modelOf(l, n, c, key)
	if read := readers[c.Type]; read != nil {
		read(l, n, p, key)
	}
	tolerance(l, n, p, key)
}

// keyed reads which operations and keys are judged.
func keyed(l *load.State, n *source.Node, p *world.Property, key string) {
	if p.Check.Type.Kind().Uses("operations") {
		operationsOf(l, n, p, key)
	}
	judgedKeys(l, n.Get("keys"), &p.Check, key)
}

func isolation(l *load.State, n *source.Node, p *world.Property, key string) {
	c := &p.Check
	c.Level = source.ValueOr(n.Get("level"), "serializable")
	if c.Model == "list-append" && slices.Contains(keys.RegistersOnly, c.Level) {
		l.Fail(n.Get("level").Position, "use read-committed or snapshot-isolation, or `model: rw-register`",
			"%s.level: %s is supported for registers only", key, c.Level)
	}
}

func delivery(l *load.State, n *source.Node, p *world.Property, key string) {
	ordered(l, n, p, key)
	p.Check.Level = source.ValueOr(n.Get("level"), "")
}

// ordered reads a check of operations that may judge their order.
func ordered(l *load.State, n *source.Node, p *world.Property, key string) {
	keyed(l, n, p, key)
	p.Check.Order = source.ValueOr(n.Get("order"), "")
}

func monotonic(l *load.State, n *source.Node, p *world.Property, key string) {
	keyed(l, n, p, key)
	performed(l, n.Get("operations"), key+".operations")
}

func progress(l *load.State, n *source.Node, p *world.Property, key string) {
	c := &p.Check
	operationsOf(l, n, p, key)
	performed(l, n.Get("operations"), key+".operations")
	c.Failures = int(source.ValueOr(n.Get("failures"), int64(0)))
	c.HangNs = source.ValueOr(n.Get("hang"), int64(0))
	c.GraceNs = grace(l, n, key)
	c.DuringFaults = source.ValueOr(n.Get("during_faults"), false)
	if !n.Has("failures") && !n.Has("hang") {
		l.Missing(n, "failures", "add `failures: 20`, `hang: 10s`, or both", "%s has neither failures nor hang", key)
	}
	jobs(l, n.Get("jobs"), c, key+".jobs")
}

func recovery(l *load.State, n *source.Node, p *world.Property, key string) {
	operationsOf(l, n, p, key)
	performed(l, n.Get("operations"), key+".operations")
	p.Check.Keys = int(source.ValueOr(n.Get("keys"), int64(recoveryKeys)))
	if e := n.Get("keys"); e != nil && e.Kind != source.Scalar {
		l.Fail(e.Position, "write a number, such as `keys: 10`", "%s.keys of a recovery check must be the number of keys to try", key)
	}
	jobs(l, n.Get("jobs"), &p.Check, key+".jobs")
}

func expression(l *load.State, n *source.Node, p *world.Property, key string) {
	c := &p.Check
	c.Condition = strings.TrimSpace(source.ValueOr(n.Get("condition"), ""))
	l.Missing(n, "condition", "add `condition:`, such as all(ops, .type != \"fail\")", "%s has no condition", key)
	l.Remember(load.Place{Part: engine.PartProperty, Name: p.Name}, n.Get("condition"), key+".condition")
	if e := n.Get("condition"); e != nil && c.Condition == "" {
		l.Fail(e.Position, "write an expression, such as all(ops, .type != \"fail\")", "%s.condition is empty", key)
	}
}

// tolerance reads which faults are no excuse for a property.
func tolerance(l *load.State, n *source.Node, p *world.Property, key string) {
	c := &p.Check
	on := n.Get("while")
	c.While = strings.Join(strings.Fields(source.ValueOr(on, "")), " ")
	for _, e := range n.Get("despite").Scalars() {
		c.Despite = append(c.Despite, e.Text)
	}
	if e := n.Get("nodes"); e != nil && on == nil && c.Type != world.Agreement {
		l.Fail(e.Position, "add `while: majority connected`, or remove it", "%s.nodes has no effect without `while`", key)
	}
	first := on
	if first == nil {
		first = n.Get("despite")
	}
	switch {
	case first == nil:
		return
	case !p.Waits() && c.Type != world.AlertsCheck:
		l.Fail(first.Position, "use `kind: liveness`, or remove it", "%s: faults never excuse a property of kind %s", key, p.Kind)
		return
	case c.DuringFaults:
		l.Fail(n.Get("during_faults").Position, "remove one of the two", "%s: with during_faults no fault is an excuse anyway", key)
		return
	case on == nil:
		return
	}
	c.Nodes = servers(l, n, key, "a group consists of servers")
	switch _, err := world.Connected(c.While, len(c.Nodes)); {
	case err != nil:
		l.Fail(on.Position, "write `while: majority connected`", "%s.while: %v", key, err)
	case len(c.Nodes) > maxGroup:
		l.Fail(on.Position, "list the nodes that must agree under `nodes:`",
			"%s.while: a group has at most %d nodes, but this one has %d", key, maxGroup, len(c.Nodes))
	case len(c.Nodes) == 0:
		l.Fail(on.Position, "add `nodes:`", "%s.while: there is no server", key)
	}
}

// maxGroup bounds the nodes of which a majority is looked for.
const maxGroup = 32

// grace reads the time after the start and after faults in which nothing counts, which must leave something of a run.
func grace(l *load.State, n *source.Node, key string) int64 {
	ns := source.ValueOr(n.Get("grace"), int64(0))
	if ns > 0 && ns >= l.Spec.MaxTimeNs {
		l.Fail(n.Get("grace").Position, "make the grace shorter, or raise simulation.max_time",
			"%s.grace: nothing is judged during the first %s, but a run ends after %s", key, time.Duration(ns), time.Duration(l.Spec.MaxTimeNs))
	}
	return ns
}

// jobs reads how jobs are declared.
func jobs(l *load.State, n *source.Node, c *world.Check, key string) {
	if n == nil {
		return
	}
	read := func(name string) (text string, groups int) {
		re := source.ValueOr[*regexp.Regexp](n.Get(name), nil)
		if re == nil {
			return "", 0
		}
		return n.Get(name).Text, re.NumSubexp()
	}
	start, groups := read("start")
	c.Jobs = world.Jobs{Start: start, AcrossNodes: source.ValueOr(n.Get("across_nodes"), false)}
	l.Missing(n, "start", "add `start: 'job (\\S+) started'`", "%s has no start", key)
	l.Missing(n, "done", "add `done: 'job (\\S+) done'`", "%s has no done", key)
	for name, into := range map[string]*string{"done": &c.Jobs.Done, "failed": &c.Jobs.Failed} {
		text, more := read(name)
		if *into = text; text != "" && start != "" && (more == 0) != (groups == 0) {
			l.Fail(n.Get(name).Position, "capture the job's id with a group in both patterns, or in neither",
				"%s: only one of start and %s has a group for the job's id", key, name)
		}
	}
}

func custom(l *load.State, n *source.Node, p *world.Property, key string) {
	l.Missing(n, "script", "add `script: ./check.sh`", "%s has no script", key)
	script(l, n, p, key)
}

func script(l *load.State, n *source.Node, p *world.Property, key string) {
	p.Check.Script = l.Program(n.Get("script"), key+".script")
	l.Remember(load.Place{Part: engine.PartProperty, Name: p.Name}, n.Get("script"), key+".script")
	if s := n.Get("script"); s != nil && len(p.Check.Script) == 0 {
		l.Fail(s.Position, "write the program's path, such as ./check.sh", "%s.script is empty", key)
	}
}

// modelOf reads the model of a check that has one.
func modelOf(l *load.State, n *source.Node, c *world.Check, key string) {
	known := c.Type.Kind().Models
	if len(known) == 0 {
		return
	}
	c.Model = source.ValueOr(n.Get("model"), known[0])
	if e := n.Get("model"); e != nil && !slices.Contains(known, c.Model) {
		l.Fail(e.Position, suggest.Remedy(c.Model, known), "%s.model: %s is not a model for %s", key, c.Model, c.Type)
	}
}

// operationsOf reads which operations a check judges.
func operationsOf(l *load.State, n *source.Node, p *world.Property, key string) {
	p.Check.Operations = n.Get("operations").Words()
	l.Remember(load.Place{Part: engine.PartProperty, Name: p.Name}, n.Get("operations"), key+".operations")
}

// judgedKeys reads which keys a check judges.
func judgedKeys(l *load.State, n *source.Node, c *world.Check, key string) {
	if n == nil {
		return
	}
	if n.Kind == source.Scalar {
		l.Fail(n.Position, "write a list of keys or patterns, such as `keys: [\"user*\"]`", "%s.keys of a %s check is a list", key, c.Type)
		return
	}
	c.KeyPatterns = n.Words()
	for _, e := range n.Scalars() {
		if e.Text == "" || e.Text == "!" {
			l.Fail(e.Position, "write a key or a pattern, such as `user*`", "%s.keys: %q matches nothing", key, e.Text)
		}
	}
	if len(c.KeyPatterns) == 0 {
		l.Fail(n.Position, "write a list of keys or patterns, or remove it", "%s.keys is empty", key)
	}
}

// performed refuses names that no workload gives to an operation. Of drivers that choose their operations themselves
// the names are not known before they have run.
func performed(l *load.State, n *source.Node, key string) {
	var names []string
	for i := range l.Spec.Workloads {
		w := &l.Spec.Workloads[i]
		if len(w.Mix) == 0 {
			return // one that chooses, or whose mistakes are reported already
		}
		for _, o := range w.Mix {
			if !slices.Contains(names, o.Recorded()) {
				names = append(names, o.Recorded())
			}
		}
	}
	for _, e := range n.Scalars() {
		if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, e.Text) }) {
			l.Fail(e.Position, suggest.Remedy(e.Text, names), "%s: no workload has an operation %q", key, source.Shorten(e.Text))
		}
	}
}
