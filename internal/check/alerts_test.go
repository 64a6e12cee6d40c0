package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/alerts"
	_ "github.com/bloodhound-dst/bloodhound/internal/alerts/prometheus"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

const queueRules = `
groups:
- name: queue
  rules:
  - record: job:queue_jobs:sum
    expr: sum by (job) (queue_jobs)
  - alert: QueueStuck
    expr: job:queue_jobs:sum{job="queue"} > 10
    for: 20s
    labels: {severity: critical}
    annotations: {summary: '{{ $value }} jobs of {{ $labels.job }} wait'}
  - alert: QueueErrors
    expr: increase(queue_errors_total{code=~"5.."}[1m]) > 0 or absent(queue_jobs)
  - alert: QueueDown
    expr: up{job=~"queue|other"} == 0
    for: 30s
`

// scrapesOf are scrapes every 10 s from 10 s on, of n1 and n2, which serve what the functions say of a number; an error begins with !.
func scrapesOf(count int, serves ...func(i int) string) (probes []record.Probe) {
	for i := range count {
		q := record.Probe{Property: "quiet", Phase: "chaos", StartNs: int64(i+1) * 10 * second, EndNs: int64(i+1)*10*second + 1, Event: uint64(i + 1)}
		for k, serve := range serves {
			s := world.Scraped{Job: "queue", Instance: fmt.Sprintf("n%d:80", k+1), Text: serve(i)}
			if why, failed := strings.CutPrefix(s.Text, "!"); failed {
				s.Text, s.Error = "", why
			}
			q.Scrapes = append(q.Scrapes, s)
		}
		probes = append(probes, q)
	}
	return probes
}

func quietQueue() *world.Property {
	return &world.Property{Name: "quiet", Kind: world.Safety, Check: world.Check{Type: world.AlertsCheck, IntervalNs: 10 * second,
		Alerts: &world.Alerts{Files: []world.RuleFile{{Name: "rules.yaml", Text: queueRules}}}}}
}

// A program that does not evaluate rules must not find that they hold.
func TestAlertsWithoutEvaluation(t *testing.T) {
	evaluate := alerts.Evaluate
	alerts.Evaluate = nil
	defer func() { alerts.Evaluate = evaluate }()
	calm := func(int) string { return "queue_jobs 3\n" }
	v := quietly(&world.Spec{}, quietQueue(), &record.Outcome{Probes: scrapesOf(12, calm), VirtualNs: 120 * second, ReadyNs: 1})
	if v.Status != Unknown || !strings.Contains(v.Reason, "run the world from the command line") {
		t.Errorf("%s: %s", v.Status, v.Reason)
	}
}

