package prometheus

import (
	"fmt"
	"sync"
	"testing"

	"github.com/bloodhound-dst/bloodhound/internal/alerts"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// A process judges many runs by one file, some at once, and by several checks.
func TestFilesAreParsedOnce(t *testing.T) {
	file := world.RuleFile{Name: "rules.yaml", Text: `
groups:
- name: queue
  rules:
  - {record: "jobs:sum", expr: "sum(jobs @ end())"}
  - {alert: Stuck, expr: "jobs:sum > 10", labels: {severity: page}}
  - {alert: Errors, expr: "errors_total > 0"}
`}
	stuck := &world.Alerts{Files: []world.RuleFile{file}, Names: []string{"Stuck"}}
	errors := &world.Alerts{Files: []world.RuleFile{file}, Names: []string{"Errors"}}
	one, err := Read(stuck)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Read(errors)
	if err != nil {
		t.Fatal(err)
	}
	if one[1].expr != two[1].expr {
		t.Error("the file was parsed twice")
	}
	if !one[1].Judged || one[2].Judged || two[1].Judged || !two[2].Judged {
		t.Errorf("judged are %t %t and %t %t", one[1].Judged, one[2].Judged, two[1].Judged, two[2].Judged)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := range 20 {
				e, err := alerts.Evaluate(stuck, []alerts.Scrape{{AtMs: int64(n),
					Targets: []world.Scraped{{Job: "queue", Instance: "n1:80", Text: fmt.Sprintf("jobs %d\n", n)}}}})
				if err != nil || (e.Firing != nil) != (n > 10) {
					t.Errorf("%d jobs: %+v %v", n, e, err)
				}
			}
		})
	}
	all.Wait()
}

func TestFewFilesAreKept(t *testing.T) {
	for n := range 3 * maxKept {
		if got := parsed(world.RuleFile{Name: "rules.yaml",
			Text: fmt.Sprintf("groups: [{name: a, rules: [{alert: A%d, expr: x}]}]", n)}); len(got.rules) != 1 || got.rules[0].Alert != fmt.Sprintf("A%d", n) {
			t.Fatalf("file %d: %+v", n, got)
		}
		if len(kept) > maxKept {
			t.Fatalf("%d files are kept", len(kept))
		}
	}
}
