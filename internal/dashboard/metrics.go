package dashboard

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/records"
)

// family is a metric in Prometheus' text format (version 0.0.4), with its samples.
type family struct {
	name, kind, help string
	samples          []sample
}

type sample struct {
	labels []string // name, value, name, value, ...
	value  float64
}

func (f *family) add(value float64, labels ...string) {
	f.samples = append(f.samples, sample{labels, value})
}

// text writes the family. Of samples whose labels are equal, which long names that are cut may cause, it writes the first.
func (f *family) text(b *strings.Builder) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
	had := map[string]bool{}
	for _, s := range f.samples {
		name := f.name
		for i := 0; i < len(s.labels); i += 2 {
			name += fmt.Sprintf(`%s%s="%s"`, map[bool]string{true: "{", false: ","}[i == 0], s.labels[i], labelValue(s.labels[i+1]))
		}
		if len(s.labels) > 0 {
			name += "}"
		}
		if !had[name] {
			had[name] = true
			b.WriteString(name + " " + strconv.FormatFloat(s.value, 'g', -1, 64) + "\n")
		}
	}
}

// labelValue cuts and escapes a value, whatever a program under test has written.
func labelValue(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), wordRunes)], "\ufffd")
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text)
}

// metricsOf gives all metrics, those of a test for its newest code.
func metricsOf(a *ask, state State) []*family {
	gauge := func(name, help string) *family { return &family{name: "bloodhound_" + name, kind: "gauge", help: help} }
	counter := func(name, help string) *family {
		return &family{name: "bloodhound_" + name, kind: "counter", help: help}
	}
	up := gauge("database_up", "Whether the database answers.")
	entries := gauge("database_entries", "Database records by kind.")
	size := gauge("database_bytes", "Bytes of keys and values by kind.")
	strange := gauge("database_strange_entries", "Records that this version cannot read, by kind.")
	damaged := gauge("database_damaged_segments", "Database segments with damaged parts.")
	workers := gauge("workers_alive", "Workers that recorded something in the last three minutes.")
	paused := gauge("workers_paused", "Workers alive that are paused.")
	runs := counter("runs_total", "Runs of all builds, by phase.")
	events := counter("events_total", "Events of all runs.")
	lost := counter("lost_runs_total", "Runs that the machine or the engine failed.")
	seconds := counter("effort_seconds_total", "Time that workers spent, by phase.")
	features := gauge("behaviours", "Behaviours that runs of the latest build reached.")
	failures := gauge("failures", "Failures by finding, without ignored ones.")
	ok := gauge("canary_found", "Whether a canary, a test that must fail, failed in the latest build.")
	last := gauge("last_run_timestamp_seconds", "Time of the last recorded runs of the latest build.")
	risk := gauge("risk_bound", "Upper bound, with 95 % confidence, of the chance that the next random run of the latest build shows "+
		"something new; absent without a bound.")
	holdout := gauge("holdout_runs", "Holdout runs of the latest build.")
	requests := gauge("requests_open", "Requests without an answer.")

	up.add(float64(btoi(state.Problem == "")))
	damaged.add(float64(len(state.Damages)))
	for _, kind := range slices.Sorted(maps.Keys(a.view.Held)) {
		entries.add(float64(a.view.Held[kind].Entries), "kind", kind)
		size.add(float64(a.view.Held[kind].Bytes), "kind", kind)
	}
	for _, kind := range slices.Sorted(maps.Keys(a.view.Strange)) {
		strange.add(float64(a.view.Strange[kind]), "kind", kind)
	}
	for _, t := range testsOf(a.view) {
		label := []string{"test", refOf(t).Name, "id", string(t.ID)} // two tests may have names that begin alike
		with := func(more ...string) []string { return append(slices.Clone(label), more...) }
		phases := map[string]*records.Sum{}
		all := records.Sum{}
		for _, e := range t.Efforts {
			for phase, s := range e.Phases {
				if phases[phase] == nil {
					phases[phase] = &records.Sum{}
				}
				phases[phase].Add(s)
				all.Add(s)
			}
		}
		for _, phase := range slices.Sorted(maps.Keys(phases)) {
			runs.add(float64(phases[phase].Runs), with("phase", phase)...)
			seconds.add(float64(phases[phase].Ms)/1000, with("phase", phase)...)
		}
		events.add(float64(all.Events), label...)
		lost.add(float64(all.Lost), label...)
		row, list := rowOf(a.view, t)
		features.add(float64(row.Features), label...)
		if row.LastMs > 0 {
			last.add(float64(row.LastMs)/1000, label...)
		}
		if row.Canary {
			ok.add(float64(btoi(row.State == caught)), label...)
		}
		for _, finding := range records.Findings {
			n := 0
			for i := range list {
				if list[i].Finding == finding && list[i].State != records.Ignored {
					n++
				}
			}
			failures.add(float64(n), with("finding", string(finding), "canary", strconv.FormatBool(row.Canary))...)
		}
		for _, r := range t.Risks(row.Code.ID) {
			if r.Class == records.AnyFeature {
				holdout.add(float64(r.Runs), label...)
			}
			if r.Not == "" {
				risk.add(r.Bound, with("class", r.Class)...)
			}
		}
	}
	alive := a.working()
	workers.add(float64(alive))
	paused.add(float64(alive * btoi(a.view.Paused())))
	open := 0
	for _, r := range a.view.Requests {
		open += btoi(r.AtMs > 0 && len(r.Answers) == 0)
	}
	requests.add(float64(open))
	return []*family{up, entries, size, strange, damaged, workers, paused, runs, events, lost, seconds, features, failures, ok, last, risk, holdout, requests}
}

// metrics serves what Prometheus reads.
func (d *Dashboard) metrics(w http.ResponseWriter, r *http.Request) {
	d.ready(r.Context())
	state, _ := d.model.State()
	var list []*family
	d.model.Read(func(v *records.View) { list = metricsOf(&ask{view: v, now: d.Now()}, state) })
	var b strings.Builder
	for _, f := range list {
		f.text(&b)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	fmt.Fprint(w, b.String())
}
