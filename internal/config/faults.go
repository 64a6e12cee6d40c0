package config

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/engine"
	"github.com/bloodhound-dst/bloodhound/internal/fault"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// defaultSettleNs is how long a world runs on after its last heal; a quarter of max_time if that is less.
const defaultSettleNs int64 = 10_000_000_000

// usualSyncNs is how long a disk takes for an fsync, where that matters: without any time the power would hardly ever go in
// the middle of a commit.
const usualSyncNs = 1_000_000

// presetStepNs is the time step that the probabilities of presets are written for. Others scale them, so that a preset
// means the same number of strikes a second.
const presetStepNs = 10_000_000

// A preset strikes each of its targets with these rates. Three servers and a client have three nodes and six links, so
// that moderate makes about 3 partitions, 1 crash and 1 pause in 30 virtual seconds of chaos, and chaos five times that.
// What only breaks programs that made no such promise is in no preset: power losses, errors of disks, and wrong dates
// beyond what a working NTP allows.
var presets = map[string][]world.FaultRule{
	"calm": {
		{Kind: "delay", RatePPM: 10_000, MinNs: 1e6, MaxNs: 10e6},
	},
	"moderate": {
		{Kind: "partition", RatePPM: 100, MinNs: 1e9, MaxNs: 5e9},
		{Kind: "clog", RatePPM: 30, MinNs: 500e6, MaxNs: 3e9},
		{Kind: "slow_link", RatePPM: 30, MinNs: 1e9, MaxNs: 5e9},
		{Kind: "delay", RatePPM: 20_000, MinNs: 5e6, MaxNs: 50e6},
		{Kind: "drop", RatePPM: 5_000},
		{Kind: "reset", RatePPM: 30},
		{Kind: "crash", RatePPM: 150, MinNs: 500e6, MaxNs: 3e9},
		{Kind: "pause", RatePPM: 150, MinNs: 100e6, MaxNs: 2e9},
	},
	"chaos": {
		{Kind: "partition", RatePPM: 500, MinNs: 1e9, MaxNs: 8e9},
		{Kind: "clog", RatePPM: 150, MinNs: 500e6, MaxNs: 5e9},
		{Kind: "slow_link", RatePPM: 150, MinNs: 1e9, MaxNs: 8e9},
		{Kind: "delay", RatePPM: 100_000, MinNs: 5e6, MaxNs: 200e6},
		{Kind: "drop", RatePPM: 20_000},
		{Kind: "corrupt", RatePPM: 5_000},
		{Kind: "reset", RatePPM: 150},
		{Kind: "crash", RatePPM: 700, MinNs: 500e6, MaxNs: 5e9},
		{Kind: "pause", RatePPM: 700, MinNs: 100e6, MaxNs: 5e9},
		{Kind: "slow_disk", RatePPM: 300, MinNs: 500e6, MaxNs: 5e9, Least: 5e6, Most: 100e6},
		{Kind: "clock_skew", RatePPM: 300, MinNs: 1e9, MaxNs: 10e9, Least: 10e6, Most: 500e6},
	},
}

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

func (l *loader) faults(n *node) {
	f := &l.spec.Faults
	f.SettleNs = valueOr(n.get("settle"), int64(0))
	if n != nil {
		f.Enabled = valueOr(n.get("enabled"), true)
		f.Mode = valueOr(n.get("mode"), "")
		f.StartNs = valueOr(n.get("warmup"), int64(0))
		f.Swarm = valueOr(n.get("swarm"), f.Mode != "")
		f.StopNs = valueOr(n.get("stop"), int64(0))
		if s, w := n.get("stop"), n.entry("warmup"); s != nil && f.StopNs <= f.StartNs {
			after := "warmup"
			if w != nil {
				after = w.key.text // or its other spelling
			}
			l.fail(s.position, "make `stop:` later", "faults.stop is not after faults.%s, and no fault could strike", after)
		}
		roles := l.roles(n.get("roles"))
		rules := l.writtenRules(n.get("rules"), roles)
		for i := range knobs {
			if r, ok := l.knob(n, &knobs[i], rules); ok && r.Kind == "partition" {
				f.Rules = append(f.Rules, l.shaped(n.get("network").get("partition_shapes"), r)...)
			} else if ok {
				f.Rules = append(f.Rules, r)
			}
		}
		f.Rules = append(f.Rules, rules...)
		l.required(n.get("require_observed"))
		l.handling(n.get("handling"))
		f.DiskProfile = valueOr(n.get("disk").get("profile"), "")
		if p := n.get("disk").get("profile"); p != nil && !losesPower(f) {
			l.idle(p.position, "faults.disk.profile", "no power loss has a rate above 0")
		}
	}
	if losesPower(f) {
		l.spec.Cost.SyncNs = usualSyncNs
	}
	l.unstopped()
	l.completeTimes(n.has("settle"))
}

