package fault

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// DurationSteps is the number of durations between a rule's MinNs and MaxNs that an injection chooses from. Few values
// keep decisions small and make mutation meet the same duration again.
const DurationSteps = 16

// Chooser makes the random decisions of a Plan; *tape.Source is one.
type Chooser interface {
	Rare(stream string, n uint64, ratePPM uint64) uint64
	// Given is 0 unless an edit of the tape says otherwise.
	Given(stream string, n uint64) uint64
}

// Direction is one direction between two nodes, on which a fault on links lies.
type Direction struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Action is one injection that an engine performs.
type Action struct {
	ID     int             // unique in a run, from 1 on
	Kind   world.FaultKind // none of those per packet, nor, but for torn_write, per call
	Rule   int             // that of the Rule that injects
	Target string          // n1, n1-n2, n1->n2, or how a group is parted
	Group  string          // the group that is parted; empty for other targets
	// Node is the affected node; empty for kinds on links.
	Node string
	// Directions are the directions on which a kind on links lies; empty for other kinds.
	Directions []Direction
	Slow       Slow // what a slow link adds
	Silent     bool // questions about names get no answer; else they get SERVFAIL
	StartNs    int64
	DurationNs int64 // how long an injection lasts, or a crashed node stays down
	// DownNs is when the programs of a node that restarts had ended, 0 until then: its duration begins there.
	DownNs int64
	// Amount is the strength of the fault: how much longer a call on a slow disk takes, in ns; how far a clock is ahead, in
	// ns, or how much faster it runs, in parts per billion; how old the disk is that a rollback restores, in ns.
	Amount  int64
	Command []string // of an action that runs one
}

// EndNs is when the action must be undone. That of a restart is not known before its node is down.
func (a Action) EndNs() int64 {
	switch {
	case RowOf(a.Kind).Ends != Stopped:
		return a.StartNs + a.DurationNs
	case a.DownNs == 0:
		return math.MaxInt64
	}
	return a.DownNs + a.DurationNs
}

// Slow is the latency and jitter that a slow link adds in each direction on which it lies, and its bandwidth.
type Slow struct {
	LatencyNs int64
	JitterNs  int64 // at most, drawn for each packet
	Bandwidth int64 // bytes a second; 0 is unlimited
}

// UsualSlow is a slow link when its rule says nothing: a bad line across a continent.
var UsualSlow = Slow{LatencyNs: 100_000_000, JitterNs: 50_000_000, Bandwidth: 125_000}

// Rate is how often packets meet a kind of fault.
type Rate struct {
	PPM   uint64 // of packets
	MinNs int64  // of the delay, for kinds that bring one
	MaxNs int64
	Rule  int // the number of the rule behind it
}

// The places of kinds per packet in Rates; the last two are of datagrams only.
const (
	DropRate = iota
	CorruptRate
	DelayRate
	DuplicateRate
	ReorderRate
	packetKinds
)

// Rates are the faults per packet on one direction between two nodes.
type Rates [packetKinds]Rate

// Plan decides when faults are injected. A plan is plain data, so that a world which holds it can be copied and
// serialised. The chaos phase is between Begin and Heal.
type Plan struct {
	Rules []Rule
	Swarm bool
	// MaxTimeNs is the longest that a run takes.
	MaxTimeNs int64
	On        bool     // the chaos phase
	Calm      bool     // nothing is injected in this run
	BeganNs   int64    // when it began
	Active    []Action // injections that were started and not ended, by ID
	LastID    int
	Pending   []Pending // injections that were drawn and have not begun
	LastTurn  int       // the ID of the last of them
	Rolls     []Roll    // rules that go from node to node
	Servers   []string  // in the Spec's order
	Clients   []string
	// Unsupported are kinds with a rate above 0 that this package does not know.
	Unsupported []world.FaultKind
	// Broken is the first condition that could not be evaluated, and why; the run means nothing then.
	Broken string
	Ledger Ledger
}

