package histories

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/check/linear"
	"github.com/bloodhound-dst/bloodhound/internal/failure"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// What may be wrong with values that go up, and with what was acknowledged.
var (
	wentBack      = failure.Declare("monotonic/went-back")    // nothing, if the key was missing
	tooFew        = failure.Declare("durability/too-few")     // an element of a list
	gone          = failure.Declare("durability/gone")        // an element
	returnedAgain = failure.Declare("durability/not-removed") // an element
	unmade        = failure.Declare("durability/unmade")      // the value of a key that is appended to
	overwritten   = failure.Declare("durability/overwritten") // the last change of a key, whose value is another one
	vanished      = failure.Declare("durability/vanished")    // the last change of a key, which is missing
)

// monotonic judges that a value never goes back: a read that began after another one of its key had ended does not
// return less. Values are numbers; a missing key is less than all of them.
func monotonic(p *world.Property, ops []history.Operation) verdict.Verdict {
	v := verdict.New(p)
	looks := func(op string) bool {
		if len(p.Check.Operations) == 0 {
			return history.IsRead(op)
		}
		return slices.ContainsFunc(p.Check.Operations, func(name string) bool { return strings.EqualFold(name, op) })
	}
	type reading struct {
		op    history.Operation
		value *big.Rat // nil: missing
	}
	keys, left := map[string][]reading{}, newLeftOut()
	there, succeeded := map[string]bool{}, map[string]bool{} // by kind of operation
	for i := range ops {
		o := &ops[i]
		there[o.Op] = true
		if !looks(o.Op) || !left.chooses(&p.Check, o) || o.Type != history.Ok {
			continue
		}
		if omitted, is := left.keys[o.Key]; is {
			omitted.ops++
			left.keys[o.Key] = omitted
			continue
		}
		r := reading{op: *o}
		if o.Found || o.Output != "" {
			value, ok := decimal(o.Output)
			if !ok {
				left.keys[o.Key] = omission{"it holds a value that is not a number", fmt.Sprintf("key %q holds %s at event %d, which is not a number",
					o.Key, verdict.Shorten(o.Output), o.Return), len(keys[o.Key]) + 1}
				delete(keys, o.Key)
				continue
			}
			r.value = value
		}
		keys[o.Key] = append(keys[o.Key], r)
	}
	for _, readings := range keys {
		for i := range readings {
			succeeded[strings.ToLower(readings[i].op.Op)] = true
		}
	}
	v.LeftOut = left.lines()
	less := func(x, y *big.Rat) bool { return y != nil && (x == nil || x.Cmp(y) < 0) }
	tested := false
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		called := keys[key] // pairs come in the order of their calls
		returned := slices.Clone(called)
		slices.SortFunc(returned, func(x, y reading) int { return compare(int64(x.op.Return), int64(y.op.Return)) })
		var highest *reading
		k := 0
		for i := range called {
			r := &called[i]
			for ; k < len(returned) && returned[k].op.Return < r.op.Call; k++ {
				if highest == nil || less(highest.value, returned[k].value) {
					highest = &returned[k]
				}
			}
			if highest == nil {
				continue
			}
			tested = tested || highest.value != nil
			if less(r.value, highest.value) {
				v.Violate(r.op.Return, r.op.ReturnTimeNs, wentBack.Cause(numberOrNothing(r.op)).
					Claim("key %q went back from %s to %s", key, highest.op.Output, valueOf(r.op)))
				for _, o := range []history.Operation{highest.op, r.op} {
					v.Evidence = append(v.Evidence, fmt.Sprintf("%s (event %d) client %s: %s %q -> %s; returned at %s (event %d)",
						verdict.Seconds(o.CallTimeNs), o.Call,
						o.Client, o.Op, o.Key, valueOf(o), verdict.Seconds(o.ReturnTimeNs), o.Return))
				}
				return v
			}
		}
	}
	if v.Reason = cmp.Or(Unseen(p.Check.Operations, there), left.unjudged(&p.Check, len(keys))); v.Reason != "" {
		return v
	}
	for _, name := range p.Check.Operations {
		if !succeeded[strings.ToLower(name)] {
			v.Idle, v.Reason = true, fmt.Sprintf("no %s succeeded", name)
			return v
		}
	}
	if !tested {
		v.Idle, v.Reason = true, "no key was read again after a read that returned a value, so this run could not show a value going back to an older one"
		return v
	}
	v.Status = verdict.Holds
	return v
}

