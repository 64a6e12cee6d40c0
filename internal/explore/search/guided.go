package search

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/coverage"
	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Bounds of what a guided search keeps.
const (
	maxCorpus   = 1000    // entries, of all guides
	maxFeatures = 1 << 20 // distinct ones that are counted
	maxNear     = 256     // names of distances
	nearest     = 4       // entries kept for each name
	maxHeld     = 1024    // features of an entry
	codeAge     = 64      // runs in which blocks of code, of which it is unknown who else reaches them, lose half of their worth
)

// Shares of the runs, in percent.
const (
	plainShare = 20 // random tapes: what no mutant would find
	nearShare  = 30 // of the others: parents that came close to a violation
)

// maxTrailing bounds the changes of a mutant besides the first.
const maxTrailing = 6

// The energies of entries are computed anew after so many runs, and after more where there are many entries, so that a run
// costs no more late in a campaign than early.
const (
	chargeEvery = 16
	chargeShare = 4 // of the number of entries
)

// guided changes runs that reached rare behaviour. Its power schedule is that of AFLFast (Böhme, Pham and Roychoudhury,
// "Coverage-based Greybox Fuzzing as Markov Chain", CCS 2016), by features instead of paths: an entry's energy is larger the
// rarer its features are among all runs, and falls with how often it was chosen.
type guided struct {
	learner
	*space
	name     string
	plan     Plan
	mutators []mutator
	row
	spec     *world.Spec
	settings Settings

	corpora []corpus // one, or one of each guide that a bandit chooses among
	byName  map[string]*Entry
	given   []Entry // of an earlier campaign, which are played first
	runs    uint64

	// With the word bandit: what is known of mutators and of the guides of corpora, in their order.
	changes, leads bandit

	passed []*Entry // without a guide: runs that were not kept

	counts  map[uint64]*count
	domains map[coverage.Domain]int // counts, by domain
	near    []approach              // by name
	first   map[string]float64      // distances of the first runs, by name
	varies  map[string]bool         // names whose distance is not the same in all runs
	made    map[string]*Mutations   // by kind
	led     map[string]*Mutations   // by guide
	crowded bool                    // there were more features than maxFeatures

	came []*Entry
	left []string
}

// count is how many runs reached a feature.
type count struct {
	runs   uint32
	domain coverage.Domain
}

// approach is the entries that came closest to something.
type approach struct {
	name string
	best []closeness
}

type closeness struct {
	coverage.Nearness
	entry *Entry
}

func newGuided(c *request) (Strategy, error) {
	p, s := c.plan, c.settings
	if p.Rates {
		c.random.swarm(c.spec, 0)
	}
	t, err := newSpace(c.spec)
	if err != nil {
		return nil, err
	}
	if !p.near() {
		s.Coverage, s.Nearness = true, false
	}
	g := &guided{learner: c.learner, space: t, name: c.name, plan: p, row: c.random, spec: c.spec, settings: s, byName: map[string]*Entry{},
		counts: map[uint64]*count{}, domains: map[coverage.Domain]int{}, first: map[string]float64{}, varies: map[string]bool{},
		made: map[string]*Mutations{}, led: map[string]*Mutations{}}
	g.given = s.Corpus
	for _, m := range mutators {
		if len(p.Words) == 0 || slices.Contains(p.Words, m.kind) {
			g.mutators = append(g.mutators, m)
		}
	}
	guides := p.guides()
	for _, guide := range guides {
		g.corpora = append(g.corpora, corpus{guide: guide, most: maxCorpus / len(guides)})
		g.leads = append(g.leads, arm{name: guide})
	}
	for i := range g.mutators {
		g.changes = append(g.changes, arm{name: g.mutators[i].kind})
	}
	return g, nil
}

func (g *guided) Name() string { return g.name }

// Watches implements Watcher.
func (g *guided) Watches(d coverage.Domain) bool { return g.plan.Watches(d) }

// Begins implements Timed.
func (g *guided) Begins(c Calm) { g.knows(g.spec, c) }