// Rule is a rule of the Spec, resolved to its targets.
type Rule struct {
	Kind      world.FaultKind
	Row       int // its kind's place in the Table
	Number    int // its place among the rules of the Spec, from 1 on
	RatePPM   uint64
	MinNs     int64
	MaxNs     int64
	Least     int64 // of the Amount of its injections
	Most      int64
	OneWay    bool
	Shape     string // of a partition: see PartitionShapes; empty is Nodes and Links
	Max       int
	When      string   // a condition, or empty
	At        []string // system calls, or none
	Path      string   // of the files that they are about
	Moment    world.Moment
	Then      []string // for Between: the calls that end it
	ThenPath  string   // of the files that they are about
	NthFrom   uint64   // the numbers of a call that it injects at one of; 0 is all calls
	NthTo     uint64
	Counts    []Count // by target, with NthTo
	Injected  int     // how often the rule was injected
	Slow      Slow
	Spares    bool // nodes that have not been ready in this run: see spares
	AsksReady bool // its condition asks for how long a node has been ready
	Masked    bool // turned off in this run
	Derived   bool // off, unless the tape turns it on
	Command   []string
	Text      string
	Targets   []Target
}

// Target is one node or link that a rule may affect.
type Target struct {
	Name   string
	Stream string // fault/<kind>/<target>: independent of all other rules and targets
	A, B   string // B is empty for a node; a one-way link leads from A to B
	OneWay bool   // written as A->B
	// Members are the servers of a group; a group has no A and B.
	Members []string
}

// New resolves the fault rules of a Spec. Its errors name the rule and the remedy; they are the user's.
func New(spec *world.Spec) (*Plan, error) {
	p := &Plan{Swarm: spec.Faults.Swarm, MaxTimeNs: spec.MaxTimeNs}
	for _, n := range spec.Nodes {
		switch n.Role {
		case world.Server:
			p.Servers = append(p.Servers, n.Name)
		case world.Client:
			p.Clients = append(p.Clients, n.Name)
		case world.Checker: // no fault affects it
		}
	}
	if !spec.Faults.Enabled {
		return p, nil
	}
	streams := map[string]int{}
	for i, r := range spec.Faults.Rules {
		if r.RatePPM == 0 {
			continue
		}
		kind := r.Kind
		if !Known(kind) {
			p.Unsupported = append(p.Unsupported, kind)
			continue
		}
		rule := Rule{Kind: kind, Row: rank(kind), Number: i + 1, RatePPM: r.RatePPM, OneWay: r.OneWay, Shape: r.Shape, Max: r.Max,
			When: r.When, At: r.At, Path: r.Path,
			Moment: r.Moment, Then: r.Then, ThenPath: r.ThenPath, NthFrom: r.NthFrom, NthTo: r.NthTo, Derived: r.Derived, Masked: r.Derived, Command: r.Command,
			Text: Sentence(&r)}
		if err := rule.check(); err != nil {
			return nil, err
		}
		if rule.Moment == world.During && spec.Cost.SyncNs == 0 {
			return nil, fmt.Errorf("fault %s: calls to the disk take no time, so nothing can happen during one; set simulation.cost.sync_ns", kind)
		}
		if err := CheckShape(&r, p.Servers); err != nil {
			return nil, fmt.Errorf("fault %s: %w", kind, err)
		}
		rule.Spares = spec.RulesVersion >= world.FairFaults && sparing(&r)
		rule.AsksReady = slices.Contains(Asked(r.When).Names, "ready_s")
		rule.MinNs, rule.MaxNs, rule.Least, rule.Most = r.MinNs, r.MaxNs, r.Least, r.Most
		rule.bounds(&Table[rule.Row])
		if rule.Slow = (Slow{r.LatencyNs, r.JitterNs, r.BandwidthBytes}); kind == SlowLink && rule.Slow == (Slow{}) {
			rule.Slow = UsualSlow
		}
		names := r.Targets
		var targets []Target
		if _, grouped := Grouped(r.Shape); grouped {
			targets = append(targets, p.group(names))
		} else {
			if len(names) == 0 {
				names = p.all(spec, &rule)
			}
			for _, name := range names {
				t, err := p.target(kind, name)
				if err != nil {
					return nil, err
				}
				targets = append(targets, t)
			}
		}
		key := rule.key()
		for _, t := range targets {
			t.Stream = "fault/" + key + "/" + t.Name
			// A second rule of the same kind and shape for the same target gets a stream of its own.
			streams[t.Stream]++
			if k := streams[t.Stream]; k > 1 {
				t.Stream += "#" + strconv.Itoa(k)
			}
			rule.Targets = append(rule.Targets, t)
		}
		rule.forget()
		p.Rules = append(p.Rules, rule)
		p.Ledger.entry(kind) // so that a kind that is never injected shows as 0
	}
	for i := range p.Rules {
		if r := &p.Rules[i]; !r.Derived && Several(spec, r.Kind) {
			p.Ledger.list(r)
		}
	}
	return p, nil
}

