package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// RedisCheck reads the command and the expected reply of a check that asks a Redis server.
func RedisCheck(l *load.State, n *source.Node, c *world.Check, key string) {
	c.Command = l.Argv(n.Get("command"), key+".command")
	if len(c.Command) == 0 {
		c.Command = []string{"PING"}
	}
	expect := n.Get("expect")
	switch {
	case expect != nil && expect.Kind != source.Scalar:
		l.Fail(expect.Position, "write `expect: PONG`", "%s.expect of a redis check must be text", key)
	case expect != nil:
		c.Expect = expect.Text
	case len(c.Command) == 1 && strings.EqualFold(c.Command[0], "PING"):
		c.Expect = "PONG"
	default:
		l.Missing(n, "expect", "add `expect:` with the expected reply", "%s has no expected reply", key)
	}
}

func redisCheck(l *load.State, n *source.Node, p *world.Property, key string) {
	p.Check.Endpoint = endpoint(l, n, "redis", key)
	RedisCheck(l, n, &p.Check, key)
}

func httpCheck(l *load.State, n *source.Node, p *world.Property, key string) {
	c, expect := &p.Check, n.Get("expect")
	c.Endpoint = endpoint(l, n, "http", key)
	c.Body = source.ValueOr(n.Get("body"), "")
	c.ExpectStatus = int(source.ValueOr(expect.Get("status"), int64(200)))
	c.ExpectBody = l.ExpectedBody(expect, key)
	if expect != nil && expect.Kind == source.Scalar {
		l.Fail(expect.Position, "write `expect: {status: 200}`", "%s.expect of an http check must be a mapping", key)
	}
}

func sqlCheck(l *load.State, n *source.Node, p *world.Property, key string) {
	c := &p.Check
	c.Endpoint = endpoint(l, n, "", key)
	query(l, n, c, key)
	expect := n.Get("expect")
	if expect != nil && expect.Kind != source.Scalar {
		l.Fail(expect.Position, "write `expect: \"1\"`", "%s.expect of an sql check must be text: the rows, with | between columns", key)
	}
	if c.Expect = source.ValueOr(expect, ""); expect != nil && expect.Kind == source.Scalar && strings.TrimSpace(c.Expect) == "" {
		l.Fail(expect.Position, "remove it, or count rows in the query", "%s.expect is empty, so the check would always pass", key)
	}
}

func query(l *load.State, n *source.Node, c *world.Check, key string) {
	c.Query = strings.TrimSpace(source.ValueOr(n.Get("query"), ""))
	l.Missing(n, "query", "add `query: SELECT ...`", "%s has no query", key)
	if e := n.Get("query"); e != nil && c.Query == "" {
		l.Fail(e.Position, "write `query: SELECT ...`", "%s.query is empty", key)
	}
}

// endpoint reads what a check asks; without a scheme it is a database. A path alone is one of the first http workload's server.
func endpoint(l *load.State, n *source.Node, scheme, key string) string {
	e := n.Get("endpoint")
	if e == nil {
		l.Missing(n, "endpoint", fmt.Sprintf("add `endpoint: %s://NODE:PORT`", cmp.Or(scheme, "postgres")), "%s has no endpoint", key)
		return ""
	}
	written := e.Text
	if scheme == "" {
		scheme, _, _ = strings.Cut(written, "://")
		if scheme != "postgres" && scheme != "postgresql" && scheme != "mysql" {
			l.Fail(e.Position, "write postgres://USER:PASSWORD@NODE:PORT/NAME or mysql://...",
				"%s.endpoint: %q is not the URL of a database", key, source.Shorten(written))
			return ""
		}
	}
	if scheme == "http" && strings.HasPrefix(written, "/") {
		at := slices.IndexFunc(l.Spec.Workloads, func(w world.Workload) bool { return w.Driver == "http" && len(w.Targets) > 0 })
		if at < 0 {
			l.Fail(e.Position, "write http://NODE:PORT"+written,
				"%s.endpoint: there is no http workload whose server the path %q could belong to", key, source.Shorten(written))
			return ""
		}
		return strings.TrimSuffix(l.Spec.Workloads[at].Targets[0], "/") + written
	}
	u, _ := l.ServerURL(e.Position, scheme, key+".endpoint", written)
	return u
}
