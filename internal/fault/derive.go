package fault

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/moments"
	"github.com/bloodhound-dst/bloodhound/internal/tape"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// CreateCall stands in rules for open, openat, openat2 and creat that ask for a file to be made if it is not there (O_CREAT).
const CreateCall = "create"

// Creating are the calls that CreateCall stands for.
var Creating = []string{"open", "openat", "openat2", "creat"}

// Bounds of derived rules.
const (
	MaxDerived = 64
	// derivedDownNs bounds how long a node is down by one: its moments come often, and the time is to be spent on what follows them.
	derivedDownNs = 500e6
	// whileRunning spares the start of a program, which may refuse to run without room on its disk.
	whileRunning = "up_s > 0.25"
	// derivedMostPPM is the rate of a rule whose moment comes once.
	derivedMostPPM = tape.Certain / 2
	// rareOperations is the share of a driver's operations, one in so many, up to which a kind of them gets rules of its own: such as what an
	// administrator asks for now and then. Faults at other moments meet kinds that are more frequent.
	rareOperations = 10
)

// derivable are the kinds of faults that are derived, with what programs do at which they may show a bug.
var derivable = []struct {
	kind   world.FaultKind
	moment world.Moment
	acts   []moments.Act
}{
	{Crash, world.AfterCall, []moments.Act{moments.Rename, moments.Sync, moments.Create, moments.Truncate, moments.Unlink, moments.Reply, moments.Operation}},
	{PowerLoss, world.AfterCall, []moments.Act{moments.Rename, moments.Sync, moments.Create, moments.Truncate, moments.Unlink,
		moments.Reply, moments.Operation}},
	{DiskFull, world.Entering, []moments.Act{moments.Create, moments.Rename, moments.Truncate}},
	{OpenFail, world.Entering, []moments.Act{moments.Create, moments.Rename}},
	{FDLimit, world.Entering, []moments.Act{moments.Create}},
	{FDLimit, world.AfterCall, []moments.Act{moments.Reply}}, // connections that come next are not accepted
	{FsyncFail, world.Entering, []moments.Act{moments.Sync}},
	// An orderly restart is the same at all moments. It comes often, since some states need several in one run.
	{Restart, world.AfterCall, []moments.Act{moments.Reply}},
}

// site identifies where one rule injects: the act, path pattern and calls that classes of moments share.
type site struct {
	act     moments.Act
	pattern string
	calls   []string
	count   uint64 // in the chaos phase, on the node and in the run where it is highest
}

// Derive gives rules for the moments of some runs: of those kinds alone that the Spec's own rules inject, on their targets and under their
// conditions. They are off unless a tape turns them on by their RateStream. The most important come first.
func Derive(spec *world.Spec, records ...*moments.Record) (rules []world.FaultRule) {
	if !spec.Faults.Enabled {
		return nil
	}
	sites := sitesOf(records)
	for _, d := range derivable {
		base, ok := baseOf(spec, d.kind)
		if !ok {
			continue
		}
		apt := slices.DeleteFunc(slices.Clone(sites), func(s site) bool { return !slices.Contains(d.acts, s.act) })
		switch d.kind {
		case DiskFull, FDLimit: // they last, so that calls on one file that follow each other are one moment
			apt = byFile(apt)
		case OpenFail: // the file of a pattern fails whenever it is opened, not only as it is made
			apt = byFile(apt)
			for i := range apt {
				apt[i].calls = Creating
			}
		}
		for i := range apt {
			if r, ok := apt[i].rule(base, d.kind, d.moment); ok {
				rules = append(rules, r)
			}
		}
	}
	// Of each kind as many, where there is no room for all.
	rank := map[world.FaultKind]int{}
	order := make([]int, len(rules))
	for i := range rules {
		order[i] = rank[rules[i].Kind]
		rank[rules[i].Kind]++
	}
	index := make([]int, len(rules))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(order[a], order[b]) })
	var list []world.FaultRule
	for _, i := range index[:min(len(index), MaxDerived)] {
		list = append(list, rules[i])
	}
	return list
}