// list has the ledger count a rule by itself.
func (l *Ledger) list(r *Rule) {
	l.Rules = append(l.Rules, RuleEntry{Rule: r.Number, Text: r.Text, Derived: r.Derived, Entry: Entry{Kind: r.Kind}})
}

// Several reports whether a kind is injected by more than one rule: the ledger then counts each. Derived rules, of which the ledger
// counts those that are on, do not count.
func Several(spec *world.Spec, k world.FaultKind) bool {
	n := 0
	for i := range spec.Faults.Rules {
		if r := &spec.Faults.Rules[i]; r.RatePPM > 0 && r.Kind == k && !r.Derived {
			n++
		}
	}
	return n > 1
}

// key names a rule in the streams of its targets.
func (r *Rule) key() string {
	key := string(r.Kind)
	if _, grouped := Grouped(r.Shape); grouped {
		key += "-" + r.Shape
	}
	if r.OneWay {
		key += "-oneway"
	}
	key += r.momentKey()
	return key
}

// check finds what is wrong with a rule's condition and calls.
func (r *Rule) check() error {
	row := &Table[r.Row]
	if r.When != "" {
		if _, err := CompileCondition(r.When); err != nil {
			return fmt.Errorf("fault %s: %w", r.Kind, err)
		}
	}
	for _, pattern := range []string{r.Path, r.ThenPath} {
		if _, err := path.Match(pattern, ""); err != nil {
			return fmt.Errorf("fault %s: %q is not a valid pattern for file names: %w", r.Kind, pattern, err)
		}
	}
	if r.Path != "" && len(r.At) == 0 && row.Place != OnCall && r.Moment != world.InOperation {
		return fmt.Errorf("fault %s: file names are matched at system calls; list some with at", r.Kind)
	}
	if why := WrongMoment(row, r.Moment, r.At, r.Then, r.NthTo); why != "" {
		return fmt.Errorf("fault %s: %s", r.Kind, why)
	}
	for _, call := range r.At {
		if row.Call != nil && !slices.Contains(row.Call.Names, call) {
			return fmt.Errorf("fault %s: it cannot be injected into %s, only into %s", r.Kind, call, strings.Join(row.Call.Names, ", "))
		}
	}
	return nil
}

// bounds gives a rule what it does not say itself.
func (r *Rule) bounds(row *Row) {
	if r.MaxNs = max(r.MinNs, r.MaxNs); r.MaxNs == 0 {
		r.MinNs, r.MaxNs = row.Span.MinNs, row.Span.MaxNs
	}
	if r.Most = max(r.Least, r.Most); r.Most == 0 && row.Amount != nil {
		r.Least, r.Most = row.Amount.Least, row.Amount.Most
	}
}

// all lists what a kind affects when its rule names no target: every server for kinds that affect nodes; for a
// kind on links every server (with all its links) and every link that a server is on. Nodes that share no network have no
// link.
func (p *Plan) all(spec *world.Spec, r *Rule) []string {
	row := &Table[r.Row]
	if row.HasNode() || r.Shape == Nodes {
		return p.Servers
	}
	links := p.links(spec)
	if row.Place == OnLink && r.Shape != Links {
		return append(append([]string(nil), p.Servers...), links...)
	}
	return links
}

func (p *Plan) links(spec *world.Spec) []string {
	var links []string
	linked := spec.Linked()
	add := func(a, b string) {
		if linked(a, b) {
			links = append(links, a+"-"+b)
		}
	}
	for i, a := range p.Servers {
		for _, b := range p.Servers[i+1:] {
			add(a, b)
		}
		for _, c := range p.Clients {
			add(c, a)
		}
	}
	return links
}