// maxDigits bounds the numbers of monotonic values.
const maxDigits = 1000

// decimal reads a decimal number. Exponents would let a short text be a number of many megabytes.
func decimal(text string) (*big.Rat, bool) {
	text = strings.TrimSuffix(text, "M") // a decimal of EDN
	if len(text) > maxDigits || strings.Trim(text, "-+.0123456789") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// numberOrNothing tells a smaller number from a missing one.
func numberOrNothing(o history.Operation) string {
	if !o.Found && o.Output == "" {
		return "missing"
	}
	return "less"
}

func valueOf(o history.Operation) string {
	if !o.Found && o.Output == "" {
		return "nothing"
	}
	return o.Output
}

// durable judges that what was acknowledged is there at the end: in the reads of each key that began after all its
// changes had returned. With the models set and append-list, each element that was put in must be there; otherwise the
// value of a key must be one that nothing acknowledged can have replaced.
func durable(p *world.Property, ops []history.Operation) verdict.Verdict {
	m := storage{appends: p.Check.Model == "append-list", budget: linear.NewBudget(MaxSteps, MaxBytes, MaxWall)}
	switch p.Check.Model {
	case "", "kv", "key-value", "register":
	case "set", "append-list":
		m.verbs = objects[p.Check.Model].verbs
	default:
		return verdict.Undecided(p, "unknown model %q for durability; use register, key-value, set, append-list", p.Check.Model)
	}
	left := newLeftOut()
	keys := m.perKey(&p.Check, &left, ops)
	judgedKeys, unread := 0, ""
	v := verdict.New(p)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		k := keys[key]
		if k.acknowledged == 0 && k.strange == nil {
			continue
		}
		if k.strange != nil {
			reason := fmt.Sprintf("operation %q has no model", k.strange.Op)
			left.keys[key] = omission{reason, fmt.Sprintf("%s, and it may have changed key %q at event %d", reason, key, k.strange.Call), k.ops}
			continue
		}
		last := k.lastLooks()
		for _, o := range last {
			lost, claim, err := m.lost(k.changes, o)
			if err != nil && m.budget.Reached != "" {
				return verdict.Undecided(p, "%v", err)
			}
			if err != nil {
				left.keys[key] = omission{"a read returned a value that the model does not allow", err.Error(), k.ops}
				break
			}
			if lost != nil {
				v.Violate(o.Return, o.ReturnTimeNs, claim.Cause.Claim("key %q: %s", key, claim.Words))
				v.Evidence = []string{m.described(*lost), m.described(o)}
				if line := m.countMissing(k.changes, o); line != "" {
					v.Evidence = append(v.Evidence, line)
				}
				v.LeftOut = left.lines()
				return v
			}
		}
		if _, omitted := left.keys[key]; omitted {
			continue
		}
		judgedKeys++
		if len(last) == 0 && unread == "" {
			unread = key
		}
	}
	v.LeftOut = left.lines()
	switch unjudged := left.unjudged(&p.Check, judgedKeys); {
	case unjudged != "":
		v.Reason = unjudged
	case judgedKeys == 0:
		v.Idle, v.Reason = true, "no change was acknowledged"
	case unread != "":
		v.Reason = fmt.Sprintf("key %q was changed and not read after its last change; read all keys at the end", unread)
	default:
		v.Status = verdict.Holds
	}
	return v
}

// storage classifies the operations of a model for a check of durability.
type storage struct {
	verbs   map[string]verb // nil: a map of registers
	appends bool
	budget  *linear.Budget
}

// sort returns put, take or look for changes and reads, and foreign for what has no model.
func (m *storage) sort(op string) verb {
	if m.verbs != nil {
		return m.verbs[strings.ToLower(op)]
	}
	switch kindOf(op) {
	case write, grow:
		return put
	case remove:
		return take
	case read:
		return look
	}
	return foreign
}

// stored collects the changes and reads of a key.
type stored struct {
	changes, looks []history.Operation
	strange        *history.Operation // the first operation without a model
	end            uint64             // the return of the last change that returned
	ops            int
	again          uint64 // the first change by clients that try everything again after the last heal; 0 if there was none
	acknowledged   int
}