// unstopped notes the keys about how a node stops where nothing stops it.
func (l *loader) unstopped() {
	if l.spec.Faults.Enabled && l.spec.Faults.Strikes("restart") {
		return
	}
	for i, d := range l.nodes {
		if d.of != "" && i > 0 && l.nodes[i-1].of == d.of {
			continue // a replica of a service that is noted already
		}
		for _, key := range []string{"stop_signal", "stop_grace_period"} {
			if d.value.has(key) {
				l.idle(d.value.entry(key).key.position, d.key+"."+key, "only the fault `restart` stops nodes in order, and it has no rate above 0")
			}
		}
	}
}

// losesPower tells whether a node's power may go.
func losesPower(f *world.Faults) bool { return f.Strikes("power_loss") || f.Strikes("torn_write") }

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
func (l *loader) amount(n *node, key string, r *world.FaultRule) {
	a, ok := amounts[r.Kind]
	if !ok {
		return
	}
	if r.Most == 0 {
		r.Least, r.Most = a.otherwise[0], a.otherwise[1]
	}
	if written := n.get(key); written != nil {
		v := written.value.([2]int64)
		if r.Least, r.Most = v[0], v[1]; r.Kind == "clock_drift" { // a span is read as ms
			if r.Least, r.Most = v[0]/1000, v[1]/1000; r.Most > fault.MaxDriftPPB {
				l.fail(written.position, "give at most 500000", "%s: a clock that drifts so much stands still", key)
			}
		}
	}
}

// required reads require_observed.
func (l *loader) required(n *node) {
	f := &l.spec.Faults
	if n == nil {
		return
	}
	if n.kind == list {
		for _, item := range n.list() {
			if !f.Strikes(item.text) {
				l.fail(item.position, "give it a rate above 0, or do not require it", "faults.require_observed: %s never strikes, so it cannot be observed", item.text)
				continue
			}
			if !slices.Contains(f.Require, item.text) {
				f.Require = append(f.Require, item.text)
			}
		}
		return
	}
	if valueOr(n, false) {
		for _, r := range f.Rules {
			if r.RatePPM > 0 && !slices.Contains(f.Require, r.Kind) {
				f.Require = append(f.Require, r.Kind)
			}
		}
	}
}

// knob makes the rule of one kind: the preset's, with what the user's keys say instead.
func (l *loader) knob(n *node, k *knob, rules []world.FaultRule) (world.FaultRule, bool) {
	group := n.get(k.group)
	r := world.FaultRule{Kind: k.kind, MinNs: k.otherwise[0], MaxNs: k.otherwise[1]}
	for _, p := range presets[l.spec.Faults.Mode] {
		if p.Kind == k.kind && !slices.ContainsFunc(rules, func(o world.FaultRule) bool { return o.Kind == k.kind }) {
			r = p
			if !fault.Steady(fault.Kind(k.kind)) {
				r.RatePPM = scale(r.RatePPM, l.spec.TimeStepNs)
			}
		}
	}
	if group != nil && !valueOr(group.get("enabled"), true) {
		return r, false
	}
	if written := group.get(k.rate); written != nil {
		r.RatePPM, r.ByUser = written.value.(uint64), true
		l.hidden(written.position, &r, "faults."+k.group+"."+k.rate)
	}
	switch k.kind {
	case "delay":
		l.delay(group, &r)
	case "slow_link":
		l.slowLink(group, "slow_link_", "faults.network.", &r)
	}
	if written := group.get(k.span); written != nil && k.span != "" {
		v := written.value.([2]int64)
		r.MinNs, r.MaxNs = v[0], v[1]
		if r.RatePPM == 0 {
			l.idle(group.entry(k.span).key.position, "faults."+k.group+"."+k.span, k.rate+" is 0")
		}
	}
	if a := amounts[k.kind].key; a != "" {
		l.amount(group, a, &r)
		if group.has(a) && r.RatePPM == 0 {
			l.idle(group.entry(a).key.position, "faults."+k.group+"."+a, k.rate+" is 0")
		}
	}
	return r, r.ByUser || r.RatePPM > 0
}