// target reads a name: a node, "a-b" or "a->b". Node names may hold hyphens, so every hyphen is tried.
func (p *Plan) target(k world.FaultKind, name string) (Target, error) {
	if p.isNode(name) {
		if RowOf(k).HasNode() && p.isClient(name) {
			return Target{}, fmt.Errorf("fault %s: %q is a client, and only link faults affect clients; use a server", k, name)
		}
		return Target{Name: name, A: name}, nil
	}
	if a, b, ok := strings.Cut(name, "->"); ok && p.isNode(a) && p.isNode(b) {
		return p.link(k, Target{Name: name, A: a, B: b, OneWay: true})
	}
	for i, c := range name {
		if c == '-' && p.isNode(name[:i]) && p.isNode(name[i+1:]) {
			return p.link(k, Target{Name: name, A: name[:i], B: name[i+1:]})
		}
	}
	return Target{}, fmt.Errorf("fault %s: unknown node or link %q; nodes are %s; write links as a-b or a->b",
		k, name, strings.Join(append(append([]string(nil), p.Servers...), p.Clients...), ", "))
}

func (p *Plan) link(k world.FaultKind, t Target) (Target, error) {
	if RowOf(k).HasNode() {
		return Target{}, fmt.Errorf("fault %s: %q is a link, and this kind affects nodes; use a server", k, t.Name)
	}
	if t.A == t.B {
		return Target{}, fmt.Errorf("fault %s: %q connects a node with itself; use two nodes", k, t.Name)
	}
	return t, nil
}

func (p *Plan) isNode(name string) bool { return slices.Contains(p.Servers, name) || p.isClient(name) }

func (p *Plan) isClient(name string) bool { return slices.Contains(p.Clients, name) }

// BeginChaos starts the chaos phase, and with Swarm chooses the kinds that it goes without.
func (p *Plan) BeginChaos(src Chooser, nowNs int64) {
	p.On, p.BeganNs = true, nowNs
	if len(p.Rules) > 0 && src.Rare(calmStream, 2, 1) == 1 {
		p.Calm = true
		for i := range p.Rules {
			p.Rules[i].Masked = true
		}
		return
	}
	swarm := p.Swarm
	for i := range p.Rules {
		r := &p.Rules[i]
		v := src.Given(RateStream(r.Number), RateChoices)
		if r.Derived {
			if r.rated(v); v == 0 {
				r.Masked = true
			}
			if !r.Masked {
				p.Ledger.list(r)
			}
			continue
		}
		r.rated(v)
		swarm = swarm && v == 0 // a tape with rates says itself what is off
	}
	if !swarm {
		return
	}
	var kinds, masked []world.FaultKind
	for i := range p.Rules {
		if k := p.Rules[i].Kind; !p.Rules[i].Derived && !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
			// 0, the baseline choice of a tape without draws, masks nothing: faults that such a tape sets are injected.
			if src.Rare("fault/swarm/"+string(k), 2, maskPPM) == 1 {
				masked = append(masked, k)
			}
		}
	}
	for i := range p.Rules {
		if p.Rules[i].Derived {
			continue
		}
		p.Rules[i].Masked = len(masked) < len(kinds) && slices.Contains(masked, p.Rules[i].Kind)
	}
}

// Mishap draws whether a fault happens that the program of a node makes itself, at a rate in parts per million, and counts it.
// Draw i belongs to call i, whatever the phase; 0 never happens.
func (p *Plan) Mishap(src Chooser, kind world.FaultKind, node string, ratePPM uint64) bool {
	hit := src.Rare("fault/"+string(kind)+"/"+node, 2, max(1, ratePPM)) != 0
	if !hit || ratePPM == 0 || !p.On || p.Calm {
		return false
	}
	p.Ledger.DeliveredPacket(kind, 0)
	return true
}

// Streams matches the streams of all rules.
const Streams = "fault/**"

// RateStream is the stream whose one draw chooses the rate of a rule for a run. No seed chooses one, only an edit does.
func RateStream(rule int) string { return "fault/rate/" + strconv.Itoa(rule) }

// OfRun reports whether the one draw of a stream is about a whole run, which rules are on and their rates, and not about one injection.
func OfRun(stream string) bool {
	return stream == calmStream || strings.HasPrefix(stream, "fault/swarm/") || strings.HasPrefix(stream, "fault/rate/")
}