func (m *storage) perKey(c *world.Check, left *leftOut, ops []history.Operation) map[string]*stored {
	keys := map[string]*stored{}
	for i, o := range ops {
		if !left.chooses(c, &ops[i]) {
			continue
		}
		if m.verbs != nil {
			o.Input = putIn(&o)
		} else if kindOf(o.Op) == write && changeOf(&o) == remove {
			o.Op, o.Output = "delete", ""
		}
		k := keys[o.Key]
		if k == nil {
			k = &stored{}
			keys[o.Key] = k
		}
		k.ops++
		switch verb := m.sort(o.Op); {
		case world.IsRecovery(o.Client) && verb != look && verb != has: // what was acknowledged before need not be there afterwards
			if k.again == 0 {
				k.again = o.Call
			}
		case verb == put || verb == take:
			if o.Type == history.Fail || o.Type == history.Ok && verb == take && (o.Output == "0" || strings.EqualFold(o.Output, "false")) {
				continue // it did nothing, or found nothing to remove
			}
			k.changes = append(k.changes, o)
			if o.Type == history.Ok {
				k.end = max(k.end, o.Return)
				k.acknowledged++
			}
		case verb == look:
			if o.Type == history.Ok {
				k.looks = append(k.looks, o)
			}
		case verb != has:
			if o.Type != history.Fail && k.strange == nil {
				k.strange = &ops[i]
			}
		}
	}
	return keys
}

// lastLooks are the reads after the last change, which must show what was acknowledged.
func (k *stored) lastLooks() (list []history.Operation) {
	for _, o := range k.looks {
		if o.Call >= k.end && (k.again == 0 || o.Return <= k.again) {
			list = append(list, o)
		}
	}
	return list
}

// lost finds an acknowledged change that a read after all changes does not show, and describes the loss.
func (m *storage) lost(changes []history.Operation, look history.Operation) (lost *history.Operation, claim failure.Claim, err error) {
	if m.verbs != nil {
		items, err := elements(look.Output)
		if err != nil {
			return nil, claim, fmt.Errorf("broken history: %s %q by client %s at event %d: %w", look.Op, look.Key, look.Client, look.Call, err)
		}
		lost, claim = missing(changes, items, m.sort, m.appends)
		return lost, claim, nil
	}
	if slices.ContainsFunc(changes, func(c history.Operation) bool { return kindOf(c.Op) == grow }) {
		if lost, claim, err = unexplained(changes, look, m.budget); err != nil {
			err = fmt.Errorf("key %q: %w", look.Key, err)
		}
		return lost, claim, err
	}
	lost, claim = replaced(changes, look, m.sort)
	return lost, claim, nil
}

// maxMissingShown bounds the missing elements that evidence names.
const maxMissingShown = 5

// countMissing says how many of the acknowledged elements of a set or list are missing in what was read at the end, if they are several.
func (m *storage) countMissing(changes []history.Operation, o history.Operation) string {
	if m.verbs == nil {
		return ""
	}
	items, err := elements(o.Output)
	if err != nil {
		return ""
	}
	there, removed, seen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, v := range items {
		there[v] = true
	}
	for _, c := range changes {
		if m.sort(c.Op) == take {
			removed[c.Input] = true // perhaps for good
		}
	}
	var gone []string
	for _, c := range changes {
		if m.sort(c.Op) != put || c.Type != history.Ok || removed[c.Input] || seen[c.Input] {
			continue
		}
		if seen[c.Input] = true; !there[c.Input] {
			gone = append(gone, verdict.Shorten(c.Input))
		}
	}
	if len(gone) < 2 {
		return ""
	}
	named := strings.Join(gone[:min(len(gone), maxMissingShown)], ", ")
	if len(gone) > maxMissingShown {
		named += ", ..."
	}
	return fmt.Sprintf("%d of %d acknowledged elements are missing: %s", len(gone), len(seen), named)
}

// described is an operation as evidence of a loss.
func (m *storage) described(o history.Operation) string {
	what := fmt.Sprintf("%s %s was acknowledged", o.Op, verdict.Shorten(o.Input))
	switch s := m.sort(o.Op); {
	case s == look:
		what = fmt.Sprintf("%s returned %s", o.Op, returned(o))
	case s == take && m.verbs == nil:
		what = fmt.Sprintf("%s was acknowledged", o.Op)
	}
	return fmt.Sprintf("%s (event %d) client %s: %s at %s (event %d)", verdict.Seconds(o.CallTimeNs), o.Call, o.Client, what,
		verdict.Seconds(o.ReturnTimeNs), o.Return)
}