// hidden refuses a rule of a kind that TCP hides where nothing but TCP is spoken, as far as that can be known: drivers of
// ours speak it on links of their clients.
func (l *loader) hidden(at position, r *world.FaultRule, key string) {
	if !fault.OnlyDatagrams(fault.Kind(r.Kind)) || r.RatePPM == 0 {
		return
	}
	links := 0
	for i, a := range l.nodes {
		for _, b := range l.nodes[:i] {
			if a.spec.Role == world.Checker || b.spec.Role == world.Checker || a.spec.Role == world.Client && b.spec.Role == world.Client {
				continue
			}
			if len(r.Targets) > 0 && !slices.ContainsFunc(r.Targets, func(t string) bool { return concerns(t, a.spec.Name, b.spec.Name) }) {
				continue
			}
			if links++; !l.onlyTCP(&a.spec) && !l.onlyTCP(&b.spec) {
				return
			}
		}
	}
	if links > 0 {
		l.fail(at, "leave it out, or use drop, delay or corrupt, which TCP turns into time", "%s: only datagrams (UDP) can be struck by %s, and drivers speak TCP on all links concerned", key, r.Kind)
	}
}

// concerns tells whether a target, a node or a link, is about the link of two nodes.
func concerns(target, a, b string) bool {
	switch target {
	case a, b, a + "-" + b, b + "-" + a, a + "->" + b, b + "->" + a:
		return true
	}
	return false
}

// onlyTCP tells whether a node is a client on which nothing runs but drivers that speak TCP.
func (l *loader) onlyTCP(n *world.Node) bool {
	if n.Role != world.Client || len(n.Command) > 0 || n.Health != nil {
		return false
	}
	return !slices.ContainsFunc(l.spec.Workloads, func(w world.Workload) bool {
		return w.Node == n.Name && (w.Driver == "command" || w.Driver == "composer")
	})
}

// shaped makes a rule for each shape of partitions that is written.
func (l *loader) shaped(shapes *node, r world.FaultRule) []world.FaultRule {
	if shapes == nil {
		return []world.FaultRule{r}
	}
	const key = "faults.network.partition_shapes"
	if r.RatePPM == 0 {
		l.idle(shapes.position, key, "partition_probability is 0")
	}
	var rules []world.FaultRule
	var words []string
	for _, item := range shapes.scalars() {
		words = append(words, item.text)
	}
	for i, item := range shapes.scalars() {
		shape := r
		shape.Shape = item.text
		switch {
		case slices.Contains(words[:i], item.text):
			continue
		case item.text == fault.Nodes && slices.Contains(words, fault.Links):
			shape.Shape = "" // which is both
		case item.text == fault.Links && slices.Contains(words, fault.Nodes):
			continue
		}
		l.partShape(item.position, &shape, key)
		rules = append(rules, shape)
	}
	if len(rules) == 0 {
		l.fail(shapes.position, "name some of "+strings.Join(fault.PartitionShapes, ", "), "%s is empty", key)
	}
	return rules
}

// partShape checks the shape of a partition.
func (l *loader) partShape(at position, r *world.FaultRule, key string) {
	var servers []string
	for _, d := range l.nodes {
		if d.spec.Role == world.Server {
			servers = append(servers, d.spec.Name)
		}
	}
	if err := fault.CheckShape(r, servers); err != nil {
		l.fail(at, "docs/reference/faults.md has the shapes", "%s: %v", key, err)
	}
}

// scale turns a probability for presetStepNs into that for another step.
func scale(ppm uint64, stepNs int64) uint64 {
	return min(max(uint64(float64(ppm)*float64(stepNs)/presetStepNs), 1), 1_000_000)
}