func (g *guided) Next(run uint64) (Candidate, Answer) {
	if run < uint64(len(g.given)) {
		e := g.given[run]
		return Candidate{Tape: e.Tape, Origin: Origin{Strategy: g.name, Parent: e.Name, Mutation: "again"}}, Here
	}
	run -= uint64(len(g.given))
	d := newDice(g.seed, run)
	plain := Candidate{Tape: g.row.tape(run), Origin: Origin{Strategy: g.name}}
	if run < 2*g.delay || d.chance(plainShare) {
		return plain, Here
	}
	from := g.chooseCorpus(d)
	if from == nil {
		return plain, Here
	}
	parent, led := g.parent(d, from)
	c, ok := g.mutate(d, parent, from)
	if !ok {
		return plain, Here
	}
	if led && len(g.corpora) > 1 {
		c.Origin.Guide = from.guide
	}
	return c, Here
}

// chooseCorpus chooses the corpus in which a parent is chosen; nil if all are empty.
func (g *guided) chooseCorpus(d *dice) *corpus {
	filled := func(i int) bool { return len(g.corpora[i].held) > 0 }
	if len(g.corpora) == 1 {
		if !filled(0) {
			return nil
		}
		return &g.corpora[0]
	}
	if order := g.leads.order(d, filled); len(order) > 0 {
		return &g.corpora[order[0]]
	}
	return nil
}

// parent chooses the entry that is changed. It is led by the guide of the corpus, or else by how close the entry came to a violation.
func (g *guided) parent(d *dice, c *corpus) (parent *Entry, led bool) {
	if g.plan.Unguided {
		return c.held[d.below(len(c.held))].Entry, false
	}
	if share := g.share(); share > 0 && d.chance(share) {
		if e := g.closest(d); e != nil {
			return e, false
		}
	}
	if c.charge == 0 || g.runs >= c.charge+uint64(max(chargeEvery, len(c.held)/chargeShare)) {
		c.charge = g.runs
		for i := range c.held {
			c.held[i].energy = g.energy(c.held[i].Entry, c)
		}
	}
	sum := 0.0
	for i := range c.held {
		sum += c.held[i].power()
	}
	at := d.unit() * sum
	for i := range c.held {
		if at -= c.held[i].power(); at < 0 {
			return c.held[i].Entry, true
		}
	}
	return c.held[len(c.held)-1].Entry, true
}

// share is the part of parents that are chosen by how close they came, in percent.
func (g *guided) share() int {
	switch s := &g.settings; {
	case s.Nearness && !s.Coverage:
		return 3 * nearShare
	case s.Coverage && !s.Nearness:
		return 0
	}
	return nearShare
}

// closest chooses among the entries that came closest to something that was not reached yet: a violation or, as often, what a
// model has besides. A distance that was the same in all runs leads nowhere.
func (g *guided) closest(d *dice) *Entry {
	var violations, goals []*approach
	for i := range g.near {
		a := &g.near[i]
		switch {
		case len(a.best) == 0 || a.best[0].Distance <= 0 || a.best[0].Distance >= 1 || !g.varies[a.name]:
		case a.best[0].Domain == coverage.ModelGoal:
			goals = append(goals, a)
		default:
			violations = append(violations, a)
		}
	}
	open := violations
	if len(open) == 0 || len(goals) > 0 && d.below(2) == 0 {
		open = goals
	}
	if len(open) == 0 {
		return nil
	}
	best := open[d.below(len(open))].best
	return best[min(d.below(nearest), d.below(nearest), len(best)-1)].entry
}

// energy sums, over the domains of features that a guide shows, how rare those of the entry are. The logarithm keeps one domain with a thousand
// rare features, which are noise as often as not, from drowning all others.
func (g *guided) energy(e *Entry, in *corpus) float64 {
	var domains []coverage.Domain
	var sums []float64
	for _, id := range e.reached {
		c := g.counts[id]
		if c == nil || !g.concerns(in, c.domain) {
			continue
		}
		k := slices.Index(domains, c.domain)
		if k < 0 {
			k = len(domains)
			domains, sums = append(domains, c.domain), append(sums, 0)
		}
		if c.domain == coverage.Code { // reported at the first time only
			sums[k] += 1 / float64(1+(g.runs-e.since)/codeAge)
			continue
		}
		sums[k] += 1 / float64(c.runs)
	}
	energy := 0.01
	for _, s := range sums {
		energy += math.Log1p(s)
	}
	return energy
}

