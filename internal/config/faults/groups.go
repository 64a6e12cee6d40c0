package faults

import (
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/config/load"
	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// knob is one kind of fault in the groups network, disk, process and clock: the key of its rate and of its duration.
type knob struct {
	group     string
	rate      string
	kind      string
	span      string
	otherwise [2]int64 // the duration without that key
}

var knobs = []knob{
	{"network", "partition_probability", "partition", "partition_duration_ms", [2]int64{1e9, 5e9}},
	{"network", "clog_probability", "clog", "clog_duration_ms", [2]int64{1e9, 5e9}},
	{"network", "slow_link_probability", "slow_link", "slow_link_duration_ms", [2]int64{1e9, 5e9}},
	{"network", "reset_probability", "reset", "", [2]int64{}},
	{"network", "dns_fail_probability", "dns_fail", "dns_fail_duration_ms", [2]int64{1e9, 5e9}},
	{"network", "delay_rate", "delay", "", [2]int64{}},
	{"network", "drop_rate", "drop", "", [2]int64{}},
	{"network", "duplicate_rate", "duplicate", "", [2]int64{}},
	{"network", "reorder_rate", "reorder", "reorder_ms", [2]int64{1e6, 20e6}},
	{"network", "corrupt_rate", "corrupt", "", [2]int64{}},
	{"process", "crash_probability", "crash", "crash_duration_ms", [2]int64{500e6, 3e9}},
	{"process", "power_loss_probability", "power_loss", "power_loss_duration_ms", [2]int64{500e6, 3e9}},
	{"process", "restart_probability", "restart", "restart_duration_ms", [2]int64{500e6, 3e9}},
	{"process", "pause_probability", "pause", "pause_duration_ms", [2]int64{100e6, 2e9}},
	{"process", "memory_pressure_probability", "memory_pressure", "memory_pressure_duration_ms", [2]int64{100e6, 2e9}},
	{"process", "oom_probability", "oom", "oom_duration_ms", [2]int64{1e9, 5e9}},
	{"disk", "write_fail_rate", "write_fail", "", [2]int64{}},
	{"disk", "read_fail_rate", "read_fail", "", [2]int64{}},
	{"disk", "partial_write_rate", "partial_write", "", [2]int64{}},
	{"disk", "fsync_fail_rate", "fsync_fail", "", [2]int64{}},
	{"disk", "torn_write_rate", "torn_write", "torn_write_duration_ms", [2]int64{500e6, 3e9}},
	{"disk", "read_corrupt_rate", "read_corrupt", "", [2]int64{}},
	{"disk", "full_probability", "disk_full", "full_duration_ms", [2]int64{500e6, 5e9}},
	{"disk", "slow_probability", "slow_disk", "slow_duration_ms", [2]int64{500e6, 5e9}},
	{"clock", "skew_probability", "clock_skew", "skew_duration_ms", [2]int64{1e9, 10e9}},
	{"clock", "jump_probability", "clock_jump", "", [2]int64{}},
	{"clock", "drift_probability", "clock_drift", "drift_duration_ms", [2]int64{1e9, 10e9}},
}

// amounts are the keys of how much of a fault there is, and what holds without them, by kind.
var amounts = map[string]struct {
	key       string
	rule      string // the key in a rule
	otherwise [2]int64
}{
	"slow_disk":   {"slow_ms", "amount_ms", [2]int64{5e6, 100e6}},
	"clock_skew":  {"skew_ms", "amount_ms", [2]int64{100e6, 5e9}},
	"clock_jump":  {"jump_ms", "amount_ms", [2]int64{1e9, 60e9}},
	"clock_drift": {"drift_ppm", "amount_ppm", [2]int64{1e6, 100e6}},
}

// amount reads how much of a fault there is, from a key of its group or of a rule.
func amount(l *load.State, n *source.Node, key string, r *world.FaultRule) {
	a, ok := amounts[r.Kind]
	if !ok {
		return
	}
	if r.Most == 0 {
		r.Least, r.Most = a.otherwise[0], a.otherwise[1]
	}
	if written := n.Get(key); written != nil {
		v := written.Value.([2]int64)
		if r.Least, r.Most = v[0], v[1]; r.Kind == "clock_drift" { // a span is read as ms
			if r.Least, r.Most = v[0]/1000, v[1]/1000; r.Most > fault.MaxDriftPPB {
				l.Fail(written.Position, "give at most 500000", "%s: a clock that drifts so much stands still", key)
			}
		}
	}
}

// groupRule makes the rule of one kind: the preset's, with what the user's keys say instead.
func groupRule(l *load.State, n *source.Node, k *knob, rules []world.FaultRule) (world.FaultRule, bool) {
	group := n.Get(k.group)
	r := world.FaultRule{Kind: k.kind, MinNs: k.otherwise[0], MaxNs: k.otherwise[1]}
	for _, p := range presets[l.Spec.Faults.Mode] {
		if p.Kind == k.kind && !slices.ContainsFunc(rules, func(o world.FaultRule) bool { return o.Kind == k.kind }) {
			r = p
			if !fault.Steady(fault.Kind(k.kind)) {
				r.RatePPM = scale(r.RatePPM, l.Spec.TimeStepNs)
			}
		}
	}
	if group != nil && !source.ValueOr(group.Get("enabled"), true) {
		return r, false
	}
	if written := group.Get(k.rate); written != nil {
		r.RatePPM, r.ByUser = written.Value.(uint64), true
		hidden(l, written.Position, &r, "faults."+k.group+"."+k.rate)
	}
	switch k.kind {
	case "delay":
		delay(l, group, &r)
	case "slow_link":
		slowLink(l, group, "slow_link_", "faults.network.", &r)
	}
	if written := group.Get(k.span); written != nil && k.span != "" {
		v := written.Value.([2]int64)
		r.MinNs, r.MaxNs = v[0], v[1]
		if r.RatePPM == 0 {
			l.Idle(group.Entry(k.span).Key.Position, "faults."+k.group+"."+k.span, k.rate+" is 0")
		}
	}
	if a := amounts[k.kind].key; a != "" {
		amount(l, group, a, &r)
		if group.Has(a) && r.RatePPM == 0 {
			l.Idle(group.Entry(a).Key.Position, "faults."+k.group+"."+a, k.rate+" is 0")
		}
	}
	return r, r.ByUser || r.RatePPM > 0
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
		l.Fail(shapes.Position, "name some of "+strings.Join(fault.PartitionShapes, ", "), "%s is empty", key)
	}
	return rules
}