// delay reads delay_ms and delay_jitter_ms. Without a rate, a delay that is written strikes every packet.
func (l *loader) delay(group *node, r *world.FaultRule) {
	const usual = 50_000_000
	ms, jitter := group.get("delay_ms"), group.get("delay_jitter_ms")
	if ms == nil && jitter == nil && r.MaxNs > 0 {
		return
	}
	middle, around := (r.MinNs+r.MaxNs)/2, (r.MaxNs-r.MinNs)/2
	if middle == 0 {
		middle, around = usual, usual/2
	}
	if ms != nil {
		middle, around = ms.value.(int64), 0
	}
	if jitter != nil {
		around = jitter.value.(int64)
	}
	r.MinNs, r.MaxNs = max(middle-around, 0), middle+around
	switch {
	case ms != nil && r.RatePPM == 0 && !group.has("delay_rate"):
		r.RatePPM, r.ByUser = 1_000_000, true
		l.note(ms.position, "faults.network.delay_ms", "every packet is delayed: delay_rate says how many")
	case r.RatePPM == 0 && ms != nil:
		l.idle(ms.position, "faults.network.delay_ms", "delay_rate is 0")
	}
	if r.RatePPM == 0 && jitter != nil {
		l.idle(jitter.position, "faults.network.delay_jitter_ms", "delay_rate is 0")
	}
}

// slowLink reads what a slow link adds; the keys are those of links, behind a prefix.
func (l *loader) slowLink(n *node, prefix, at string, r *world.FaultRule) {
	r.LatencyNs = valueOr(n.get(prefix+"latency_ms"), fault.UsualSlow.LatencyNs)
	r.JitterNs = valueOr(n.get(prefix+"jitter_ms"), fault.UsualSlow.JitterNs)
	r.BandwidthBytes = valueOr(n.get(prefix+"bandwidth_bytes"), fault.UsualSlow.Bandwidth)
	for _, key := range []string{"latency_ms", "jitter_ms", "bandwidth_bytes"} {
		switch key = prefix + key; {
		case !n.has(key):
		case r.Kind != "slow_link":
			l.idle(n.entry(key).key.position, at+key, "only a slow_link has it")
		case r.RatePPM == 0:
			l.idle(n.entry(key).key.position, at+key, "no slow_link has a rate above 0")
		}
	}
	switch {
	case r.Kind != "slow_link":
		r.LatencyNs, r.JitterNs, r.BandwidthBytes = 0, 0, 0
	case r.RatePPM > 0 && r.LatencyNs == 0 && r.JitterNs == 0 && r.BandwidthBytes == 0:
		l.fail(n.entry(prefix+"latency_ms").key.position, "give it a latency, a jitter or a bandwidth", "%sslow_link slows nothing down", at)
	}
}

func (l *loader) writtenRules(n *node, roles []string) []world.FaultRule {
	var rules []world.FaultRule
	for i, item := range n.list() {
		key := fmt.Sprintf("faults.rules[%d]", i)
		var r world.FaultRule
		ok := false
		if item.kind == scalar {
			r, ok = l.sentence(item, key, roles)
		} else {
			r, ok = l.rule(item, key, roles)
		}
		if !ok {
			continue
		}
		if k := slices.IndexFunc(knobs, func(k knob) bool { return k.kind == r.Kind }); k >= 0 && r.MaxNs == 0 {
			r.MinNs, r.MaxNs = knobs[k].otherwise[0], knobs[k].otherwise[1]
		}
		if r.Kind == "delay" && r.MaxNs == 0 {
			r.MinNs, r.MaxNs = 25e6, 75e6
		}
		if r.Most == 0 {
			l.amount(nil, "", &r)
		}
		rules = append(rules, r)
	}
	return rules
}

// sentence reads a rule of one line, in the language of package fault.
func (l *loader) sentence(n *node, key string, roles []string) (world.FaultRule, bool) {
	before := len(l.errs)
	r, err := fault.Parse(n.text)
	if err != nil {
		l.fail(n.position, "docs/reference/faults.md has the language; one rule is: crash on n1 after 5s max 1", "%s: %v", key, err)
		return r, false
	}
	r.Text = strings.Join(strings.Fields(n.text), " ")
	l.condition(n.position, &r, r.When, key, roles)
	var targets []string
	for _, t := range r.Targets {
		targets = append(targets, l.struck(t)...)
	}
	r.Targets = targets
	for _, t := range r.Targets {
		l.faultTarget(n.position, t, r.Kind, key)
	}
	if len(l.errs) == before {
		l.partShape(n.position, &r, key)
		l.hidden(n.position, &r, key)
	}
	if len(l.errs) == before && len(r.At) > 0 {
		l.calls(n.position, &r, key)
	}
	return r, len(l.errs) == before
}

