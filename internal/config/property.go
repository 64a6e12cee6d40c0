package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// livenessTimeoutNs is the time of a liveness property that names none.
const livenessTimeoutNs = 30_000_000_000

// recoveryKeys is how many keys a recovery check tries that does not say.
const recoveryKeys = 10

// probeIntervalNs is how often a probing check runs.
const probeIntervalNs = 1_000_000_000

func (l *loader) properties(top *node) {
	probes := false
	for i, n := range top.get("properties").list() {
		key := fmt.Sprintf("properties[%d]", i)
		p, ok := l.property(n, key)
		if slices.ContainsFunc(l.spec.Properties, func(o world.Property) bool { return o.Name == p.Name && p.Name != "" }) {
			l.fail(n.get("name").position, "give each its own name", "%s: another property is named %q too", key, p.Name)
		}
		if !ok {
			continue
		}
		l.spec.Properties = append(l.spec.Properties, p)
		probes = probes || p.Check.Type.Probes()
	}
	if probes {
		l.checker()
	}
}

func (l *loader) property(n *node, key string) (world.Property, bool) {
	before := len(l.errs)
	p := world.Property{Name: strings.TrimSpace(valueOr(n.get("name"), "")), Kind: world.PropertyKind(valueOr(n.get("kind"), "")),
		Description: valueOr(n.get("description"), ""), TimeoutNs: valueOr(n.get("timeout"), int64(0))}
	l.missing(n, "name", "add `name:`", "%s has no name", key)
	if e := n.get("name"); e != nil && p.Name == "" {
		l.fail(e.position, "give it a name", "%s.name is empty", key)
	}
	l.missing(n, "kind", "add `kind: safety`, `liveness` or `invariant`", "%s has no kind", key)
	c := n.get("check")
	if c == nil {
		l.missing(n, "check", "add `check: {type: ...}`", "%s has no check", key)
		return p, false
	}
	timed := p.Kind == world.Liveness || valueOr(c.get("type"), "") == string(world.RecoveryCheck)
	switch {
	case timed && valueOr(c.get("type"), "") == string(world.ProgressCheck):
		timed = false
	case timed && p.TimeoutNs == 0:
		p.TimeoutNs = livenessTimeoutNs
	}
	if !timed && p.TimeoutNs != 0 {
		l.idle(n.entry("timeout").key.position, key+"."+n.entry("timeout").key.text, "only liveness and recovery have a time in which they must come true")
		p.TimeoutNs = 0
	}
	l.propertyCheck(c, &p, key+".check")
	return p, len(l.errs) == before
}

// checkKeys tells which types of checks a key belongs to.
var checkKeys = map[string]string{
	"operations": "linearizability monotonic progress recovery", "model": "linearizability isolation durability", "level": "isolation",
	"endpoint": "http redis sql agreement", "command": "redis agreement", "query": "sql agreement", "body": "http agreement",
	"expect": "http redis sql agreement", "script": "custom agreement", "condition": "expression invariant",
	"failures": "progress", "hang": "progress", "grace": "progress", "during_faults": "progress", "keys": "recovery", "jobs": "progress recovery",
	"spec": "model", "config": "model", "library": "model", "view": "model", "lines": "model", "left_out": "model", "events": "model",
	"nodes": "agreement", "pattern": "agreement", "unanswered": "agreement", "interval": "http redis sql custom",
}