// The values of a RateStream: 0 and RateAsIs leave the rate as it is, RateOff turns the rule off, and RateAsIs+k is 2^k times the rate.
const (
	RateOff     = 1
	RateAsIs    = 8
	RateChoices = 22
)

// rated changes the rate of a rule as the draw of its RateStream says. What always happens still does, or never.
func (r *Rule) rated(v uint64) {
	r.Masked = v == RateOff
	switch {
	case v <= RateOff || r.RatePPM == tape.Certain:
	case v < RateAsIs:
		r.RatePPM = max(r.RatePPM>>(RateAsIs-v), 1)
	default:
		r.RatePPM = min(r.RatePPM<<(v-RateAsIs), tape.Certain-1)
	}
}

// calmStream turns off all faults of a run by its one draw, which about one seed in a million makes.
const calmStream = "fault/none"

// Calm is the tape of the same run without any fault.
func Calm(t tape.Tape) tape.Tape {
	t.Edits = append(slices.Clone(t.Edits), tape.Edit{Op: tape.Set, Stream: calmStream, From: 0, Value: 1})
	return t
}

// maskPPM is the chance, in parts per million, that a kind is turned off in a run.
const maskPPM = 500_000

// Step draws the injections of one time step, which start at m.NowNs. Every rule draws once for every target whether or
// not the target can be affected now, so that draw i of a stream always belongs to step i. Outside the chaos phase
// nothing is drawn.
func (p *Plan) Step(src Chooser, m *Moment) []Action {
	if !p.On {
		return nil
	}
	started := p.rollOn(m)
	for i := range p.Rules {
		r := &p.Rules[i]
		if r.Masked || !r.PerStep() {
			continue
		}
		for t := range r.Targets {
			started = append(started, p.draw(src, r, t, m, "", "")...)
		}
	}
	return started
}

// First is the first of so many time steps of the chaos phase at which the run of a tape draws a fault. Rules with at and those per call
// and per packet have no steps. A condition of a rule is taken to hold.
func First(spec *world.Spec, t tape.Tape, steps uint64) (step uint64, ok bool) {
	p, err := New(spec)
	if err != nil {
		return 0, false
	}
	src := tape.NewSource(t)
	src.Ready()
	p.BeginChaos(src, 0)
	for ; step < steps; step++ {
		for i := range p.Rules {
			r := &p.Rules[i]
			if r.Masked || !r.PerStep() {
				continue
			}
			for k := range r.Targets {
				ok = r.drawOnce(src, &r.Targets[k]) != 0 || ok
			}
		}
		if ok {
			return step, true
		}
	}
	return 0, false
}

// PerStep reports whether a rule draws at each time step.
func (r *Rule) PerStep() bool { return Table[r.Row].PerStep() && !r.onCalls() }

// onCalls is world.FaultRule.OnCalls.
func (r *Rule) onCalls() bool { return len(r.At) > 0 || r.Moment.Alone() }

// drawOnce draws whether and how a rule injects into a target at one opportunity; 0 does not inject.
func (r *Rule) drawOnce(src Chooser, t *Target) uint64 {
	return src.Rare(t.Stream, 1+DurationSteps*r.shapes(t)*r.places(), r.RatePPM)
}

// draw decides whether a rule injects into a target at one opportunity, and how.
func (p *Plan) draw(src Chooser, r *Rule, t int, m *Moment, call, file string) []Action {
	v := r.drawForTarget(src, t)
	if v == 0 || !p.may(r, t, m, call, file) {
		return nil
	}
	p.Ledger.countHit(r, call, file)
	return p.inject(r, t, v, m)
}

// may reports whether a rule can inject into a target now.
func (p *Plan) may(r *Rule, t int, m *Moment, call, file string) bool {
	target := &r.Targets[t]
	if r.Max > 0 && r.Injected >= r.Max || p.rolls(r, t) || p.busy(&Table[r.Row], target.Name) {
		return false
	}
	return !r.spares(target, m) && p.holds(r, target, m, call, file)
}

