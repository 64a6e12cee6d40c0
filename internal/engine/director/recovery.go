package director

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/record"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// maxJobSightings bounds the lines that are kept of declared jobs; further ones are counted.
const maxJobSightings = 200_000

// jobLines are the patterns of a property that declares jobs.
type jobLines struct {
	property            string
	start, done, failed *regexp.Regexp
}

func compileJobs(spec *world.Spec) []jobLines {
	var list []jobLines
	for i := range spec.Properties {
		p := &spec.Properties[i]
		if p.Check.Jobs.Start == "" {
			continue
		}
		j := jobLines{property: p.Name, start: regexp.MustCompile(p.Check.Jobs.Start), done: regexp.MustCompile(p.Check.Jobs.Done)}
		if p.Check.Jobs.Failed != "" {
			j.failed = regexp.MustCompile(p.Check.Jobs.Failed)
		}
		list = append(list, j)
	}
	return list
}

// jobLine looks at a line of a program's log for what it says of declared jobs.
func (d *Director) jobLine(l *record.LogLine) {
	for i := range d.jobs {
		j := &d.jobs[i]
		for _, step := range []struct {
			what    world.JobStep
			pattern *regexp.Regexp
		}{{world.JobFailed, j.failed}, {world.JobDone, j.done}, {world.JobStart, j.start}} {
			if step.pattern == nil {
				continue
			}
			m := step.pattern.FindStringSubmatch(l.Text)
			if m == nil {
				continue
			}
			if len(d.out.Jobs) == maxJobSightings {
				d.out.JobsLost++
				break
			}
			s := record.JobSighting{Property: j.property, What: step.what, Node: l.Node, Event: l.Event, TimeNs: l.TimeNs}
			if len(m) > 1 {
				s.ID = m[1]
			}
			d.out.Jobs = append(d.out.Jobs, s)
			break
		}
	}
}

// recoveryRate is how many operations a virtual second a driver tries after the last heal.
const recoveryRate = 20

// recovers reports whether a property wants everything to be tried again after the faults.
func (d *Director) recovers() bool {
	return slices.ContainsFunc(d.spec.Properties, func(p world.Property) bool { return p.Check.Type == world.RecoveryCheck })
}

// startRecovery has each workload's driver try again what its clients have done: each kind of operation, on keys that the
// tape draws from all that were used. It continues until each has succeeded, or the longest timeout is over.
func (d *Director) startRecovery() error {
	keys, timeout := 0, int64(0)
	for i := range d.spec.Properties {
		if p := &d.spec.Properties[i]; p.Check.Type == world.RecoveryCheck {
			keys, timeout = max(keys, p.Check.Keys, 1), max(timeout, p.Timeout())
		}
	}
	if !d.recovers() {
		return nil
	}
	for i := range d.spec.Workloads {
		l := d.spec.Workloads[i] // a copy, whose operations are others
		if l.Driver == "command" || l.Driver == "composer" {
			continue
		}
		if l.Mix = d.oncemore(&l, keys); len(l.Mix) == 0 {
			continue
		}
		l.Name, l.Clients, l.RatePerS, l.DurationNs, l.Operations, l.Once, l.SpecialPPM,
			l.Skip = strings.TrimSuffix(l.Name+world.RecoveryClients, "/"), 1, recoveryRate, timeout, 0, true, 0, nil
		l.Schedule = nil
		tag, err := d.startDriver(JobRecovery, i, &l)
		if err == nil {
			err = d.orderDriver(tag, &l)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// oncemore is a mix of each kind of operation that a workload's clients have done, on some of its keys.
func (d *Director) oncemore(l *world.Workload, most int) []world.Operation {
	kinds := map[string]map[string]bool{} // by kind, the keys
	all := map[string]bool{}
	for i := range d.out.History {
		e := &d.out.History[i]
		if e.Type != history.Invoke || !strings.HasPrefix(e.Client, l.Name+"/") || strings.ContainsAny(e.Key, "{}") {
			continue
		}
		if kinds[e.Op] == nil {
			kinds[e.Op] = map[string]bool{}
		}
		kinds[e.Op][e.Key] = true
		if e.Key != "" {
			all[e.Key] = true
		}
	}
	left := slices.Sorted(maps.Keys(all))
	sample := map[string]bool{}
	for len(left) > 0 && len(sample) < most {
		k := d.tape.Choose("recovery/"+l.Name, uint64(len(left)))
		sample[left[k]] = true
		left = slices.Delete(left, int(k), int(k)+1)
	}
	var reads, changes []world.Operation // reads come first, so that they see what the faults have left; the driver reads again what it has changed
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		var on []string
		for _, key := range slices.Sorted(maps.Keys(kinds[kind])) {
			if sample[key] {
				on = append(on, key)
			}
		}
		if len(on) == 0 { // the kind itself is tried on one of its own
			on = slices.Sorted(maps.Keys(kinds[kind]))[:1]
		}
		o := world.Operation{Kind: kind}
		if k := slices.IndexFunc(l.Mix, func(m world.Operation) bool { return strings.EqualFold(m.Kind, kind) }); k >= 0 {
			o = l.Mix[k]
		}
		for _, key := range on {
			o.Weight = 1
			if key != "" {
				o.KeyPattern = key
			}
			if history.IsRead(kind) {
				reads = append(reads, o)
			} else {
				changes = append(changes, o)
			}
		}
	}
	return append(reads, changes...)
}

// unsettled is how long the world is still to be watched after the last heal, for jobs to end or to show that they do not, and for alerts to fire.
func (d *Director) unsettled() int64 {
	end := int64(0)
	heal := int64(0)
	if n := len(d.Heals); n > 0 {
		heal = d.Heals[n-1]
	}
	for i := range d.spec.Properties {
		if p := &d.spec.Properties[i]; p.Check.Jobs.Start != "" || p.Check.Type.Kind().Lasting {
			end = max(end, heal+p.WatchedNs())
		}
	}
	return end
}