func (l *loader) propertyCheck(n *node, p *world.Property, key string) {
	c := &p.Check
	c.Type = world.CheckType(valueOr(n.get("type"), ""))
	if c.Type == "" {
		l.missing(n, "type", "add `type:`; there are "+strings.Join(checkTypes, ", "), "%s has no type", key)
		return
	}
	l.onlyFor(n, key, "type", string(c.Type), checkKeys)
	switch {
	case c.Type == world.Agreement:
	case c.Type.Probes():
		c.IntervalNs = valueOr(n.get("interval"), int64(probeIntervalNs))
	case c.Type == world.ProgressCheck || c.Type == world.RecoveryCheck:
	case p.Kind == world.Liveness:
		l.fail(n.position, "use `kind: safety`", "%s: %s is never regained, so it cannot be a liveness property", key, c.Type)
	}
	if own := p.Kind == world.Progress || p.Kind == world.Recovery; own && string(p.Kind) != string(c.Type) {
		l.fail(n.get("type").position, fmt.Sprintf("write `type: %s`, or another kind", p.Kind), "%s.type: a property of kind %s has the check of that name", key, p.Kind)
	}
	l.modelOf(n, c, key)
	expect := n.get("expect")
	switch c.Type {
	case world.Linearizability:
		l.operationsOf(n, p, key)
	case world.Isolation:
		c.Level = valueOr(n.get("level"), "serializable")
		if c.Model == "list-append" && slices.Contains(registersOnly, c.Level) {
			l.fail(n.get("level").position, "use read-committed or snapshot-isolation, or `model: rw-register`", "%s.level: %s is judged over registers only", key, c.Level)
		}
	case world.Monotonic:
		l.operationsOf(n, p, key)
		l.performed(n.get("operations"), key+".operations")
	case world.ProgressCheck:
		l.operationsOf(n, p, key)
		l.performed(n.get("operations"), key+".operations")
		c.Failures = int(valueOr(n.get("failures"), int64(0)))
		c.HangNs = valueOr(n.get("hang"), int64(0))
		c.GraceNs = valueOr(n.get("grace"), int64(0))
		c.DuringFaults = valueOr(n.get("during_faults"), false)
		if !n.has("failures") && !n.has("hang") {
			l.missing(n, "failures", "add `failures: 20`, `hang: 10s`, or both", "%s does not say what is no progress", key)
		}
		l.jobs(n.get("jobs"), c, key+".jobs")
	case world.RecoveryCheck:
		l.operationsOf(n, p, key)
		l.performed(n.get("operations"), key+".operations")
		c.Keys = int(valueOr(n.get("keys"), int64(recoveryKeys)))
		l.jobs(n.get("jobs"), c, key+".jobs")
	case world.Conformance:
		l.conformance(n, c, key)
	case world.HTTPCheck:
		c.Endpoint = l.endpoint(n, "http", key)
		c.Body = valueOr(n.get("body"), "")
		c.ExpectStatus = int(valueOr(expect.get("status"), int64(200)))
		c.ExpectBody = l.expectedBody(expect, key)
		if expect != nil && expect.kind == scalar {
			l.fail(expect.position, "write `expect: {status: 200}`", "%s.expect of an http check is a mapping", key)
		}
	case world.RedisCheck:
		c.Endpoint = l.endpoint(n, "redis", key)
		l.redisCheck(n, c, key)
	case world.SQLCheck:
		l.sqlCheck(n, c, key)
	case world.Custom:
		l.missing(n, "script", "add `script: ./check.sh`", "%s has no script", key)
		l.script(n, p, key)
	case world.Agreement:
		l.agreement(n, p, key)
	case world.Expression, world.InvariantCheck:
		c.Condition = strings.TrimSpace(valueOr(n.get("condition"), ""))
		l.missing(n, "condition", "add `condition:`, such as all(ops, .type != \"fail\")", "%s has no condition", key)
		l.remember(place{part: engine.PartProperty, name: p.Name}, n.get("condition"), key+".condition")
		if e := n.get("condition"); e != nil && c.Condition == "" {
			l.fail(e.position, "write an expression, such as all(ops, .type != \"fail\")", "%s.condition is empty", key)
		}
	}
}

// jobs reads how jobs are declared.
func (l *loader) jobs(n *node, c *world.Check, key string) {
	if n == nil {
		return
	}
	read := func(name string) (text string, groups int) {
		re := valueOr[*regexp.Regexp](n.get(name), nil)
		if re == nil {
			return "", 0
		}
		return n.get(name).text, re.NumSubexp()
	}
	start, groups := read("start")
	c.Jobs = world.Jobs{Start: start, AcrossNodes: valueOr(n.get("across_nodes"), false)}
	l.missing(n, "start", "add `start: 'job (\\S+) started'`", "%s does not say how a job begins", key)
	l.missing(n, "done", "add `done: 'job (\\S+) done'`", "%s does not say how a job ends", key)
	for name, into := range map[string]*string{"done": &c.Jobs.Done, "failed": &c.Jobs.Failed} {
		text, more := read(name)
		if *into = text; text != "" && start != "" && (more == 0) != (groups == 0) {
			l.fail(n.get(name).position, "give both a group in parentheses around the job's id, or neither", "%s: one of start and %s tells the job's id, and the other does not", key, name)
		}
	}
}

func (l *loader) script(n *node, p *world.Property, key string) {
	p.Check.Script = l.program(n.get("script"), key+".script")
	l.remember(place{part: engine.PartProperty, name: p.Name}, n.get("script"), key+".script")
	if s := n.get("script"); s != nil && len(p.Check.Script) == 0 {
		l.fail(s.position, "write the program's path, such as ./check.sh", "%s.script is empty", key)
	}
}

