package world

import "slices"

// Alerts are rules of Prometheus, and the metrics that they are evaluated on.
type Alerts struct {
	Files   []RuleFile `json:"files,omitempty"`
	Scrapes []Scrape   `json:"scrapes"`
	// Keep are the metrics that the rules ask for; of what a target serves, no other is kept, unless All.
	Keep []string `json:"keep,omitempty"`
	All  bool     `json:"all,omitempty"`
	// Names are the alerts that are judged, all if there are none; those of Ignored, and those without Labels, are not.
	Names   []string          `json:"names,omitempty"`
	Ignored []string          `json:"ignored,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	// WatchNs is how long after the last heal the run is watched: an alert that is judged has time to fire.
	WatchNs int64 `json:"watch_ns,omitempty"`
}

// RuleFile is a file of rules, with its content.
type RuleFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Scrape is a job of Prometheus: an endpoint of each of some nodes, with NodePlace for the node's name.
type Scrape struct {
	Job      string   `json:"job"`
	Endpoint string   `json:"endpoint"`
	Nodes    []string `json:"nodes"`
}

// Scraped holds a target's metrics in the text format of Prometheus, or why there are none.
type Scraped struct {
	Job      string `json:"job"`
	Instance string `json:"instance"` // host:port
	Error    string `json:"error,omitempty"`
	Text     string `json:"text,omitempty"`
}

// Judges reports whether a violation follows where an alert with these labels fires.
func (a *Alerts) Judges(alert string, labels map[string]string) bool {
	if alert == "" || slices.Contains(a.Ignored, alert) || len(a.Names) > 0 && !slices.Contains(a.Names, alert) {
		return false
	}
	for name, value := range a.Labels {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// Probe is the check as the prober needs it, which does not evaluate rules.
func (c *Check) Probe() Check {
	order := *c
	if c.Alerts != nil {
		order.Alerts = &Alerts{Scrapes: c.Alerts.Scrapes, Keep: c.Alerts.Keep, All: c.Alerts.All}
	}
	return order
}
