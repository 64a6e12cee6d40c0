package histories

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/strictjson"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Models of Jepsen's workloads, each of which looks for one kind of anomaly.
const (
	Bank       = "bank"       // transfers keep the total; each read sees all accounts
	LongFork   = "long-fork"  // reads of the same keys, each written once, agree on the order of the writes
	SetFull    = "set-full"   // elements that were added do not get lost
	Comments   = "comments"   // who sees a write sees all that had completed before it began
	Sequential = "sequential" // who sees a subkey sees those that the client had written before it
)

// What may be wrong in these workloads.
var (
	bankNothing  = failure.Declare("bank/no-balance")
	bankAccounts = failure.Declare("bank/accounts")
	bankSum      = failure.Declare("bank/sum")
	bankBelow    = failure.Declare("bank/below-zero")
	forked       = failure.Declare("long-fork/fork")
	forkTwice    = failure.Declare("long-fork/two-values")
	setTwice     = failure.Declare("set-full/twice")
	setUnknown   = failure.Declare("set-full/not-added")
	setLost      = failure.Declare("set-full/lost")
	commentLost  = failure.Declare("comments/lost")
	subkeyLost   = failure.Declare("sequential/lost")
)

// WorkloadModels are all of them.
var WorkloadModels = []string{Bank, LongFork, SetFull, Comments, Sequential}

// WorkloadLimits are facts about a workload that its history does not show: the author gives them.
type WorkloadLimits struct {
	Total     *big.Int // bank: of all accounts; nil takes that of the first read
	Negative  bool     // bank: accounts may be below zero
	GroupSize int      // long-fork: how many keys each read has; 0 is any number
}

// Workload judges a history by the model of a workload.
func Workload(p *world.Property, limits WorkloadLimits, ops []history.Operation) verdict.Verdict {
	var w workload
	switch p.Check.Model {
	case Bank:
		w = bank(ops, limits)
	case LongFork:
		w = longFork(ops, limits.GroupSize)
	case SetFull:
		w = setFull(ops)
	case Comments:
		w = comments(ops)
	case Sequential:
		w = sequential(ops)
	default:
		return verdict.Undecided(p, "unknown workload %q; use one of %s", p.Check.Model, strings.Join(WorkloadModels, ", "))
	}
	v := verdict.New(p)
	switch {
	case w.wrong != nil:
		v.Violate(0, 0, *w.wrong)
		for i, o := range w.by {
			if i < verdict.MaxEvidence {
				v.Evidence = append(v.Evidence, Describe(o))
			}
			if o.Return != history.Pending && o.Return > v.Event {
				v.Event, v.TimeNs = o.Return, o.ReturnTimeNs
			}
		}
	case w.open != "":
		v.Reason = w.open
	case w.judged == 0:
		v.Idle, v.Reason = true, "no read had a result that could have been wrong"
	default:
		v.Status = verdict.Holds
	}
	return v
}

// Describe is an operation in words.
func Describe(o *history.Operation) string {
	return fmt.Sprintf("event %d, client %s: %s %s -> %s", o.Call, o.Client, o.Op, verdict.Shorten(o.Input), verdict.Shorten(o.Output))
}

// workload is the result of a judgement: what is wrong, and by which operations, or why that is unknown.
type workload struct {
	wrong  *failure.Claim
	by     []*history.Operation
	open   string
	judged int // results that could have been wrong
}

func violation(by []*history.Operation, c failure.Claim) workload { return workload{wrong: &c, by: by} }

func unreadable(o *history.Operation, format string, args ...any) workload {
	return workload{open: fmt.Sprintf("broken history: the %s of client %s at event %d: ", o.Op, o.Client, o.Call) + fmt.Sprintf(format, args...)}
}

// balance is a number of an account. EDN has decimals and floats beside its integers, of which JSON has the spelling: "10M".
type balance string

func (b *balance) UnmarshalJSON(p []byte) error {
	text := strings.TrimSuffix(strings.Trim(string(p), `"`), "M")
	*b = balance(text)
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return fmt.Errorf("%s is not a number", p)
	}
	return nil
}

