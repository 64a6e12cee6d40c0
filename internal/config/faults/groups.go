package faults

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// amountKey is the key, in a rule, of how much of a fault there is; empty for kinds of which there is no more or less.
func amountKey(kind world.FaultKind) string {
	switch a := fault.RowOf(kind).Amount; {
	case a == nil:
		return ""
	case a.PPM:
		return "amount_ppm"
	}
	return "amount_ms"
}

// amount reads how much of a fault there is, from a key of its group or of a rule.
func amount(l *load.State, n *source.Node, key string, r *world.FaultRule) {
	a := fault.RowOf(r.Kind).Amount
	if a == nil {
		return
	}
	if r.Most == 0 {
		r.Least, r.Most = a.Least, a.Most
	}
	if written := n.Get(key); written != nil {
		v := written.Value.([2]int64)
		if v[1] == 0 {
			l.Fail(written.Position, "write an amount above 0, or remove the rule", "%s is 0, so the fault would have no effect", key)
		}
		if r.Least, r.Most = v[0], v[1]; a.PPM { // a span is read as ms
			if r.Least, r.Most = v[0]/1000, v[1]/1000; r.Most > fault.MaxDriftPPB {
				l.Fail(written.Position, "write at most 500000", "%s: a clock with this drift does not advance", key)
			}
		}
	}
}

// groupRule makes the rule of one kind: the preset's, with what the user's keys say instead.
func groupRule(l *load.State, n *source.Node, row *fault.Row, rules []world.FaultRule) (world.FaultRule, bool) {
	kind, k := row.Kind, &row.Keys
	group := n.Get(k.Group)
	r := world.FaultRule{Kind: kind, MinNs: row.Span.MinNs, MaxNs: row.Span.MaxNs}
	for _, p := range preset(l, kind, rules) {
		if !p.OnCalls() && p.Shape == "" {
			r = p
		}
	}
	if group != nil && !source.ValueOr(group.Get("enabled"), true) {
		return r, false
	}
	if written := group.Get(k.Rate); written != nil {
		r.RatePPM, r.ByUser = written.Value.(uint64), true
		hidden(l, written.Position, &r, "faults."+k.Group+"."+k.Rate)
	}
	switch row.Kind {
	case fault.Delay:
		delay(l, group, &r)
	case fault.SlowLink:
		slowLink(l, group, "slow_link_", "faults.network.", &r)
	}
	if written := group.Get(k.Duration); written != nil && k.Duration != "" {
		v := written.Value.([2]int64)
		r.MinNs, r.MaxNs = v[0], v[1]
		if r.RatePPM == 0 {
			l.Idle(group.Entry(k.Duration).Key.Position, "faults."+k.Group+"."+k.Duration, k.Rate+" is 0")
		}
	}
	if a := row.Amount; a != nil {
		amount(l, group, a.Key, &r)
		if group.Has(a.Key) && r.RatePPM == 0 {
			l.Idle(group.Entry(a.Key).Key.Position, "faults."+k.Group+"."+a.Key, k.Rate+" is 0")
		}
	}
	return r, r.ByUser || r.RatePPM > 0
}

// preset are the rules that the preset has for a kind that the user has no rule for.
func preset(l *load.State, kind world.FaultKind, written []world.FaultRule) (rules []world.FaultRule) {
	if slices.ContainsFunc(written, func(o world.FaultRule) bool { return o.Kind == kind }) {
		return nil
	}
	for _, r := range presets[l.Spec.Faults.Mode] {
		if r.Kind != kind || !fits(l, &r) {
			continue
		}
		if fault.RowOf(kind).PerStep() && !r.OnCalls() {
			r.RatePPM = scale(r.RatePPM, l.Spec.TimeStepNs)
		}
		rules = append(rules, r)
	}
	return rules
}

// special are the rules of the preset for a kind at moments, and for groups of servers. A rate of the kind that the user has written replaces them.
func special(l *load.State, n *source.Node, row *fault.Row, written []world.FaultRule) (rules []world.FaultRule) {
	group := n.Get(row.Keys.Group)
	if group.Has(row.Keys.Rate) || group != nil && !source.ValueOr(group.Get("enabled"), true) {
		return nil
	}
	servers := 0
	for _, d := range l.Nodes {
		if d.Spec.Role == world.Server {
			servers++
		}
	}
	for _, r := range preset(l, row.Kind, written) {
		least, _ := fault.Grouped(r.Shape)
		if r.Moment == world.InTransfer {
			least = 2
		}
		if (r.OnCalls() || r.Shape != "") && servers >= least {
			rules = append(rules, r)
		}
	}
	return rules
}