// mutate changes an entry once or a few times. Mates are of the corpus in which the parent was chosen.
func (g *guided) mutate(d *dice, parent *Entry, from *corpus) (Candidate, bool) {
	if len(parent.Tape.Edits) >= maxEdits {
		return Candidate{}, false
	}
	m := &draft{space: g.space, dice: d, seed: parent.Tape.Seed, edits: slices.Clone(parent.Tape.Edits), injections: slices.Clone(parent.Injections)}
	o := Origin{Strategy: g.name, Parent: parent.Name}
	for changes := 1 + trailing(d); changes > 0; changes-- {
		choose := g.chooser(d)
		for range 10 {
			k := choose()
			mate := from.held[d.below(len(from.held))].Entry
			if k.mated && (mate == parent || o.Mate != "" && o.Mate != mate.Name) || !k.apply(m, mate) {
				continue
			}
			if k.mated {
				o.Mate = mate.Name
			}
			if o.Mutation != "" {
				o.Mutation += ", "
			}
			o.Mutation += k.kind
			break
		}
	}
	parent.chosen++
	return Candidate{Tape: tape.Tape{Seed: m.seed, Edits: m.edits}, Origin: o}, o.Mutation != ""
}

// trailing is how many changes follow the first: another one with a chance of three in four, up to maxTrailing. Bugs that need
// several faults at once are found sooner by mutants that differ in several.
func trailing(d *dice) int {
	k := 0
	for k < maxTrailing && d.chance(75) {
		k++
	}
	return k
}

// chooser chooses ways to change a run, one after the other until one can be made, among those that the world has: one without a schedule has no choices
// of steps. A bandit names each way once: of one that cannot be made it learns nothing, and would try it again and again.
func (g *guided) chooser(d *dice) func() *mutator {
	scheduled := g.scheduled()
	fits := func(i int) bool { return scheduled || !g.mutators[i].scheduled }
	if !g.plan.Bandit {
		return func() *mutator { return g.weighted(d, fits) }
	}
	left := g.changes.order(d, fits)
	return func() *mutator {
		if len(left) == 0 {
			return &unfit
		}
		k := &g.mutators[left[0]]
		left = left[1:]
		return k
	}
}

// weighted chooses among mutators by their weights.
func (g *guided) weighted(d *dice, fits func(i int) bool) *mutator {
	sum := 0
	for i := range g.mutators {
		if fits(i) {
			sum += g.mutators[i].weight
		}
	}
	at := d.below(max(sum, 1))
	for i := range g.mutators {
		if !fits(i) {
			continue
		}
		if at -= g.mutators[i].weight; at < 0 {
			return &g.mutators[i]
		}
	}
	return &unfit
}

// unfit changes nothing. It stands in where no mutation fits the parent.
var unfit = mutator{kind: "none", apply: func(*draft, *Entry) bool { return false }}

// played counts what was done to the parent of a run. Mutants that are not run, since the campaign ends before them, do not
// count: how many of those there are depends on the number of workers.
func (g *guided) played(o *Origin) {
	count := func(counts map[string]*Mutations, kind string) {
		m := counts[kind]
		if m == nil {
			m = &Mutations{Kind: kind}
			counts[kind] = m
		}
		m.Made++
	}
	for _, kind := range kindsOf(o) {
		count(g.made, kind)
	}
	if o.Guide != "" {
		count(g.led, o.Guide)
	}
}

// kindsOf lists the kinds of mutations that made a tape, one as often as it was chosen.
func kindsOf(o *Origin) []string {
	return slices.DeleteFunc(strings.Split(o.Mutation, ", "), func(kind string) bool {
		return !slices.ContainsFunc(mutators, func(m mutator) bool { return m.kind == kind })
	})
}

// learn has the bandits learn from a mutant.
func (g *guided) learn(o *Origin, paid bool) {
	kinds := kindsOf(o)
	if len(kinds) == 0 {
		return
	}
	g.changes.learn(kinds, paid)
	if o.Guide != "" {
		g.leads.learn([]string{o.Guide}, paid)
	}
	if paid {
		g.paid(o)
	}
}