func TestAlerts(t *testing.T) {
	calm := func(int) string { return "queue_jobs 3\nqueue_errors_total{code=\"404\"} 1\n" }
	down := func(int) string { return "!connection refused" }
	from := func(first, end int, jobs float64) func(int) string {
		return func(i int) string {
			if i < first || i >= end {
				return calm(i)
			}
			return fmt.Sprintf("queue_jobs{kind=\"a\"} %v\nqueue_errors_total{code=\"404\"} 1\n", jobs)
		}
	}
	faultFrom := func(fromS, toS int64) fault.Ledger {
		return fault.Ledger{Injections: []fault.Injection{{Kind: fault.Crash, Target: "n1", StartNs: fromS * second, EndNs: toS * second}}}
	}
	rule := func(expr string) func(*world.Check, *record.Outcome) {
		return func(c *world.Check, _ *record.Outcome) {
			c.Alerts.Files[0].Text = "groups: [{name: a, rules: [{alert: A, expr: '" + expr + "'}]}]"
		}
	}
	cases := []struct {
		name   string
		spoil  func(*world.Check, *record.Outcome)
		serves []func(int) string
		want   Status
		reason string
	}{
		{"nothing fires", nil, []func(int) string{calm, calm}, Holds, ""},
		{"one fires", nil, []func(int) string{calm, from(3, 6, 9)}, Violated, "alert QueueStuck fires: 12 jobs of queue wait"},
		{"true for too short", nil, []func(int) string{calm, from(3, 5, 9)}, Holds, ""},
		{"a fault explains it", func(_ *world.Check, o *record.Outcome) { o.Ledger = faultFrom(35, 55) }, []func(int) string{calm, from(3, 7, 9)}, Holds, ""},
		{"no longer explained", func(_ *world.Check, o *record.Outcome) { o.Ledger = faultFrom(35, 55) },
			[]func(int) string{calm, from(3, 8, 9)}, Violated, "QueueStuck"},
		{"the grace explains it", func(c *world.Check, o *record.Outcome) { o.Ledger, c.GraceNs = faultFrom(35, 55), 10*second },
			[]func(int) string{calm, from(3, 8, 9)}, Holds, ""},
		{"faults are no excuse", func(c *world.Check, o *record.Outcome) { o.Ledger, c.DuringFaults = faultFrom(35, 65), true },
			[]func(int) string{calm, from(3, 6, 9)}, Violated, "QueueStuck"},
		{"pending at the end", nil, []func(int) string{calm, from(11, 12, 9)}, Unknown,
			"alert QueueStuck was still pending at the end, after 0.000000 s of 20s"},
		{"not judged", func(c *world.Check, _ *record.Outcome) { c.Alerts.Ignored = []string{"QueueStuck"} },
			[]func(int) string{calm, from(3, 9, 9)}, Holds, ""},
		{"another label", func(c *world.Check, _ *record.Outcome) { c.Alerts.Labels = map[string]string{"severity": "page"} },
			[]func(int) string{calm, from(3, 9, 9)}, Holds, ""},
		{"named", func(c *world.Check, _ *record.Outcome) { c.Alerts.Names = []string{"QueueStuck"} },
			[]func(int) string{calm, from(3, 9, 9)}, Violated, "QueueStuck"},
		{"a target is down", nil, []func(int) string{calm, func(i int) string {
			if i > 2 {
				return down(i)
			}
			return calm(i)
		}}, Violated, "alert QueueDown fires"},
		{"a target was never up", nil, []func(int) string{calm, down}, Violated, "alert QueueDown fires"},
		{"a target was never up, and no rule says so",
			func(c *world.Check, _ *record.Outcome) { c.Alerts.Ignored = []string{"QueueDown"} }, []func(int) string{calm, down}, Unknown,
			"no scrape succeeded for n2:80 (connection refused)"},
		{"all scrapes failed", nil, []func(int) string{down, down}, Unknown, "all scrapes failed: n1:80 (connection refused), n2:80"},
		{"the metric never existed", func(c *world.Check, _ *record.Outcome) { c.Alerts.Names = []string{"QueueErrors", "QueueStuck"} },
			[]func(int) string{func(int) string { return "queue_errors_total{code=\"404\"} 1\n" }}, Violated, "alert QueueErrors fires"}, // absent()
		{"the metric never existed", func(c *world.Check, _ *record.Outcome) { c.Alerts.Names = []string{"QueueStuck"} },
			[]func(int) string{func(int) string { return "queue_errors_total{code=\"404\"} 1\n" }}, Unknown,
			"alert QueueStuck could not fire: metric job:queue_jobs:sum never existed"},
		{"the label never existed", func(c *world.Check, _ *record.Outcome) {
			c.Alerts.Files[0].Text = strings.Replace(queueRules, `code=~"5.."`, `status=~"5.."`, 1)
			c.Alerts.Files[0].Text = strings.Replace(c.Alerts.Files[0].Text, " or absent(queue_jobs)", "", 1)
		}, []func(int) string{calm}, Unknown, `alert QueueErrors could not fire: queue_errors_total never had a label "status"`},
		{"no target is of the job", func(c *world.Check, _ *record.Outcome) {
			c.Alerts.Files[0].Text = strings.Replace(queueRules, "queue|other", "queues", 1)
		}, []func(int) string{calm}, Unknown,
			`alert QueueDown could not fire: nothing matched up{job=~"queues"}; targets have the labels {instance="n1:80", job="queue"}`},
		{"no time for it", func(c *world.Check, o *record.Outcome) {
			o.Ledger.Injections = append(faultFrom(35, 36).Injections, faultFrom(55, 56).Injections...)
			c.GraceNs, c.Alerts.Names = 5*second, []string{"QueueDown"}
			o.Probes = o.Probes[:8]
		}, []func(int) string{calm}, Unknown, "alert QueueDown could not fire: it must be pending for 30s, but the longest time without a fault was 20"},
		{"a grace as long as the run", func(c *world.Check, _ *record.Outcome) { c.GraceNs = 36000 * second }, []func(int) string{calm, from(3, 9, 9)}, Unknown,
			"all 12 evaluations were during a fault, or in the grace of 10h0m0s"},
		{"a window without two samples", rule(`rate(queue_jobs[1s]) > 100`), []func(int) string{calm}, Unknown,
			"alert A could not fire: rate(queue_jobs[1s]) never had a value"},
		{"a window with two samples", rule(`rate(queue_jobs{job="queue"}[25s]) > 100`), []func(int) string{calm}, Holds, ""},
		{"an offset before the run", rule(`queue_jobs offset 1h > 5`), []func(int) string{calm}, Unknown, "queue_jobs offset 1h never had a value"},
		{"an offset within the run", rule(`queue_jobs offset 30s > 5`), []func(int) string{calm}, Holds, ""},
		{"a subquery", rule(`max_over_time((rate(queue_errors_total{code="500"}[25s]) > 5)[1m:10s]) > 5`), []func(int) string{calm}, Holds, ""},
		{"a subquery before the run", rule(`quantile_over_time(0.9, (queue_jobs > 5)[1m:10s] offset 1h) > 5`), []func(int) string{calm}, Unknown,
			"quantile_over_time(0.9, (queue_jobs)[1m:10s] offset 1h) never had a value"},
		{"one side of an or", rule(`rate(queue_jobs[1s]) > 100 or queue_jobs > 5`), []func(int) string{calm}, Holds, ""},
		{"a window within absent", rule(`absent_over_time(queue_jobs[1s]) and queue_jobs > 5`), []func(int) string{calm}, Holds, ""},
		{"an alert that no rule has", rule(`ALERTS{alertname="Nope"} == 1`), []func(int) string{calm}, Unknown,
			`no rule defines an alert that ALERTS{alertname="Nope"} selects`},
		{"an alert that was not active", rule(`ALERTS{alertname=~"A|B",alertstate="firing"} == 1`), []func(int) string{calm}, Holds, ""},
		{"the state of alerts", rule(`ALERTS_FOR_STATE{alertname="Nope"} > 1`), []func(int) string{calm}, Unknown, "metric ALERTS_FOR_STATE never existed"},
		{"not the text format", nil, []func(int) string{func(int) string { return "queue_jobs{ 1\n" }}, Unknown,
			"n1:80 does not serve Prometheus's text format"},
		{"broken off", func(_ *world.Check, o *record.Outcome) { o.Probes[4].Scrapes, o.Probes[4].ExitCode = nil, 126 },
			[]func(int) string{calm}, Unknown, "a scrape did not finish"},
		{"never scraped", func(_ *world.Check, o *record.Outcome) { o.Probes = nil }, []func(int) string{calm}, Unknown, "metrics were never scraped"},
		{"more faults than are listed", func(_ *world.Check, o *record.Outcome) {
			o.Ledger.Injections = make([]fault.Injection, fault.MaxInjections)
		}, []func(int) string{calm, from(3, 9, 9)}, Unknown, "the ledger does not list all faults"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := quietQueue()
			out := &record.Outcome{Probes: scrapesOf(12, c.serves...), VirtualNs: 120 * second, ReadyNs: 1}
			if c.spoil != nil {
				c.spoil(&p.Check, out)
			}
			v := quietly(&world.Spec{StartUnixNs: 1735689600_000_000_000}, p, out)
			if v.Status != c.want || !strings.Contains(v.Reason, c.reason) {
				t.Errorf("%s: %s, want %s: %s", v.Status, v.Reason, c.want, c.reason)
			}
			if c.want == Holds && v.Probes == 0 {
				t.Error("nothing was judged")
			}
			if c.want == Violated && (v.Event == 0 || len(v.Evidence) < 3) {
				t.Errorf("no evidence: %+v", v)
			}
		})
	}
}
