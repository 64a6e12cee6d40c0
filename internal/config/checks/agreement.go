package checks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// agreement reads a question that is asked about each node.
func agreement(l *load.State, n *source.Node, p *world.Property, key string) {
	c := &p.Check
	if p.Kind == world.Liveness {
		l.Fail(n.Position, "use `kind: safety`", "%s: an agreement is judged once, at the end of the run, so its property cannot be of kind liveness", key)
	}
	if e := n.Get("pattern"); e != nil {
		c.Pattern = e.Text
	}
	c.Unanswered = source.ValueOr(n.Get("unanswered"), "violated")
	agreeing(l, n, c, key)
	url, program := n.Get("endpoint"), n.Get("script")
	var asked *source.Node
	scheme := ""
	switch {
	case url != nil && program != nil:
		l.Fail(program.Position, "remove one of the two", "%s has both an endpoint and a script", key)
		return
	case program != nil:
		script(l, n, p, key)
		asked = program
	case url == nil:
		l.Fail(n.Position, "add `endpoint: http://{node}:PORT/PATH`, redis://, postgres:// or mysql://, or `script: [./answer.sh, \"{node}\"]`",
			"%s has no endpoint and no script", key)
		return
	default:
		asked = url
		scheme, _, _ = strings.Cut(url.Text, "://")
		c.Endpoint = endpointOf(l, url, c.Nodes, key)
	}
	if !strings.Contains(strings.Join(asked.Words(), " "), world.NodePlace) && program == nil {
		l.Fail(asked.Position, "write {node} instead of the node's name", "%s has no {node}, so it asks the same node every time", key)
	}
	of := map[string]string{"command": "redis", "query": "postgres postgresql mysql", "body": "http", "expect": "http"}
	l.OnlyFor(n, key, "endpoints of", cmp.Or(scheme, "a script"), of)
	switch scheme {
	case "redis":
		c.Command = l.Argv(n.Get("command"), key+".command")
		l.Missing(n, "command", "add `command: GET KEY`", "%s has no command", key)
	case "postgres", "postgresql", "mysql":
		query(l, n, c, key)
	case "http":
		c.Body = source.ValueOr(n.Get("body"), "")
		expect := n.Get("expect")
		if expect != nil && (expect.Kind == source.Scalar || expect.Has("body")) {
			l.Fail(expect.Position, "write `expect: {status: 200}`",
				"%s.expect of an agreement allows only a status, since the answers are compared with each other", key)
		}
		c.ExpectStatus = int(source.ValueOr(expect.Get("status"), int64(200)))
	}
}

// agreeing reads which nodes must agree.
func agreeing(l *load.State, n *source.Node, c *world.Check, key string) {
	c.Nodes = servers(l, n, key, "an agreement compares servers")
	if len(c.Nodes) < 2 {
		l.Fail(n.Position, "list at least two nodes: `nodes: [n1, n2]`", "%s: an agreement needs at least two nodes, but has %d", key, len(c.Nodes))
	}
}

// servers reads the servers that `nodes` names, or all that other nodes do not wait for to end.
func servers(l *load.State, n *source.Node, key, why string) (list []string) {
	for _, e := range n.Get("nodes").List() {
		for _, name := range l.Members(e.Text) {
			switch {
			case !l.Known(e.Position, key+".nodes", name):
			case slices.Contains(list, name):
				l.Fail(e.Position, "list each node once", "%s.nodes: %s is listed twice", key, name)
			case l.Node(name).Spec.Role != world.Server:
				l.Fail(e.Position, "list servers only", "%s.nodes: %s is a client, and %s", key, name, why)
			}
			list = append(list, name)
		}
	}
	if n.Get("nodes") == nil {
		for _, d := range l.Nodes {
			step := slices.ContainsFunc(l.Nodes, func(o *load.Node) bool {
				return slices.ContainsFunc(o.Spec.DependsOn, func(dep world.Dependency) bool { return dep.Node == d.Name && dep.Condition == world.Completed })
			})
			if d.Spec.Role == world.Server && !step {
				list = append(list, d.Name)
			}
		}
	}
	return list
}

// endpointOf checks what is asked for each node.
func endpointOf(l *load.State, e *source.Node, nodes []string, key string) string {
	scheme, _, _ := strings.Cut(e.Text, "://")
	if !slices.Contains([]string{"http", "redis", "postgres", "postgresql", "mysql"}, scheme) {
		l.Fail(e.Position, "write http://{node}:PORT/PATH, redis://{node}:PORT, postgres:// or mysql://",
			"%s.endpoint: %q has no supported protocol", key, source.Shorten(e.Text))
		return ""
	}
	for _, name := range nodes {
		if _, ok := l.ServerURL(e.Position, scheme, key+".endpoint", strings.ReplaceAll(e.Text, world.NodePlace, name)); !ok {
			break
		}
	}
	return e.Text
}