func (g *guided) Learn(r *Run) {
	if r.Seen == nil {
		return
	}
	g.runs++
	g.played(&r.Candidate.Origin)
	g.addDraws(r.Draws)
	for _, f := range r.Texts {
		c := g.counts[f.ID]
		if c == nil && len(g.counts) < maxFeatures {
			c = &count{}
			g.counts[f.ID] = c
		}
		if c != nil && c.domain == "" {
			c.domain = f.Domain
			g.domains[f.Domain]++
		}
	}
	why := ""
	fresh := 0
	news := make([]bool, len(g.corpora)) // whether the run is new to the guide of each corpus
	for _, id := range r.Reached {
		c := g.counts[id]
		switch {
		case c != nil:
		case len(g.counts) < maxFeatures:
			c = &count{}
			g.counts[id] = c
		default:
			g.crowded = true
			continue
		}
		if c.runs++; c.runs == 1 {
			fresh++
			g.newTo(news, c.domain)
		}
	}
	if fresh > 0 {
		why = fmt.Sprintf("%s for the first time", plural.Count(fresh, "feature"))
	}
	near := slices.DeleteFunc(slices.Clone(r.Near), func(n coverage.Nearness) bool { return !g.plan.Watches(n.Domain) })
	for _, n := range near {
		if d, known := g.first[n.Name]; known && d != n.Distance {
			g.varies[n.Name] = true
		} else if !known && len(g.first) < maxNear {
			g.first[n.Name] = n.Distance
		}
		closer := g.closer(n)
		if closer != "" && why == "" {
			why = closer
		}
		if closer != "" {
			g.newTo(news, n.Domain)
		}
	}
	if g.plan.Bandit {
		g.learn(&r.Candidate.Origin, news[len(news)-1]) // to the guide combined, whoever kept the parent: to trace nearly all runs are new
	}
	if r.Number == Baseline || why == "" && !g.plan.Unguided {
		return
	}
	e := &Entry{Version: EntryVersion, Name: NameOf(r.Candidate.Tape), Origin: r.Candidate.Origin, Seed: g.seed, Run: r.Number,
		Why: why, Tape: r.Candidate.Tape, Machine: r.Machine,
		Injections: r.Injections, Near: near, since: g.runs, reached: g.rarest(r.Reached)}
	if g.plan.Unguided {
		if e = exchanged(&g.passed, e, newDice(g.seed, ^r.Number), why != ""); e == nil {
			return
		}
		e.Why, news[0] = "without a guide", true
	}
	if g.keep(e, news) && !g.plan.Bandit {
		g.paid(&e.Origin)
	}
}

// newTo notes the corpora to whose guides a feature of a domain is new.
func (g *guided) newTo(news []bool, d coverage.Domain) {
	for i := range g.corpora {
		news[i] = news[i] || g.concerns(&g.corpora[i], d)
	}
}

// concerns reports whether the guide of a corpus shows a domain. A search with one guide learns of no other domains; among several, combined has what is of
// no known domain.
func (g *guided) concerns(c *corpus, d coverage.Domain) bool {
	return len(g.corpora) == 1 || shows(c.guide, d)
}

// exchanged adds a run to those that were passed over, and takes one of them out, if one is to be kept; each is equally likely.
func exchanged(passed *[]*Entry, e *Entry, d *dice, keeps bool) *Entry {
	if *passed = append(*passed, e); !keeps && len(*passed) <= maxCorpus {
		return nil
	}
	k := d.below(len(*passed))
	e = (*passed)[k]
	if *passed = slices.Delete(*passed, k, k+1); !keeps {
		return nil
	}
	return e
}

// paid counts what was done to the parent of an entry that was kept.
func (g *guided) paid(o *Origin) {
	for _, k := range strings.Split(o.Mutation, ", ") {
		if m := g.made[k]; m != nil {
			m.Kept++
		}
	}
	if m := g.led[o.Guide]; m != nil {
		m.Kept++
	}
}

// Know implements Adopter.
func (g *guided) Know(features []uint64) {
	for _, id := range features {
		if g.counts[id] == nil && len(g.counts) < maxFeatures {
			g.counts[id] = &count{runs: 1}
		}
	}
}

// Adopt implements Adopter.
func (g *guided) Adopt(e Entry, reached []uint64) {
	g.Know(reached)
	e.since, e.reached = g.runs, g.rarest(reached)
	news := make([]bool, len(g.corpora))
	g.newTo(news, "")
	for _, id := range reached {
		if c := g.counts[id]; c != nil {
			g.newTo(news, c.domain)
		}
	}
	g.keep(&e, news)
}

