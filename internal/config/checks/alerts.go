package checks

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/alerts/prometheus"
	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/config/suggest"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// alertsCheck reads rules of Prometheus, and where their metrics come from.
func alertsCheck(l *load.State, n *source.Node, p *world.Property, key string) {
	before := len(l.Errs)
	if p.Kind != world.Safety {
		l.Fail(n.Position, "use `kind: safety`", "%s: an alert that fires is a violation, so the property must be of kind safety", key)
	}
	c := &p.Check
	c.GraceNs = grace(l, n, key)
	c.DuringFaults = source.ValueOr(n.Get("during_faults"), false)
	a := &world.Alerts{Names: n.Get("alerts").Words(), Ignored: n.Get("ignore").Words()}
	c.Alerts = a
	if e := n.Get("labels"); e != nil {
		a.Labels = map[string]string{}
		for _, entry := range e.Entries {
			a.Labels[entry.Name] = entry.Value.Text
		}
	}
	l.Missing(n, "rules", "add `rules: FILE.yaml`, a file of rules for Prometheus", "%s has no rules", key)
	for _, e := range n.Get("rules").Scalars() {
		text, err := os.ReadFile(l.Under(l.Spec.Dir, e.Text))
		if err != nil {
			l.Fail(e.Position, "write a path relative to the folder of this file", "%s.rules: %v", key, err)
			continue
		}
		a.Files = append(a.Files, world.RuleFile{Name: e.Text, Text: string(text)})
	}
	l.Missing(n, "scrape", "add `scrape: [{job: NAME, endpoint: \"http://{node}:PORT/metrics\"}]`", "%s scrapes nothing", key)
	if e := n.Get("scrape"); e != nil && len(e.List()) == 0 {
		l.Fail(e.Position, "write `scrape: [{job: NAME, endpoint: \"http://{node}:PORT/metrics\"}]`", "%s.scrape is empty", key)
	}
	for i, e := range n.Get("scrape").List() {
		a.Scrapes = append(a.Scrapes, scrape(l, e, fmt.Sprintf("%s.scrape[%d]", key, i)))
	}
	if len(l.Errs) == before {
		judgedAlerts(l, n, c, key)
	}
}

func scrape(l *load.State, n *source.Node, key string) world.Scrape {
	s := world.Scrape{Job: source.ValueOr(n.Get("job"), "")}
	l.Missing(n, "job", "add `job:`, the job label that the rules select", "%s has no job", key)
	l.Missing(n, "endpoint", "add `endpoint: \"http://{node}:PORT/metrics\"`", "%s has no endpoint", key)
	e := n.Get("endpoint")
	switch s.Nodes = servers(l, n, key, "metrics come from servers"); {
	case e == nil:
	case !strings.HasPrefix(e.Text, "http://"):
		l.Fail(e.Position, "write http://{node}:PORT/metrics", "%s.endpoint: %q is not an http URL", key, source.Shorten(e.Text))
	case len(s.Nodes) == 0:
		l.Fail(e.Position, "add `nodes:`", "%s: there is no server to scrape", key)
	case len(s.Nodes) > 1 && !strings.Contains(e.Text, world.NodePlace):
		l.Fail(e.Position, "write {node} instead of the node's name, or list only one node under `nodes`",
			"%s.endpoint has no {node}, so the same node would be scraped for each of %s", key, strings.Join(s.Nodes, ", "))
	default:
		s.Endpoint = e.Text
		for _, name := range s.Nodes {
			if _, ok := l.ServerURL(e.Position, "http", key+".endpoint", strings.ReplaceAll(e.Text, world.NodePlace, name)); !ok {
				break
			}
		}
	}
	return s
}

// judgedAlerts checks the rules, and that those which are to be judged are there and can fire.
func judgedAlerts(l *load.State, n *source.Node, c *world.Check, key string) {
	a := c.Alerts
	rules, err := prometheus.Read(a)
	for _, err := range apart(err) {
		remedy := "correct the file"
		var wrong *prometheus.FileError
		if errors.As(err, &wrong) {
			remedy = wrong.Remedy
		}
		l.Fail(n.Get("rules").Position, remedy, "%s.rules: %v", key, err)
	}
	if err != nil {
		return
	}
	var names []string
	judged := 0
	for i := range rules {
		if r := &rules[i]; r.Alert != "" {
			names = append(names, r.Alert)
			if r.Judged {
				judged++
			}
		}
	}
	for _, list := range []string{"alerts", "ignore"} {
		for _, e := range n.Get(list).List() {
			if !slices.Contains(names, e.Text) {
				l.Fail(e.Position, suggest.Remedy(e.Text, names), "%s.%s: no rule defines the alert %q", key, list, source.Shorten(e.Text))
				judged = -1
			}
		}
	}
	switch {
	case len(names) == 0:
		l.Fail(n.Get("rules").Position, "add a rule with `alert:`, or use another file", "%s.rules: the rules define no alert", key)
	case judged == 0:
		l.Fail(n.Position, "correct `alerts`, `ignore` or `labels`", "%s: none of the %d alerts in the rules would be judged", key, len(names))
	}
	longest, name := prometheus.LongestFor(rules)
	if longest.Nanoseconds() >= l.Spec.MaxTimeNs {
		l.Fail(n.Position, fmt.Sprintf("raise simulation.max_time, or write `ignore: [%s]`", name),
			"%s: the alert %s is pending for %s before it fires, but a run ends after %s", key, name, longest, time.Duration(l.Spec.MaxTimeNs))
	}
	a.WatchNs = longest.Nanoseconds() + 2*c.IntervalNs
	a.Keep, a.All = prometheus.Keep(rules)
}
