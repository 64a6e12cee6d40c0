// Package faults reads the faults that a campaign may inject.
package faults

import (
	"cmp"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// defaultSettleNs is how long a world runs on after its last heal; a quarter of max_time if that is less.
const defaultSettleNs int64 = 10_000_000_000

// usualSyncNs is how long a disk takes for an fsync, where that matters: without any time the power would hardly ever go in
// the middle of a commit.
const usualSyncNs = 1_000_000

// Read reads `faults`, and completes the times that depend on several keys.
func Read(l *load.State, n *source.Node) {
	f := &l.Spec.Faults
	f.SettleNs = source.ValueOr(n.Get("settle"), int64(0))
	mode := l.Mode
	if n == nil {
		mode = cmp.Or(mode, l.UsualMode)
	}
	if n != nil || mode != "" {
		f.Enabled = source.ValueOr(n.Get("enabled"), true)
		f.Mode = cmp.Or(mode, source.ValueOr(n.Get("mode"), ""))
		f.StartNs = source.ValueOr(n.Get("warmup"), int64(0))
		f.Swarm = source.ValueOr(n.Get("swarm"), f.Mode != "")
		f.StopNs = source.ValueOr(n.Get("stop"), int64(0))
		if s, w := n.Get("stop"), n.Entry("warmup"); s != nil && f.StopNs <= f.StartNs {
			after := "warmup"
			if w != nil {
				after = w.Key.Text // or its other spelling
			}
			l.Fail(s.Position, "set `stop:` to a later time", "faults.stop is not later than faults.%s, so no fault could be injected", after)
		}
		roles := roles(l, n.Get("roles"))
		rules := writtenRules(l, n.Get("rules"), roles)
		for i := range fault.Table {
			if r, ok := groupRule(l, n, &fault.Table[i], rules); ok && fault.Table[i].Parts {
				f.Rules = append(f.Rules, shaped(l, n.Get("network").Get("partition_shapes"), r)...)
			} else if ok {
				f.Rules = append(f.Rules, r)
			}
			f.Rules = append(f.Rules, special(l, n, &fault.Table[i], rules)...)
		}
		f.Rules = append(f.Rules, rules...)
		powerless(l, n.Get("rules"))
		required(l, n.Get("require_observed"))
		handling(l, n.Get("handling"))
		speed := n.Get("disk").Get("speed")
		if f.DiskSpeed = source.ValueOr(speed, ""); speed != nil {
			l.Places[load.Place{Part: engine.PartFault, Name: world.DiskSpeedKey}] = load.Location{Position: speed.Position, Key: "faults.disk.speed"}
		} else if f.Mode == world.Harsh {
			f.DiskSpeed = world.DrawnSpeed
		}
		f.DiskProfile = source.ValueOr(n.Get("disk").Get("profile"), "")
		if p := n.Get("disk").Get("profile"); p != nil && !fault.LosesPower(f) {
			l.Idle(p.Position, "faults.disk.profile", "no power loss has a rate above 0")
		}
	}
	if fault.LosesPower(f) || slices.ContainsFunc(f.Rules, func(r world.FaultRule) bool { return r.Moment == world.During }) {
		l.Spec.Cost.SyncNs = usualSyncNs
	}
	failStop(l.Spec)
	unstopped(l)
	unreplaced(l)
	completeTimes(l, n.Has("settle"))
}

// fullDiskTexts matches the last words of programs that stop because their disk is full (strerror(3)).
const fullDiskTexts = `(?i)no space left on device|disk quota exceeded|ENOSPC`

// failStop allows programs to stop when their disk is full, if they say so: who chooses a preset asks for no full disk in particular, and many databases
// stop by design. A rule or a rate of the user is another matter: then the end of a program is a violation until `allow` says otherwise.
func failStop(spec *world.Spec) {
	full := func(r world.FaultRule) bool { return r.Kind == fault.DiskFull && r.RatePPM > 0 }
	byUser := func(r world.FaultRule) bool { return full(r) && r.ByUser }
	if !slices.ContainsFunc(spec.Faults.Rules, full) || slices.ContainsFunc(spec.Faults.Rules, byUser) {
		return
	}
	for _, promise := range world.Promises {
		spec.Allow = append(spec.Allow, world.Allowance{Property: promise, Panic: fullDiskTexts, While: []world.FaultKind{fault.DiskFull}})
	}
}

// powerless refuses written rules where neither they nor any other can inject: properties would hold over runs without a fault.
func powerless(l *load.State, n *source.Node) {
	f := &l.Spec.Faults
	if len(l.Errs) > 0 || len(n.List()) == 0 || !f.Enabled || slices.ContainsFunc(f.Rules, func(r world.FaultRule) bool { return r.RatePPM > 0 }) {
		return
	}
	l.Fail(n.List()[0].Position, "write a rate above 0; for runs without faults, write `enabled: false`",
		"faults.rules: all rates are 0, so no fault is ever injected")
}

// unreplaced notes commands for machines that replace nodes, where nothing replaces them.
func unreplaced(l *load.State) {
	if l.Spec.Faults.Enabled && l.Spec.Faults.Injects(fault.Replace) {
		return
	}
	for i, d := range l.Nodes {
		if r := d.Value.Entry("replacement"); r != nil && !(d.Of != "" && i > 0 && l.Nodes[i-1].Of == d.Of) {
			l.Idle(r.Key.Position, d.Key+".replacement", "only the fault `replace` uses it, and that fault has no rate above 0")
		}
	}
}

// unstopped notes the keys about how a node stops, and what starts after that, where nothing stops it.
func unstopped(l *load.State) {
	f := &l.Spec.Faults
	if f.Enabled && slices.ContainsFunc([]world.FaultKind{fault.Restart, fault.Upgrade, fault.Downgrade}, f.Injects) {
		return
	}
	for i, d := range l.Nodes {
		if d.Of != "" && i > 0 && l.Nodes[i-1].Of == d.Of {
			continue // a replica of a service that is noted already
		}
		for _, key := range []string{"stop_signal", "stop_grace_period", "releases", "downgrade"} {
			if d.Value.Has(key) {
				l.Idle(d.Value.Entry(key).Key.Position, d.Key+"."+key,
					"only the faults `restart`, `upgrade` and `downgrade` use it, and none of them has a rate above 0")
			}
		}
	}
}

// required reads require_observed.
func required(l *load.State, n *source.Node) {
	f := &l.Spec.Faults
	if n == nil {
		return
	}
	if n.Kind == source.List {
		for _, item := range n.List() {
			kind := world.FaultKind(item.Text)
			if !f.Injects(kind) {
				l.Fail(item.Position, "set a rate above 0, or remove it from the list",
					"faults.require_observed: %s is never injected, so it cannot be observed", kind)
				continue
			}
			if !slices.Contains(f.Require, kind) {
				f.Require = append(f.Require, kind)
			}
		}
		return
	}
	if source.ValueOr(n, false) {
		for _, r := range f.Rules {
			if r.RatePPM > 0 && !slices.Contains(f.Require, r.Kind) {
				f.Require = append(f.Require, r.Kind)
			}
		}
	}
}

// completeTimes sets what depends on several keys: a settle time that lets liveness show, if max_time leaves room, and
// workloads that leave time for it.
func completeTimes(l *load.State, settleWritten bool) {
	s := l.Spec
	var longest int64
	for _, w := range s.Workloads {
		longest = max(longest, w.DurationNs)
	}
	if !settleWritten {
		least := min(defaultSettleNs, s.MaxTimeNs/4)
		want := least
		for _, p := range s.Properties {
			if p.Kind == world.Liveness || p.Check.Type == world.RecoveryCheck {
				want = max(want, p.TimeoutNs)
			}
		}
		spare := s.MaxTimeNs - longest - s.MaxTimeNs/6
		if longest == 0 {
			spare = s.MaxTimeNs / 2
		}
		s.Faults.SettleNs = min(want, max(least, spare))
	}
	for i := range s.Workloads {
		if w := &s.Workloads[i]; w.DurationNs == 0 {
			left := s.MaxTimeNs - s.Faults.SettleNs - s.MaxTimeNs/6
			w.DurationNs = max(min(s.MaxTimeNs/2, left), min(s.MaxTimeNs/10+1, 1_000_000_000))
		}
	}
}