// inject begins what a rule has drawn for a target: one injection, or one for each node of a group.
func (p *Plan) inject(r *Rule, t int, v uint64, m *Moment) []Action {
	target, row := &r.Targets[t], &Table[r.Row]
	a := Action{Kind: r.Kind, Target: target.Name, Command: r.Command}
	if a.DurationNs = duration(r.MinNs, r.MaxNs, (v-1)%DurationSteps); row.UntilEnd {
		a.DurationNs = max(p.MaxTimeNs-m.NowNs, 1)
	}
	shape := (v - 1) / DurationSteps % r.shapes(target)
	r.Injected++
	switch r.Shape {
	case Majority:
	case Rolling:
		return []Action{p.beginRolling(a, r, t, shape, m)}
	default:
		p.aim(&a, r, target, shape)
		if row.Ends == RolledBack { // its disk is restored after the amount, and then it is down
			a.DurationNs += a.Amount
		}
		return []Action{p.beginAction(a, r, m)}
	}
	var started []Action
	for i, name := range target.Members {
		if majorities(len(target.Members))[shape]>>i&1 == 1 && !p.busy(row, name) {
			a.Target, a.Group, a.Node = name, target.Name, name
			started = append(started, p.beginAction(a, r, m))
		}
	}
	return started
}

// Now begins the injections of a rule that a person asks for, on each of its targets, with the shortest duration and the first shape.
func (p *Plan) Now(spec *world.Spec, r world.FaultRule, m *Moment) ([]Action, error) {
	own := *spec
	r.RatePPM = 1_000_000
	own.Faults = world.Faults{Enabled: true, Rules: []world.FaultRule{r}}
	q, err := New(&own)
	if err != nil {
		return nil, err
	}
	rule := &q.Rules[0]
	if len(r.Targets) == 0 {
		return nil, fmt.Errorf("fault %s: add the target, such as: %s on %s", r.Kind, r.Kind, rule.Targets[0].Name)
	}
	if !rule.PerStep() || r.When != "" {
		return nil, fmt.Errorf("fault %s: only a fault of a node or link, without a moment or a condition, can begin now", r.Kind)
	}
	for t := range rule.Targets {
		if name := rule.Targets[t].Name; p.busy(&Table[rule.Row], name) {
			return nil, fmt.Errorf("fault %s: %s is already affected; wait until that fault ends", r.Kind, name)
		}
	}
	rule.Number = 0
	p.Ledger.entry(rule.Kind)
	var started []Action
	for t := range rule.Targets {
		started = append(started, p.inject(rule, t, 1, m)...)
	}
	return started, nil
}

// beginAction numbers an injection of a rule and adds it to the active ones, unless its effect is instant.
func (p *Plan) beginAction(a Action, r *Rule, m *Moment) Action {
	p.LastID++
	a.ID, a.Rule, a.StartNs = p.LastID, r.Number, m.NowNs
	if !Table[r.Row].Instant {
		p.Active = append(p.Active, a)
	}
	if Table[r.Row].Kills() {
		p.Pending = slices.DeleteFunc(p.Pending, func(w Pending) bool { return w.Node == a.Node })
	}
	p.Ledger.plan(a.Kind, a.Rule)
	return a
}

// duration is step k of DurationSteps from minNs to maxNs, both included.
func duration(minNs, maxNs int64, k uint64) int64 {
	return minNs + (maxNs-minNs)/(DurationSteps-1)*int64(k)
}

// busy reports whether a target cannot be affected: an injection of the same kind is under way there, or, for nodes, the
// node is down or paused already.
func (p *Plan) busy(row *Row, target string) bool {
	for i := range p.Active {
		a := &p.Active[i]
		if (a.Target == target || a.Group == target && target != "") && (a.Kind == row.Kind && !row.UntilEnd || row.Halts && RowOf(a.Kind).Halts) {
			return true
		}
	}
	return false
}

// NextEndNs is the earliest time at which an active injection ends; false if there is none.
func (p *Plan) NextEndNs() (int64, bool) {
	if len(p.Active) == 0 {
		return 0, false
	}
	end := p.Active[0].EndNs()
	for _, a := range p.Active[1:] {
		end = min(end, a.EndNs())
	}
	return end, true
}

