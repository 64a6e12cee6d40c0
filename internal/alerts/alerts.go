// Package alerts has what an evaluation of alerting rules takes and gives, as plain data. Its room prometheus is the evaluation
// by Prometheus itself, whose query engine packages for users do not link: who reads configurations links it.
package alerts

import (
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Evaluate evaluates the rules of an alerts check after each scrape, up to the first after which a judged alert fires. Room
// prometheus sets it when a program starts; it is nil in programs without that room. An error is a mistake in the files of rules.
var Evaluate func(a *world.Alerts, scrapes []Scrape) (*Evaluation, error)

// Scrape holds the metrics of all targets at one time.
type Scrape struct {
	AtMs    int64 // since 1970
	Targets []world.Scraped
	Excused bool // a fault explains alerts: none is active
}

// Evaluation is the state of the rules after the last scrape that was taken in.
type Evaluation struct {
	Scrapes int    // how many were taken in
	Mistake string // why the rules could not be evaluated after the last one, which ends the evaluation
	Firing  *Alert // the first judged alert that fires
	Pending *Alert // the first judged alert that is true for too short to fire
	Judged  []Rule // the alerts that are judged, in their order
}

// Rule is an alerting rule.
type Rule struct {
	File, Group string
	Alert       string
	Expr        string
	For         time.Duration
	Unseen      string // why the alert could not have fired: a metric that it needs never existed
}

// Alert is an alert that is active, with its rule.
type Alert struct {
	Rule
	Text        string // the alert with its labels
	Value       float64
	SinceMs     int64  // since when its expression is true
	Summary     string // what its annotations say, or its expression
	Description string // empty without that annotation
}