func (l *loader) rule(n *node, key string, roles []string) (world.FaultRule, bool) {
	before := len(l.errs)
	r := world.FaultRule{Kind: valueOr(n.get("kind"), ""), RatePPM: valueOr(n.get("rate"), uint64(0)),
		OneWay: valueOr(n.get("one_way"), false), Max: int(valueOr(n.get("max"), int64(0))), ByUser: true, Path: valueOr(n.get("path"), "")}
	if r.Kind == "" {
		l.missing(n, "kind", "add `kind:`, one of "+strings.Join(kinds, ", "), "%s has no kind", key)
		return r, false
	}
	for _, c := range n.get("at").scalars() {
		r.At = append(r.At, c.text)
	}
	var when []string
	if a := n.get("after"); a != nil {
		when = append(when, fault.After(a.value.(int64)))
	}
	if a := n.get("after_event"); a != nil {
		when = append(when, fault.AfterEvent(uint64(a.value.(int64))))
	}
	if w := n.get("while"); w != nil {
		l.knownRole(w.position, w.text, key+".while", roles)
		when = append(when, "role == "+strconv.Quote(w.text))
	}
	if w := n.get("when"); w != nil {
		if strings.TrimSpace(w.text) == "" {
			l.fail(w.position, "leave it out, or write a condition such as: operations > 100", "%s.when is empty", key)
		} else {
			l.condition(w.position, &r, w.text, key+".when", roles)
		}
		when = append(when, w.text)
	}
	r.When = fault.All(when...)
	switch {
	case n.has("rate"):
	case len(when) > 0 || len(r.At) > 0:
		r.RatePPM = 1_000_000
	default:
		l.missing(n, "rate", "add `rate:`, from 0 to 1", "%s has no rate", key)
		return r, false
	}
	if d := n.get("duration_ms"); d != nil {
		v := d.value.([2]int64)
		r.MinNs, r.MaxNs = v[0], v[1]
		if r.MaxNs > 0 && !fault.Lasts(fault.Kind(r.Kind)) {
			l.idle(n.entry("duration_ms").key.position, key+".duration_ms", r.Kind+" has no duration")
		}
	}
	l.slowLink(n, "", key+".", &r)
	l.amount(n, amounts[r.Kind].rule, &r)
	for _, name := range []string{"amount_ms", "amount_ppm"} {
		if n.has(name) && amounts[r.Kind].rule != name {
			l.idle(n.entry(name).key.position, key+"."+name, r.Kind+" has no such amount")
		}
	}
	if r.OneWay && !fault.OnLinks(fault.Kind(r.Kind)) {
		l.idle(n.entry("one_way").key.position, key+".one_way", "only partition, clog, slow_link and reset have a direction; name targets as a->b")
	}
	if r.Max > 0 && fault.PerPacket(fault.Kind(r.Kind)) {
		l.idle(n.entry("max").key.position, key+".max", "faults per packet are not counted")
	}
	for _, t := range n.get("targets").scalars() {
		for _, target := range l.struck(t.text) {
			if !l.faultTarget(t.position, target, r.Kind, key+".targets") {
				break
			}
			r.Targets = append(r.Targets, target)
		}
	}
	l.hidden(n.get("kind").position, &r, key)
	if s := n.get("shape"); s != nil && len(l.errs) == before {
		r.Shape = s.text
		l.partShape(s.position, &r, key)
	}
	switch at := n.get("at"); {
	case at != nil && len(r.At) == 0:
		l.fail(at.position, "name system calls, such as fsync", "%s.at is empty", key)
	case at != nil:
		l.calls(at.position, &r, key)
	case r.Path != "" && !fault.PerCall(fault.Kind(r.Kind)):
		l.fail(n.get("path").position, "add `at:` with the system calls", "%s.path: files are matched at system calls, and there is no `at:`", key)
	}
	return r, len(l.errs) == before
}