// bank: each read returns a map of accounts to balances.
func bank(ops []history.Operation, limits WorkloadLimits) (w workload) {
	var accounts []string
	var unread workload
	total := limits.Total
	for i := range ops {
		o := &ops[i]
		if o.Type != history.Ok || !history.IsRead(o.Op) {
			continue
		}
		var balances map[string]*balance
		if err := json.Unmarshal([]byte(o.Output), &balances); err != nil || balances == nil {
			unread = unreadable(o, "%s is not a map of accounts to balances", verdict.Shorten(o.Output))
			continue
		}
		if err := strictjson.Unique([]byte(o.Output)); err != nil {
			unread = unreadable(o, "%s: %v", verdict.Shorten(o.Output), err)
			continue
		}
		sum := new(big.Int)
		var below string
		for _, name := range slices.Sorted(maps.Keys(balances)) {
			if balances[name] == nil {
				return violation([]*history.Operation{o}, bankNothing.Cause().Claim("account %s has no balance", name))
			}
			n, ok := new(big.Int).SetString(string(*balances[name]), 10)
			if !ok {
				unread = unreadable(o, "the balance %s is not an integer", *balances[name])
				continue
			}
			if n.Sign() < 0 && below == "" {
				below = fmt.Sprintf("account %s has %s, below zero", name, n)
			}
			sum.Add(sum, n)
		}
		if unread.open != "" {
			continue
		}
		names := slices.Sorted(maps.Keys(balances))
		switch {
		case accounts == nil:
			accounts = names
		case !slices.Equal(accounts, names):
			return violation([]*history.Operation{o}, bankAccounts.Cause().Claim("a read has accounts %s, but the first one had %s",
				strings.Join(names, ", "), strings.Join(accounts, ", ")))
		}
		if total == nil {
			total = sum
		}
		if sum.Cmp(total) != 0 {
			return violation([]*history.Operation{o}, bankSum.Cause().Claim("the balances add up to %s, not to %s", sum, total))
		}
		if below != "" && !limits.Negative {
			return violation([]*history.Operation{o}, bankBelow.Cause().Claim("%s", below))
		}
		w.judged++
	}
	if unread.open != "" {
		return unread
	}
	if w.judged == 1 && limits.Total == nil {
		w.judged = 0 // its sum has nothing to be compared with
	}
	return w
}

// longFork: of two reads of the same keys, one must have seen all that the other one saw. Each key is written once. In order of
// how much they saw, it is enough to compare neighbours.
func longFork(ops []history.Operation, size int) (w workload) {
	groups := map[string][]forkRead{}
	value, writer := map[string]string{}, map[string]string{} // by key: as read, and as written
	for i := range ops {
		o := &ops[i]
		if o.Type == history.Fail {
			continue
		}
		got, wrong := forkAccesses(o, writer)
		if wrong != nil {
			return *wrong
		}
		if got == nil || o.Type != history.Ok {
			continue
		}
		if size > 0 && len(got) != size {
			return unreadable(o, "it reads %d keys, but --group-size is %d", len(got), size)
		}
		keys := slices.Sorted(maps.Keys(got))
		r := forkRead{op: o}
		for _, key := range keys {
			v := got[key]
			if v != "" {
				r.n++
				if was, known := value[key]; known && was != v {
					return workload{open: fmt.Sprintf("key %q was read with two values, %s and %s; the long-fork check needs keys that are written only once",
						key, was, v)}
				}
				value[key] = v
			}
			r.seen = append(r.seen, v)
		}
		name, _ := json.Marshal(keys)
		groups[string(name)] = append(groups[string(name)], r)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		reads := groups[name]
		slices.SortStableFunc(reads, func(x, y forkRead) int { return x.n - y.n })
		for i := 1; i < len(reads); i++ {
			for k, v := range reads[i-1].seen {
				if v != "" && reads[i].seen[k] == "" {
					return violation([]*history.Operation{reads[i-1].op, reads[i].op},
						forked.Cause().Claim("long fork: two reads of keys %s each saw a write that the other one did not see", name))
				}
			}
		}
		if len(reads) > 1 && reads[len(reads)-1].n > 0 {
			w.judged += len(reads)
		}
	}
	for key, v := range value {
		if was, known := writer[key]; known && was != v {
			return workload{open: fmt.Sprintf("key %q was read as %s, but %s was written", key, v, was)}
		}
	}
	return w
}