// modelOf reads the model of a check that has one.
func (l *loader) modelOf(n *node, c *world.Check, key string) {
	known := modelsOf[c.Type]
	if len(known) == 0 {
		return
	}
	c.Model = valueOr(n.get("model"), known[0])
	if e := n.get("model"); e != nil && !slices.Contains(known, c.Model) {
		l.fail(e.position, suggest(c.Model, known), "%s.model: %s is no model of %s", key, c.Model, c.Type)
	}
}

// operationsOf reads which operations a check judges.
func (l *loader) operationsOf(n *node, p *world.Property, key string) {
	p.Check.Operations = n.get("operations").words()
	l.remember(place{part: engine.PartProperty, name: p.Name}, n.get("operations"), key+".operations")
}

// performed refuses names that no workload gives to an operation. Of drivers that choose their operations themselves
// nobody knows the names before they have run.
func (l *loader) performed(n *node, key string) {
	var names []string
	for i := range l.spec.Workloads {
		w := &l.spec.Workloads[i]
		if len(w.Mix) == 0 {
			return // one that chooses, or whose mistakes are told already
		}
		for _, o := range w.Mix {
			if !slices.Contains(names, o.Recorded()) {
				names = append(names, o.Recorded())
			}
		}
	}
	for _, e := range n.scalars() {
		if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, e.text) }) {
			l.fail(e.position, suggest(e.text, names), "%s: no workload has an operation %q", key, shorten(e.text))
		}
	}
}

func (l *loader) redisCheck(n *node, c *world.Check, key string) {
	c.Command = l.argv(n.get("command"), key+".command")
	if len(c.Command) == 0 {
		c.Command = []string{"PING"}
	}
	expect := n.get("expect")
	switch {
	case expect != nil && expect.kind != scalar:
		l.fail(expect.position, "write `expect: PONG`", "%s.expect of a redis check is text", key)
	case expect != nil:
		c.Expect = expect.text
	case len(c.Command) == 1 && strings.EqualFold(c.Command[0], "PING"):
		c.Expect = "PONG"
	default:
		l.missing(n, "expect", "add `expect:`, the reply that is right", "%s does not say which reply is right", key)
	}
}

func (l *loader) sqlCheck(n *node, c *world.Check, key string) {
	c.Endpoint = l.endpoint(n, "", key)
	l.query(n, c, key)
	expect := n.get("expect")
	if expect != nil && expect.kind != scalar {
		l.fail(expect.position, "write `expect: \"1\"`", "%s.expect of an sql check is text: the rows, with | between columns", key)
	}
	if c.Expect = valueOr(expect, ""); expect != nil && expect.kind == scalar && strings.TrimSpace(c.Expect) == "" {
		l.fail(expect.position, "leave it out, or let the query count rows", "%s.expect is empty, and would check nothing", key)
	}
}

func (l *loader) query(n *node, c *world.Check, key string) {
	c.Query = strings.TrimSpace(valueOr(n.get("query"), ""))
	l.missing(n, "query", "add `query: SELECT ...`", "%s has no query", key)
	if e := n.get("query"); e != nil && c.Query == "" {
		l.fail(e.position, "write `query: SELECT ...`", "%s.query is empty", key)
	}
}

// agreement reads a question that is asked about each node.
func (l *loader) agreement(n *node, p *world.Property, key string) {
	c := &p.Check
	if p.Kind == world.Liveness {
		l.fail(n.position, "use `kind: safety`", "%s: an agreement is judged once, in the end, so it cannot be a liveness property", key)
	}
	if e := n.get("pattern"); e != nil {
		c.Pattern = e.text
	}
	c.Unanswered = valueOr(n.get("unanswered"), "violated")
	l.agreeing(n, c, key)
	endpoint, script := n.get("endpoint"), n.get("script")
	var asked *node
	scheme := ""
	switch {
	case endpoint != nil && script != nil:
		l.fail(script.position, "keep one of the two", "%s asks both an endpoint and a script", key)
		return
	case script != nil:
		l.script(n, p, key)
		asked = script
	case endpoint == nil:
		l.fail(n.position, "add `endpoint: http://{node}:PORT/PATH`, redis://, postgres:// or mysql://, or `script: [./answer.sh, \"{node}\"]`", "%s does not say what is asked", key)
		return
	default:
		asked = endpoint
		scheme, _, _ = strings.Cut(endpoint.text, "://")
		c.Endpoint = l.endpointOf(endpoint, c.Nodes, key)
	}
	if !strings.Contains(strings.Join(asked.words(), " "), world.NodePlace) && script == nil {
		l.fail(asked.position, "write {node} where the node's name belongs", "%s asks every node the same way, and so one node all the time", key)
	}
	of := map[string]string{"command": "redis", "query": "postgres postgresql mysql", "body": "http", "expect": "http"}
	l.onlyFor(n, key, "endpoints of", cmp.Or(scheme, "a script"), of)
	switch scheme {
	case "redis":
		c.Command = l.argv(n.get("command"), key+".command")
		l.missing(n, "command", "add `command: GET KEY`", "%s has no command", key)
	case "postgres", "postgresql", "mysql":
		l.query(n, c, key)
	case "http":
		c.Body = valueOr(n.get("body"), "")
		expect := n.get("expect")
		if expect != nil && (expect.kind == scalar || expect.has("body")) {
			l.fail(expect.position, "write `expect: {status: 200}`", "%s.expect of an agreement is a status: the answers are compared with each other", key)
		}
		c.ExpectStatus = int(valueOr(expect.get("status"), int64(200)))
	}
}