// calls checks the system calls at which a rule strikes, and the files.
func (l *loader) calls(at position, r *world.FaultRule, key string) {
	for _, c := range r.At {
		if !callName.MatchString(c) {
			l.fail(at, "write the call's name as strace shows it, such as fsync", "%s: %q is no name of a system call", key, shorten(c))
		}
	}
	kind := fault.Kind(r.Kind)
	for _, c := range r.At {
		if can := fault.CallsOf(kind); fault.PerCall(kind) && callName.MatchString(c) && !slices.Contains(can, c) {
			l.fail(at, "name some of "+strings.Join(can, ", ")+", or another kind", "%s: %s never strikes %s", key, r.Kind, c)
		}
	}
	if fault.PerPacket(kind) {
		l.fail(at, "leave out the system calls, or use a kind that strikes nodes", "%s: %s strikes packets, and no system calls", key, r.Kind)
	}
	if _, err := path.Match(r.Path, ""); err != nil {
		l.fail(at, "write a pattern such as *.wal", "%s: %q is no pattern of file names", key, shorten(r.Path))
	}
	l.result.places[place{part: engine.PartFault, name: strings.Join(r.At, ",")}] = location{at, key}
}

var callName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// condition checks a condition of a rule: one that asks for what does not exist is never true, or always.
func (l *loader) condition(at position, r *world.FaultRule, text, key string, roles []string) {
	if text == "" {
		return
	}
	if _, err := fault.CompileCondition(text); err != nil {
		l.fail(at, "docs/reference/faults.md has what conditions can ask about, such as: role == \"leader\" and time_s > 5", "%s: %v", key, err)
		return
	}
	asks := fault.Asked(text)
	if len(r.At) == 0 && !fault.PerCall(fault.Kind(r.Kind)) {
		for _, name := range []string{"call", "path"} {
			if slices.Contains(asks.Names, name) {
				l.fail(at, "name the system calls by `at`, or leave it out", "%s: there is a %s only where a rule has `at`", key, name)
			}
		}
	}
	var patterns []string
	for _, p := range l.spec.LogPatterns {
		patterns = append(patterns, p.Name)
	}
	for _, name := range asks.Logs {
		if !slices.Contains(patterns, name) {
			l.fail(at, "add it to `log_patterns:`; "+suggest(name, patterns), "%s: logs.%s: there is no log pattern %q", key, shorten(name), shorten(name))
		}
	}
	for _, name := range asks.Nodes {
		l.known(at, key, name)
	}
	for _, c := range asks.Compared {
		switch c.Name {
		case "role":
			l.knownRole(at, c.Text, key, roles)
		case "node", "peer":
			if c.Text != "" {
				l.known(at, key, c.Text)
			}
		case "call":
			if len(r.At) > 0 && !slices.Contains(r.At, c.Text) {
				l.fail(at, "compare it with one of "+strings.Join(r.At, ", "), "%s: the call is never %q, which is not among those of `at`", key, shorten(c.Text))
			}
		}
	}
}

func (l *loader) knownRole(at position, role, key string, roles []string) {
	if role != "" && !slices.Contains(roles, role) {
		l.fail(at, "declare it under faults.roles; "+suggest(role, roles), "%s: there is no role %q", key, shorten(role))
	}
}

// roles reads what nodes can be, and returns the names.
func (l *loader) roles(n *node) []string {
	var names []string
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		key, c := "faults.roles."+e.name, e.value
		ways := 0
		for _, way := range []string{"log", "script", "endpoint"} {
			if c.has(way) {
				ways++
			}
		}
		if ways != 1 {
			l.fail(e.key.position, "give it `log:`, `script:` or `endpoint:`", "%s is told by %d of log, script and endpoint", key, ways)
			continue
		}
		if u := c.get("endpoint"); u != nil && !strings.Contains(u.text, "{node}") {
			l.fail(u.position, "write {node} in place of the node's name", "%s.endpoint asks the same node each time", key)
		}
		names = append(names, e.name)
		for _, d := range l.nodeNames() {
			if l.node(d).spec.Role != world.Server {
				continue
			}
			before := len(l.errs)
			l.spec.Faults.Roles = append(l.spec.Faults.Roles, l.role(c, e.name, d, key))
			if len(l.errs) > before {
				break
			}
		}
		if !c.has("log") {
			l.checker()
		}
	}
	return names
}