// forkRead is a transaction that reads a group of keys.
type forkRead struct {
	op   *history.Operation
	seen []string // values in the order of keys, "" for none
	n    int      // values that are there
}

// forkAccesses returns the values that a transaction read, by key, or nil if it is a write, which it adds to the writes of all. wrong is
// why the history cannot be judged, or a violation.
func forkAccesses(o *history.Operation, writer map[string]string) (got map[string]string, wrong *workload) {
	text := o.Input
	if o.Type == history.Ok && o.Output != "" {
		text = o.Output
	}
	because := func(w workload) (map[string]string, *workload) { return nil, &w }
	rows, err := accessRows(text)
	if err != nil {
		return because(unreadable(o, "%v", err))
	}
	got = map[string]string{}
	reads := true
	for _, row := range rows {
		if len(row) < 2 || len(row) > 3 {
			return because(unreadable(o, "an access has a kind, a key and a value"))
		}
		kind, key, v := strings.TrimPrefix(plain(row[0]), ":"), plain(row[1]), ""
		if len(row) == 3 && row[2] != "null" {
			v = plain(row[2])
		}
		switch kind {
		case "w":
			reads = false
			if _, twice := writer[key]; twice {
				return because(workload{open: fmt.Sprintf("key %q was written twice; the long-fork check needs keys that are written only once", key)})
			}
			writer[key] = v
		case "r":
			if was, again := got[key]; again && was != v {
				return because(violation([]*history.Operation{o}, forkTwice.Cause().Claim("a transaction read key %q twice and saw two values", key)))
			}
			got[key] = v
		default:
			return because(unreadable(o, "access %q is neither r nor w", kind))
		}
	}
	if reads {
		return got, nil
	}
	if len(rows) > 1 {
		return because(unreadable(o, "a transaction must write one key and read nothing, or only read"))
	}
	return nil, nil
}

// setFull: an element is lost if a read that began after its add was acknowledged, or after a read that saw it, does not have
// it, and no later read has it either. What a read has, a client must have added before that read returned.
func setFull(ops []history.Operation) (w workload) {
	type element struct {
		added *history.Operation
		known uint64 // since when it must be there; 0 if it need not be
		seen  uint64 // the last call of a read that saw it
	}
	type place struct{ key, value string }
	added := map[place]*element{}
	var reads []*history.Operation
	for i := range ops {
		o := &ops[i]
		switch {
		case o.Op == "add" && o.Type != history.Fail:
			e := added[place{o.Key, putIn(o)}]
			if e == nil {
				e = &element{added: o}
				added[place{o.Key, putIn(o)}] = e
			}
			if o.Type == history.Ok && (e.known == 0 || o.Return < e.known) {
				e.known = o.Return
			}
		case history.IsRead(o.Op) && o.Type == history.Ok:
			reads = append(reads, o)
		}
	}
	keyed := "" // what to do where elements are taken for pairs of a key and an element
	if slices.ContainsFunc(reads, func(o *history.Operation) bool { return AsksForPair(o.Key, o.Input) }) {
		keyed = "; each read has a pair of a key and nothing: use --keyed if each add has a key and an element"
	}
	inside := make([]map[string]bool, len(reads))
	for i, o := range reads {
		list, err := elements(o.Output)
		if err != nil {
			return unreadable(o, "%v", err)
		}
		inside[i] = make(map[string]bool, len(list))
		for _, v := range list {
			if inside[i][v] {
				return violation([]*history.Operation{o}, setTwice.Cause().Claim("a read has element %s twice", v))
			}
			inside[i][v] = true
			e := added[place{o.Key, v}]
			if e == nil || e.added.Call > o.Return {
				return violation([]*history.Operation{o},
					setUnknown.Cause().Claim("a read has element %s, which was never added%s", verdict.Shorten(v), keyed))
			}
			if e.known == 0 || o.Return < e.known {
				e.known = o.Return
			}
			e.seen = max(e.seen, o.Call)
		}
	}
	names := slices.SortedFunc(maps.Keys(added), func(x, y place) int { return strings.Compare(x.key+"\x00"+x.value, y.key+"\x00"+y.value) })
	byKey := map[string][]int{}
	for i, o := range reads {
		byKey[o.Key] = append(byKey[o.Key], i)
	}
	for _, name := range names {
		e := added[name]
		if e.known == 0 {
			continue
		}
		var missed *history.Operation
		for _, i := range byKey[name.key] {
			if o := reads[i]; o.Call > e.known && !inside[i][name.value] && o.Call > e.seen {
				missed = o
			}
		}
		if missed != nil {
			return violation([]*history.Operation{e.added, missed},
				setLost.Cause().Claim("element %s was present and is lost: the last reads do not have it%s", verdict.Shorten(name.value), keyed))
		}
		if e.seen > 0 {
			w.judged++
		}
	}
	return w
}