// MomentCount is a kind of moment of some runs.
type MomentCount struct {
	Act  moments.Act `json:"act"`
	Call string      `json:"call"` // as of Hit
	File string      `json:"file,omitempty"`
	// Seen is how often it came in the chaos phase, on the node and in the run where that is most.
	Seen uint64 `json:"seen"`
}

// Moments lists the kinds of moments of some runs at which faults can be injected, the most important first.
func Moments(records ...*moments.Record) (list []MomentCount) {
	for _, s := range sitesOf(records) {
		for _, call := range s.calls {
			list = append(list, MomentCount{s.act, call, s.pattern, s.count})
		}
		switch s.act {
		case moments.Reply:
			list = append(list, MomentCount{Act: s.act, Call: string(world.AfterReply), Seen: s.count})
		case moments.Operation:
			list = append(list, MomentCount{Act: s.act, Call: operationCall, File: s.pattern, Seen: s.count})
		}
	}
	return list
}

// Derives reports whether rules may be derived for a Spec: kinds of its own must be derivable, and no rule may be derived already.
func Derives(spec *world.Spec) bool {
	if !spec.Faults.Enabled || slices.ContainsFunc(spec.Faults.Rules, func(r world.FaultRule) bool { return r.Derived }) {
		return false
	}
	for _, d := range derivable {
		if _, ok := baseOf(spec, d.kind); ok {
			return true
		}
	}
	return false
}

// Underived is a Spec without derived rules. The Spec itself stays as it is.
func Underived(spec *world.Spec) *world.Spec {
	own := *spec
	own.Faults.Rules = slices.DeleteFunc(slices.Clone(spec.Faults.Rules), func(r world.FaultRule) bool { return r.Derived })
	return &own
}

// importance of acts: what changes names is rarer than what changes bytes, and an answer is a promise.
var importance = []moments.Act{moments.Rename, moments.Operation, moments.Reply, moments.Sync, moments.Create, moments.Truncate, moments.Unlink}

// sitesOf are the places where rules can inject: rare moments first, since rates find frequent ones.
func sitesOf(records []*moments.Record) (sites []site) {
	type key struct {
		act     moments.Act
		pattern string
	}
	type place struct {
		key
		record int
		node   string
	}
	at, counts := map[key]int{}, map[place]uint64{}
	var all []moments.Series
	var of []int
	for i, record := range records {
		classes := record.Classes()
		all = append(all, classes...)
		of = append(of, slices.Repeat([]int{i}, len(classes))...)
	}
	for n := range all {
		s := &all[n]
		if s.InChaos == 0 || !slices.Contains(importance, s.Act) {
			continue
		}
		k, call := key{act: s.Act}, s.Call
		if s.Act.OnFile() || s.Act == moments.Operation {
			k.pattern = moments.Pattern(s.File)
		}
		if s.Act == moments.Create && slices.Contains(Creating, call) {
			call = CreateCall
		}
		if s.Act == moments.Truncate && slices.Contains(Creating, call) {
			continue // calls that open files do much else
		}
		i, ok := at[k]
		if !ok {
			i = len(sites)
			at[k] = i
			sites = append(sites, site{act: s.Act, pattern: k.pattern})
		}
		if s.Act.OnFile() && !slices.Contains(sites[i].calls, call) {
			sites[i].calls = append(sites[i].calls, call)
			slices.Sort(sites[i].calls)
		}
		p := place{k, of[n], s.Node}
		counts[p] += s.InChaos
		sites[i].count = max(sites[i].count, counts[p])
	}
	sites = withoutFrequentOperations(sites)
	slices.SortStableFunc(sites, func(a, b site) int {
		return cmp.Or(cmp.Compare(slices.Index(importance, a.act), slices.Index(importance, b.act)),
			cmp.Compare(a.count, b.count), strings.Compare(a.pattern, b.pattern))
	})
	return sites
}

