package faults

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/checks"
	"github.com/bloodhound-dst/bloodhound/internal/config/keys"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// roles reads what nodes can be, and returns the names.
func roles(l *load.State, n *source.Node) []string {
	var names []string
	if n == nil {
		return nil
	}
	for _, e := range n.Entries {
		key, c := "faults.roles."+e.Name, e.Value
		ways := 0
		for _, way := range []string{"log", "script", "endpoint"} {
			if c.Has(way) {
				ways++
			}
		}
		if ways != 1 {
			l.Fail(e.Key.Position, "set one of `log:`, `script:` and `endpoint:`", "%s has %d of log, script and endpoint, but needs exactly one", key, ways)
			continue
		}
		if u := c.Get("endpoint"); u != nil && !strings.Contains(u.Text, "{node}") {
			l.Fail(u.Position, "write {node} instead of the node's name", "%s.endpoint has no {node}, so it asks the same node every time", key)
		}
		names = append(names, e.Name)
		for _, d := range l.NodeNames() {
			if l.Node(d).Spec.Role != world.Server {
				continue
			}
			before := len(l.Errs)
			l.Spec.Faults.Roles = append(l.Spec.Faults.Roles, role(l, c, e.Name, d, key))
			if len(l.Errs) > before {
				break
			}
		}
		if !c.Has("log") {
			l.Checker()
		}
	}
	return names
}

// role reads how one node's role is recognised.
func role(l *load.State, c *source.Node, name, node, key string) world.NodeRole {
	r := world.NodeRole{Name: name, Node: node}
	named := func(text string) string { return strings.ReplaceAll(text, "{node}", node) }
	switch {
	case c.Has("log"):
		r.Log = c.Get("log").Text
		if u := c.Get("until"); u != nil {
			r.Until = u.Text
		}
		return r
	case c.Has("script"):
		r.Check = &world.Check{Type: world.Custom, Question: world.Question{Script: l.Program(c.Get("script"), key+".script")}}
		for i, w := range r.Check.Script {
			r.Check.Script[i] = named(w)
		}
		l.Remember(load.Place{Part: engine.PartProperty, Name: name}, c.Get("script"), key+".script")
	case strings.HasPrefix(c.Get("endpoint").Text, "redis://"):
		r.Check = &world.Check{Type: world.RedisCheck}
		r.Check.Endpoint, _ = l.ServerURL(c.Get("endpoint").Position, "redis", key+".endpoint", named(c.Get("endpoint").Text))
		checks.RedisCheck(l, c, r.Check, key)
	default:
		r.Check = &world.Check{Type: world.HTTPCheck,
			Question: world.Question{ExpectStatus: int(source.ValueOr(c.Get("expect").Get("status"), int64(200))),
				ExpectBody: l.ExpectedBody(c.Get("expect"), key)}}
		r.Check.Endpoint, _ = l.ServerURL(c.Get("endpoint").Position, "http", key+".endpoint", named(c.Get("endpoint").Text))
	}
	r.Check.IntervalNs = source.ValueOr(c.Get("interval"), r.Check.Type.Kind().IntervalNs)
	return r
}

// handling reads what shows that programs dealt with faults.
func handling(l *load.State, n *source.Node) {
	if n == nil {
		return
	}
	f := &l.Spec.Faults
	for _, e := range n.Entries {
		key := "faults.handling." + e.Name
		h := world.Handling{Kind: world.FaultKind(e.Name), Log: source.ValueOr(e.Value.Get("log"), ""), Assertion: source.ValueOr(e.Value.Get("assertion"), "")}
		switch {
		case !slices.Contains(keys.FaultKinds, e.Name):
			l.Fail(e.Key.Position, suggest.Remedy(e.Name, keys.FaultKinds), "faults.handling: unknown kind of fault %q", source.Shorten(e.Name))
		case !f.Injects(h.Kind):
			l.Fail(e.Key.Position, "set a rate above 0 for the kind, or remove this key", "%s: this kind of fault is never injected", key)
		case (h.Log == "") == (h.Assertion == ""):
			l.Fail(e.Key.Position, "set one of `log:` and `assertion:`", "%s needs exactly one of log and assertion", key)
		case h.Log != "" && !slices.ContainsFunc(l.Spec.LogPatterns, func(p world.LogPattern) bool { return p.Name == h.Log }):
			l.Fail(e.Value.Get("log").Position, "define it under `log_patterns:`", "%s.log: unknown log pattern %q", key, source.Shorten(h.Log))
		default:
			f.Handling = append(f.Handling, h)
		}
	}
}