// agreeing reads which nodes must agree: those that are named, or all servers that other nodes do not wait for to end.
func (l *loader) agreeing(n *node, c *world.Check, key string) {
	for _, e := range n.get("nodes").list() {
		for _, name := range l.members(e.text) {
			switch {
			case !l.known(e.position, key+".nodes", name):
			case slices.Contains(c.Nodes, name):
				l.fail(e.position, "name each node once", "%s.nodes: %s stands twice, and agrees with itself", key, name)
			case l.node(name).spec.Role != world.Server:
				l.fail(e.position, "name servers", "%s.nodes: %s is a client, and has no data to agree on", key, name)
			}
			c.Nodes = append(c.Nodes, name)
		}
	}
	if n.get("nodes") == nil {
		for _, d := range l.nodes {
			step := slices.ContainsFunc(l.nodes, func(o *declared) bool {
				return slices.ContainsFunc(o.spec.DependsOn, func(dep world.Dependency) bool { return dep.Node == d.name && dep.Condition == world.Completed })
			})
			if d.spec.Role == world.Server && !step {
				c.Nodes = append(c.Nodes, d.name)
			}
		}
	}
	if len(c.Nodes) < 2 {
		l.fail(n.position, "name two nodes or more: `nodes: [n1, n2]`", "%s: an agreement needs two nodes, and there are %d", key, len(c.Nodes))
	}
}

// endpointOf checks what is asked for each node.
func (l *loader) endpointOf(e *node, nodes []string, key string) string {
	scheme, _, _ := strings.Cut(e.text, "://")
	if !slices.Contains([]string{"http", "redis", "postgres", "postgresql", "mysql"}, scheme) {
		l.fail(e.position, "write http://{node}:PORT/PATH, redis://{node}:PORT, postgres:// or mysql://", "%s.endpoint: %q is no URL of a protocol that is known here", key, shorten(e.text))
		return ""
	}
	for _, name := range nodes {
		if _, ok := l.serverURL(e.position, scheme, key+".endpoint", strings.ReplaceAll(e.text, world.NodePlace, name)); !ok {
			break
		}
	}
	return e.text
}

// endpoint reads what a check asks; without a scheme it is a database. A path alone is one of the first http workload's server.
func (l *loader) endpoint(n *node, scheme, key string) string {
	e := n.get("endpoint")
	if e == nil {
		l.missing(n, "endpoint", fmt.Sprintf("add `endpoint: %s://NODE:PORT`", cmp.Or(scheme, "postgres")), "%s has no endpoint", key)
		return ""
	}
	written := e.text
	if scheme == "" {
		scheme, _, _ = strings.Cut(written, "://")
		if scheme != "postgres" && scheme != "postgresql" && scheme != "mysql" {
			l.fail(e.position, "write postgres://USER:PASSWORD@NODE:PORT/NAME or mysql://...", "%s.endpoint: %q is no URL of a database", key, shorten(written))
			return ""
		}
	}
	if scheme == "http" && strings.HasPrefix(written, "/") {
		at := slices.IndexFunc(l.spec.Workloads, func(w world.Workload) bool { return w.Driver == "http" && len(w.Targets) > 0 })
		if at < 0 {
			l.fail(e.position, "write http://NODE:PORT"+written, "%s.endpoint: no http workload says which server %q belongs to", key, shorten(written))
			return ""
		}
		return strings.TrimSuffix(l.spec.Workloads[at].Targets[0], "/") + written
	}
	u, _ := l.serverURL(e.position, scheme, key+".endpoint", written)
	return u
}

// expectedBody is the body that an answer must have, or nothing where any will do.
func (l *loader) expectedBody(expect *node, key string) string {
	text := valueOr(expect.get("body"), "")
	if body := expect.get("body"); body != nil && strings.TrimSpace(text) == "" {
		l.fail(body.position, "leave it out, or say what the body is", "%s.expect.body is empty, and would check nothing", key)
	}
	return text
}