// role is how one node's role is told.
func (l *loader) role(c *node, name, node, key string) world.NodeRole {
	r := world.NodeRole{Name: name, Node: node}
	named := func(text string) string { return strings.ReplaceAll(text, "{node}", node) }
	switch {
	case c.has("log"):
		r.Log = c.get("log").text
		if u := c.get("until"); u != nil {
			r.Until = u.text
		}
		return r
	case c.has("script"):
		r.Check = &world.Check{Type: world.Custom, Script: l.program(c.get("script"), key+".script")}
		for i, w := range r.Check.Script {
			r.Check.Script[i] = named(w)
		}
		l.remember(place{part: engine.PartProperty, name: name}, c.get("script"), key+".script")
	case strings.HasPrefix(c.get("endpoint").text, "redis://"):
		r.Check = &world.Check{Type: world.RedisCheck}
		r.Check.Endpoint, _ = l.serverURL(c.get("endpoint").position, "redis", key+".endpoint", named(c.get("endpoint").text))
		l.redisCheck(c, r.Check, key)
	default:
		r.Check = &world.Check{Type: world.HTTPCheck, ExpectStatus: int(valueOr(c.get("expect").get("status"), int64(200))), ExpectBody: l.expectedBody(c.get("expect"), key)}
		r.Check.Endpoint, _ = l.serverURL(c.get("endpoint").position, "http", key+".endpoint", named(c.get("endpoint").text))
	}
	r.Check.IntervalNs = valueOr(c.get("interval"), int64(probeIntervalNs))
	return r
}

// handling reads what shows that programs dealt with faults.
func (l *loader) handling(n *node) {
	if n == nil {
		return
	}
	f := &l.spec.Faults
	for _, e := range n.entries {
		key := "faults.handling." + e.name
		h := world.Handling{Kind: e.name, Log: valueOr(e.value.get("log"), ""), Assertion: valueOr(e.value.get("assertion"), "")}
		switch {
		case !slices.Contains(kinds, e.name):
			l.fail(e.key.position, suggest(e.name, kinds), "faults.handling: there is no kind of fault %q", shorten(e.name))
		case !f.Strikes(e.name):
			l.fail(e.key.position, "give it a rate above 0, or remove this", "%s: the kind never strikes", key)
		case (h.Log == "") == (h.Assertion == ""):
			l.fail(e.key.position, "give it `log:` or `assertion:`", "%s needs one of log and assertion", key)
		case h.Log != "" && !slices.ContainsFunc(l.spec.LogPatterns, func(p world.LogPattern) bool { return p.Name == h.Log }):
			l.fail(e.value.get("log").position, "add it to `log_patterns:`", "%s.log: there is no log pattern %q", key, shorten(h.Log))
		default:
			f.Handling = append(f.Handling, h)
		}
	}
}

// faultTarget checks the name of a node or a link, a-b or a->b.
func (l *loader) faultTarget(at position, name, kind, key string) bool {
	var link bool
	switch a, b, arrow := strings.Cut(name, "->"); {
	case l.node(name) != nil:
		if fault.OnNode(fault.Kind(kind)) && l.node(name).spec.Role == world.Client {
			l.fail(at, "name a server, or give the node `role: server`", "%s: %s is a client, and %s strikes servers only", key, name, kind)
			return false
		}
		return true
	case arrow:
		link = l.known(at, key, a) && l.known(at, key, b)
		if link && a == b {
			l.fail(at, "name two nodes", "%s: %q leads from a node to itself", key, name)
		}
		if !link || a == b {
			return false
		}
	default:
		for i, c := range name {
			link = link || c == '-' && l.node(name[:i]) != nil && l.node(name[i+1:]) != nil && name[:i] != name[i+1:]
		}
	}
	switch {
	case !link:
		l.fail(at, "links are written a-b or a->b; "+suggest(name, l.nodeNames()), "%s: there is no node or link %q", key, shorten(name))
	case fault.OnNode(fault.Kind(kind)):
		l.fail(at, "name a server", "%s: %q is a link, and %s strikes nodes", key, name, kind)
		return false
	}
	return link
}

// completeTimes sets what depends on several keys: a settle time that lets liveness show, if max_time leaves room, and
// workloads that leave time for it.
func (l *loader) completeTimes(settleWritten bool) {
	s := l.spec
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