// rarest are the features of a run that the fewest runs have reached: at most maxHeld.
func (g *guided) rarest(reached []uint64) []uint64 {
	list := slices.Clone(reached)
	if len(list) > maxHeld {
		slices.SortStableFunc(list, func(a, b uint64) int { return cmp.Compare(g.frequency(a), g.frequency(b)) })
		list = slices.Clone(list[:maxHeld])
	}
	return list
}

func (g *guided) frequency(id uint64) uint32 {
	if c := g.counts[id]; c != nil {
		return c.runs
	}
	return math.MaxUint32
}

// place is where a name stands in near, or belongs.
func (g *guided) place(name string) (i int, known bool) {
	return slices.BinarySearchFunc(g.near, name, func(a approach, name string) int { return cmp.Compare(a.name, name) })
}

// closer says what a distance is, if it is smaller than all of its name.
func (g *guided) closer(n coverage.Nearness) string {
	if n.Distance >= 1 {
		return ""
	}
	i, known := g.place(n.Name)
	if known && len(g.near[i].best) > 0 && g.near[i].best[0].Distance <= n.Distance {
		return ""
	}
	return "closest to " + n.Name + ": " + n.Says
}

// keep adds an entry to the corpora to whose guides it is new, and reports whether there was room in any.
func (g *guided) keep(e *Entry, news []bool) bool {
	if g.byName[e.Name] != nil {
		return false
	}
	for i := range g.corpora {
		c := &g.corpora[i]
		if news[i] && (len(c.held) < c.most || g.evict(c)) {
			c.held = append(c.held, held{e, g.energy(e, c)})
			e.corpora++
		}
	}
	if e.corpora == 0 {
		return false
	}
	g.came = append(g.came, e)
	g.byName[e.Name] = e
	for _, n := range e.Near {
		g.approach(n, e)
	}
	return true
}

// approach remembers an entry among those that came closest to something.
func (g *guided) approach(n coverage.Nearness, e *Entry) {
	if n.Distance >= 1 {
		return
	}
	i, known := g.place(n.Name)
	if !known {
		if len(g.near) >= maxNear {
			return
		}
		g.near = slices.Insert(g.near, i, approach{name: n.Name})
	}
	a := &g.near[i]
	k, _ := slices.BinarySearchFunc(a.best, n.Distance, func(c closeness, d float64) int {
		if c.Distance <= d {
			return -1
		}
		return 1
	})
	a.best = slices.Insert(a.best, k, closeness{n, e})
	a.best = a.best[:min(len(a.best), nearest)]
}

// evict removes the entry with the least power from a corpus that is not among the closest, if there is one.
func (g *guided) evict(c *corpus) bool {
	worst := -1
	for i := range c.held {
		if (worst < 0 || c.held[i].power() < c.held[worst].power()) && !g.isNear(c.held[i].Entry) {
			worst = i
		}
	}
	if worst < 0 {
		return false
	}
	e := c.held[worst].Entry
	c.held = slices.Delete(c.held, worst, worst+1)
	if e.corpora--; e.corpora > 0 {
		return true
	}
	delete(g.byName, e.Name)
	if k := slices.Index(g.came, e); k >= 0 {
		g.came = slices.Delete(g.came, k, k+1)
	} else {
		g.left = append(g.left, e.Name)
	}
	return true
}

func (g *guided) isNear(e *Entry) bool {
	return slices.ContainsFunc(g.near, func(a approach) bool {
		return slices.ContainsFunc(a.best, func(c closeness) bool { return c.entry == e })
	})
}

// Changes implements Keeper.
func (g *guided) Changes() (came []*Entry, left []string) {
	came, left = g.came, g.left
	g.came, g.left = nil, nil
	return came, left
}

func (g *guided) Standing() Standing {
	s := Standing{Strategy: g.name, Corpus: len(g.byName), Features: len(g.counts), Domains: maps.Clone(g.domains)}
	for _, a := range g.near {
		if len(a.best) > 0 {
			s.Near = append(s.Near, a.best[0].Nearness)
		}
	}
	for _, k := range mutators {
		if m := g.made[k.kind]; m != nil {
			s.Mutations = append(s.Mutations, *m)
		}
	}
	for _, guide := range guides {
		if m := g.led[guide]; m != nil {
			s.Guides = append(s.Guides, *m)
		}
	}
	if g.crowded {
		s.Notes = append(s.Notes, fmt.Sprintf("more than %d features were reached; further ones do not guide the search", maxFeatures))
	}
	return s
}