// missing finds an acknowledged element that is not there and that no client can have removed. What was put into a list
// several times must be there as often.
func missing(changes []history.Operation, items []string, sort func(string) verb, list bool) (*history.Operation, failure.Claim) {
	there := map[string]int{}
	for _, v := range items {
		there[v]++
	}
	removed := map[string]uint64{} // the latest return of a removal
	for _, o := range changes {
		if sort(o.Op) == take {
			removed[o.Input] = max(removed[o.Input], o.Return)
		}
	}
	times := map[string]int{} // put in so far, by element
	for i, o := range changes {
		if sort(o.Op) != put || o.Type != history.Ok {
			continue
		}
		times[o.Input]++
		if n := there[o.Input]; list && n > 0 && times[o.Input] > n {
			return &changes[i],
				tooFew.Cause().Claim("%s was acknowledged %d times and is there %d times at the end", verdict.Shorten(o.Input), times[o.Input], n)
		} else if n > 0 {
			continue
		}
		if at, ok := removed[o.Input]; !ok || at < o.Call {
			return &changes[i], gone.Cause().Claim("%s was acknowledged and is not there at the end", verdict.Shorten(o.Input))
		}
	}
	// What was removed for good and not put in again must not be there either.
	for i, o := range changes {
		if sort(o.Op) != take || o.Type != history.Ok || there[o.Input] == 0 {
			continue
		}
		if !slices.ContainsFunc(changes, func(p history.Operation) bool {
			return sort(p.Op) == put && p.Input == o.Input && (p.Return == history.Pending || p.Return > o.Call)
		}) {
			return &changes[i], returnedAgain.Cause().Claim("%s is there at the end, although its removal was acknowledged", verdict.Shorten(o.Input))
		}
	}
	return nil, failure.Claim{}
}

// unexplained finds the last acknowledged change of a key that is appended to, if no order of its changes makes what was read at the end.
func unexplained(changes []history.Operation, look history.Operation, b *linear.Budget) (*history.Operation, failure.Claim, error) {
	var none failure.Claim
	ops := make([]placed, 0, len(changes)+1)
	for i, o := range append(slices.Clone(changes), look) {
		p, err := place(&o, i == len(changes))
		if err != nil {
			return nil, none, err
		}
		ops = append(ops, p)
	}
	if reason := holdsList(look.Key, ops); reason != "" {
		return nil, none, errors.New(reason)
	}
	switch search(ops, b) {
	case linear.Undecided:
		return nil, none, fmt.Errorf("budget: could not decide the result of %d changes within %s", len(changes), b.Reached)
	case linear.Legal:
		return nil, none, nil
	}
	last := 0
	for i, o := range changes {
		if o.Type == history.Ok && (changes[last].Type != history.Ok || o.Call > changes[last].Call) {
			last = i
		}
	}
	return &changes[last], unmade.Cause().Claim("no order of its acknowledged changes produces %s, which a read at the end returned", returned(look)), nil
}

// replaced finds an acknowledged change after which a key cannot hold what was read at the end.
func replaced(changes []history.Operation, look history.Operation, sort func(string) verb) (*history.Operation, failure.Claim) {
	last := 0 // the acknowledged change that was called last
	for i, o := range changes {
		if o.Type == history.Ok && (changes[last].Type != history.Ok || o.Call > changes[last].Call) {
			last = i
		}
	}
	for _, o := range changes {
		same := sort(o.Op) == take && !look.Found || sort(o.Op) == put && look.Found && o.Input == look.Output
		if same && (o.Return == history.Pending || o.Return >= changes[last].Call) && o.Call < look.Return {
			return nil, failure.Claim{}
		}
	}
	asked := changes[last].Op
	if sort(asked) == put {
		asked += " " + verdict.Shorten(changes[last].Input)
	}
	c := overwritten
	if !look.Found && look.Output == "" {
		c = vanished
	}
	return &changes[last], c.Cause(changes[last].Op).Claim("%s was acknowledged, and a read at the end returned %s", asked, returned(look))
}

// returned spells the result of a read: nothing, or a value that may be empty.
func returned(look history.Operation) string {
	if !look.Found && look.Output == "" {
		return "nothing"
	}
	return verdict.Shorten(look.Output)
}