// shaped makes a rule for each shape of partitions that is written.
func shaped(l *load.State, shapes *source.Node, r world.FaultRule) []world.FaultRule {
	if shapes == nil {
		return []world.FaultRule{r}
	}
	const key = "faults.network.partition_shapes"
	if r.RatePPM == 0 {
		l.Idle(shapes.Position, key, "partition_probability is 0")
	}
	var rules []world.FaultRule
	var words []string
	for _, item := range shapes.Scalars() {
		words = append(words, item.Text)
	}
	for i, item := range shapes.Scalars() {
		shape := r
		shape.Shape = item.Text
		switch {
		case slices.Contains(words[:i], item.Text):
			continue
		case item.Text == fault.Nodes && slices.Contains(words, fault.Links):
			shape.Shape = "" // which is both
		case item.Text == fault.Links && slices.Contains(words, fault.Nodes):
			continue
		}
		partShape(l, item.Position, &shape, key)
		rules = append(rules, shape)
	}
	if len(rules) == 0 {
		l.Fail(shapes.Position, "use some of "+strings.Join(fault.PartitionShapes, ", "), "%s is empty", key)
	}
	return rules
}

// delay reads delay_ms and delay_jitter_ms. Without a rate, a delay that is written applies to every packet.
func delay(l *load.State, group *source.Node, r *world.FaultRule) {
	ms, jitter := group.Get("delay_ms"), group.Get("delay_jitter_ms")
	if ms == nil && jitter == nil && r.MaxNs > 0 {
		return
	}
	middle, around := (r.MinNs+r.MaxNs)/2, (r.MaxNs-r.MinNs)/2
	if ms != nil {
		middle, around = ms.Value.(int64), 0
	}
	if jitter != nil {
		around = jitter.Value.(int64)
	}
	r.MinNs, r.MaxNs = max(middle-around, 0), middle+around
	switch {
	case ms != nil && r.RatePPM == 0 && !group.Has("delay_rate"):
		r.RatePPM, r.ByUser = 1_000_000, true
		l.Note(ms.Position, "faults.network.delay_ms", "every packet is delayed, since delay_rate is not set")
	case r.RatePPM == 0 && ms != nil:
		l.Idle(ms.Position, "faults.network.delay_ms", "delay_rate is 0")
	}
	if r.RatePPM == 0 && jitter != nil {
		l.Idle(jitter.Position, "faults.network.delay_jitter_ms", "delay_rate is 0")
	}
}

// slowLink reads what a slow link adds; the keys are those of links, behind a prefix.
func slowLink(l *load.State, n *source.Node, prefix, at string, r *world.FaultRule) {
	r.LatencyNs = source.ValueOr(n.Get(prefix+"latency_ms"), fault.UsualSlow.LatencyNs)
	r.JitterNs = source.ValueOr(n.Get(prefix+"jitter_ms"), fault.UsualSlow.JitterNs)
	r.BandwidthBytes = source.ValueOr(n.Get(prefix+"bandwidth_bytes"), fault.UsualSlow.Bandwidth)
	for _, key := range []string{"latency_ms", "jitter_ms", "bandwidth_bytes"} {
		switch key = prefix + key; {
		case !n.Has(key):
		case r.Kind != "slow_link":
			l.Idle(n.Entry(key).Key.Position, at+key, "only slow_link uses it")
		case r.RatePPM == 0:
			l.Idle(n.Entry(key).Key.Position, at+key, "the rate of slow_link is 0")
		}
	}
	switch {
	case r.Kind != "slow_link":
		r.LatencyNs, r.JitterNs, r.BandwidthBytes = 0, 0, 0
	case r.RatePPM > 0 && r.LatencyNs == 0 && r.JitterNs == 0 && r.BandwidthBytes == 0:
		l.Fail(n.Entry(prefix+"latency_ms").Key.Position, "set a latency, a jitter or a bandwidth",
			"%sslow_link adds no latency and no jitter, and limits no bandwidth", at)
	}
}