// Ended takes out the injections whose time is over at nowNs, by ID. The engine undoes them: it starts the crashed
// node again, lets the paused one run, delivers what a partition held back (unless Blocked still says so).
func (p *Plan) Ended(nowNs int64) []Action {
	var ended, rest []Action
	for _, a := range p.Active {
		if a.EndNs() <= nowNs {
			p.Ledger.ended(a.ID, a.EndNs())
			ended = append(ended, a)
		} else {
			rest = append(rest, a)
		}
	}
	p.Active = rest
	return ended
}

// Down reports that the programs of a node that restarts have ended at nowNs. It starts again after the duration of the
// injection, or at once if that was healed meanwhile.
func (p *Plan) Down(id int, nowNs int64) {
	p.Ledger.ended(id, nowNs)
	for i := range p.Active {
		if a := &p.Active[i]; a.ID == id {
			a.DownNs = nowNs
			p.Ledger.ended(id, a.EndNs())
		}
	}
}

// EndNow ends an active injection at nowNs, before its duration is over.
func (p *Plan) EndNow(id int, nowNs int64) {
	for i := range p.Active {
		if a := &p.Active[i]; a.ID == id {
			a.DurationNs = min(a.DurationNs, max(nowNs-a.StartNs, 0))
		}
	}
}

// Heal ends the chaos phase at nowNs and returns every injection that must be undone now, by ID. From here on no
// packet is harmed either.
func (p *Plan) Heal(nowNs int64) []Action {
	p.On = false
	active := p.Active
	p.Active, p.Pending, p.Rolls = nil, nil, nil
	for _, a := range active {
		p.Ledger.ended(a.ID, nowNs)
	}
	return active
}

// Resume continues with the chaos phase after a Heal that did not end it.
func (p *Plan) Resume() { p.On = true }

// Blocked returns the ID of the last active partition that cuts from off from to, or 0.
func (p *Plan) Blocked(from, to string) int { return p.Lies(Partition, from, to).ID }

// Lies returns the last active injection of a kind on links that lies on the direction from one node to another; its ID is
// 0 if there is none.
func (p *Plan) Lies(k world.FaultKind, from, to string) Action {
	for i := len(p.Active) - 1; i >= 0; i-- {
		if a := &p.Active[i]; a.Kind == k && slices.Contains(a.Directions, Direction{from, to}) {
			return *a
		}
	}
	return Action{}
}

// Packet returns the faults per packet from one node to another at a moment; all zero outside the chaos phase and on a
// node's loopback. Where several rules of a kind apply, the one with the highest rate counts.
func (p *Plan) Packet(m *Moment, from, to string) Rates {
	var rates Rates
	if !p.On || from == to {
		return rates
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		if Table[r.Row].Place != OnPacket || r.Masked || !r.touches(from, to) {
			continue
		}
		way := &Target{Name: from + "->" + to, A: from, B: to}
		if r.spares(way, m) || r.When != "" && !p.holds(r, way, m, "", "") {
			continue
		}
		if rate := &rates[Table[r.Row].Rate]; r.RatePPM > rate.PPM {
			*rate = Rate{r.RatePPM, r.MinNs, r.MaxNs, r.Number}
		}
	}
	return rates
}

// Changes reports whether what Packet returns may change within the chaos phase.
func (p *Plan) Changes() bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return Table[r.Row].Place == OnPacket && r.When != "" })
}

// Harms reports whether packets or calls suffer throughout this run's chaos phase: then nothing is healed before its end.
func (p *Plan) Harms() bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return !Table[r.Row].PerStep() && !r.Masked })
}

func (r *Rule) touches(from, to string) bool {
	for i := range r.Targets {
		t := &r.Targets[i]
		switch {
		case t.B == "":
			if t.A == from || t.A == to {
				return true
			}
		case t.A == from && t.B == to, !t.OneWay && t.A == to && t.B == from:
			return true
		}
	}
	return false
}

// Again gives the same Plan for another run, as New has made it. It shares what does not change, so that runs may begin thousands of
// times a second; p must not be used for a run itself.
func (p *Plan) Again() *Plan {
	q := *p
	q.Rules = slices.Clone(p.Rules)
	for i := range q.Rules {
		q.Rules[i].forget()
	}
	q.Ledger.Hits = nil
	q.Ledger.Entries, q.Ledger.Rules = slices.Clone(p.Ledger.Entries), slices.Clone(p.Ledger.Rules)
	return &q
}