// AsksForPair reports whether a read with this key and input begins with a pair of a key and nothing, as jepsen.independent writes them. A
// read that knows its key otherwise, or has none, begins with nothing.
func AsksForPair(key, input string) bool {
	if key != "" || !strings.HasPrefix(input, "[") {
		return false
	}
	var pair []json.RawMessage
	return json.Unmarshal([]byte(input), &pair) == nil && len(pair) == 2 && string(pair[1]) == "null"
}

// comments: a read that has a value must have all values whose writes had returned before the write of that value was called.
func comments(ops []history.Operation) (w workload) {
	type written struct {
		op    *history.Operation
		value string
	}
	returned := map[string][]written{} // by key, in order of their returns
	called := map[string]map[string]uint64{}
	for i := range ops {
		o := &ops[i]
		if o.Op != "write" || o.Type == history.Fail {
			continue
		}
		if called[o.Key] == nil {
			called[o.Key] = map[string]uint64{}
		}
		value := putIn(o)
		if _, twice := called[o.Key][value]; twice {
			return unreadable(o, "value %s is written twice", value)
		}
		called[o.Key][value] = o.Call
		if o.Type == history.Ok {
			returned[o.Key] = append(returned[o.Key], written{o, value})
		}
	}
	for _, list := range returned {
		slices.SortFunc(list, func(x, y written) int {
			if x.op.Return < y.op.Return {
				return -1
			}
			return 1
		})
	}
	for i := range ops {
		o := &ops[i]
		if o.Type != history.Ok || !history.IsRead(o.Op) {
			continue
		}
		list, err := elements(o.Output)
		if err != nil {
			return unreadable(o, "%v", err)
		}
		seen := map[string]bool{}
		latest, by := uint64(0), ""
		for _, v := range list {
			seen[v] = true
			if at := called[o.Key][v]; at > latest {
				latest, by = at, v
			}
		}
		for _, x := range returned[o.Key] {
			if x.op.Return >= latest {
				break
			}
			if w.judged++; !seen[x.value] {
				return violation([]*history.Operation{x.op, o},
					commentLost.Cause().Claim("a read has %s, but not %s, which had been written before it", by, x.value))
			}
		}
	}
	return w
}

// sequential: a read asks for the subkeys of a key, those first that were written last. Once one is there, so must be the rest.
func sequential(ops []history.Operation) (w workload) {
	for i := range ops {
		o := &ops[i]
		if o.Type != history.Ok || !history.IsRead(o.Op) {
			continue
		}
		text := []byte(o.Output)
		if o.Key == "" {
			var row []json.RawMessage
			if err := json.Unmarshal(text, &row); err != nil || len(row) != 2 {
				return unreadable(o, "%s is not a pair of a key and a list of its subkeys", verdict.Shorten(o.Output))
			}
			text = row[1]
		}
		var list []json.RawMessage
		if err := json.Unmarshal(text, &list); err != nil {
			return unreadable(o, "%s is not a list of subkeys", verdict.Shorten(o.Output))
		}
		there := false
		for _, v := range list {
			if string(v) != "null" {
				there = true
				continue
			}
			if there {
				return violation([]*history.Operation{o}, subkeyLost.Cause().Claim("a read has a subkey, but not one that was written before it"))
			}
		}
		if there && len(list) > 1 {
			w.judged++
		}
	}
	return w
}