// withoutFrequentOperations leaves out the kinds of operations that are no rare ones.
func withoutFrequentOperations(sites []site) []site {
	all := uint64(0)
	for _, s := range sites {
		if s.act == moments.Operation {
			all += s.count
		}
	}
	return slices.DeleteFunc(sites, func(s site) bool { return s.act == moments.Operation && s.count*rareOperations > all })
}

// byFile puts the sites of one pattern of files together.
func byFile(sites []site) (list []site) {
	for _, s := range sites {
		i := slices.IndexFunc(list, func(o site) bool { return o.pattern == s.pattern })
		if i < 0 {
			s.calls = slices.Clone(s.calls)
			list = append(list, s)
			continue
		}
		list[i].count += s.count
		list[i].calls = append(list[i].calls, s.calls...)
	}
	return list
}

// baseOf is a rule with what the Spec's rules of a kind have in common: the shortest and the longest duration, all targets, and the
// condition that one of theirs is true. Rules for groups of servers are left out.
func baseOf(spec *world.Spec, kind world.FaultKind) (base world.FaultRule, ok bool) {
	row := RowOf(kind)
	var conditions []string
	all, always, byUser := false, false, false
	for i := range spec.Faults.Rules {
		r := &spec.Faults.Rules[i]
		if r.Kind != kind || r.RatePPM == 0 || r.Shape != "" || r.Derived {
			continue
		}
		least, most := r.MinNs, max(r.MinNs, r.MaxNs)
		if most == 0 {
			least, most = row.Span.MinNs, row.Span.MaxNs
		}
		if !ok {
			base = world.FaultRule{Kind: r.Kind, MinNs: least, MaxNs: most, Max: r.Max}
		}
		ok = true
		base.MinNs, base.MaxNs = min(base.MinNs, least), max(base.MaxNs, most)
		if r.Max == 0 || base.Max == 0 {
			base.Max = 0
		} else {
			base.Max = max(base.Max, r.Max)
		}
		all, byUser = all || len(r.Targets) == 0, byUser || r.ByUser
		for _, t := range r.Targets {
			if !slices.Contains(base.Targets, t) {
				base.Targets = append(base.Targets, t)
			}
		}
		switch {
		case r.When == "":
			always = true
		case !slices.Contains(conditions, r.When):
			conditions = append(conditions, r.When)
		}
	}
	if all {
		base.Targets = nil
	}
	switch {
	case kind == DiskFull && !byUser:
		base.When, base.Max = whileRunning, 0
	case !always:
		base.When = oneOf(conditions)
	}
	if row.Ends == Killed || row.Ends == Unplugged || row.Ends == Stopped {
		base.MaxNs = min(base.MaxNs, max(base.MinNs, derivedDownNs))
	}
	return base, ok
}

// oneOf is the condition that one of some is true.
func oneOf(conditions []string) string {
	if len(conditions) < 2 {
		return strings.Join(conditions, "")
	}
	return "(" + strings.Join(conditions, ") or (") + ")"
}

// rule injects a kind at a site, once in a run on average; a tape may ask for more.
func (s *site) rule(base world.FaultRule, kind world.FaultKind, moment world.Moment) (world.FaultRule, bool) {
	r := base
	r.Derived = true
	r.RatePPM = min(max(tape.Certain/max(s.count, 1), 1), derivedMostPPM)
	if s.act == moments.Reply {
		r.Moment = world.AfterReply
		return r, true
	}
	if r.Path = s.pattern; s.act == moments.Operation {
		r.Moment = world.InOperation
		return r, true
	}
	r.Moment = moment
	for _, c := range s.calls {
		if row := RowOf(kind); row.Call == nil || slices.Contains(row.Call.Names, c) {
			r.At = append(r.At, c)
		}
	}
	return r, len(r.At) > 0
}