// delay reads delay_ms and delay_jitter_ms. Without a rate, a delay that is written strikes every packet.
func delay(l *load.State, group *source.Node, r *world.FaultRule) {
	const usual = 50_000_000
	ms, jitter := group.Get("delay_ms"), group.Get("delay_jitter_ms")
	if ms == nil && jitter == nil && r.MaxNs > 0 {
		return
	}
	middle, around := (r.MinNs+r.MaxNs)/2, (r.MaxNs-r.MinNs)/2
	if middle == 0 {
		middle, around = usual, usual/2
	}
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
		l.Note(ms.Position, "faults.network.delay_ms", "every packet is delayed: delay_rate says how many")
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
			l.Idle(n.Entry(key).Key.Position, at+key, "only a slow_link has it")
		case r.RatePPM == 0:
			l.Idle(n.Entry(key).Key.Position, at+key, "no slow_link has a rate above 0")
		}
	}
	switch {
	case r.Kind != "slow_link":
		r.LatencyNs, r.JitterNs, r.BandwidthBytes = 0, 0, 0
	case r.RatePPM > 0 && r.LatencyNs == 0 && r.JitterNs == 0 && r.BandwidthBytes == 0:
		l.Fail(n.Entry(prefix+"latency_ms").Key.Position, "give it a latency, a jitter or a bandwidth", "%sslow_link slows nothing down", at)
	}
}
