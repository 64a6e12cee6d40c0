package histories

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bloodhound-dst/bloodhound/internal/check/verdict"

	"github.com/bloodhound-dst/bloodhound/history"
	"github.com/bloodhound-dst/bloodhound/internal/values"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Typed judges as Operations does, and by operations whose values are spelt with their types, as package formats reads them from EDN. Only what
// joins values must know that: a register that texts are appended to.
func Typed(p *world.Property, ops []history.Operation) verdict.Verdict {
	joins := slices.Contains(p.Check.Type.Kind().Models, "register") && isRegister(p.Check.Model)
	if joins && slices.ContainsFunc(ops, func(o history.Operation) bool { return kindOf(o.Op) == grow }) {
		var reason string
		if ops, reason = joinable(ops); reason != "" {
			return verdict.Undecided(p, "%s", reason)
		}
	}
	return Operations(p, ops)
}

// joinable gives the keys that are appended to their texts without quotes, so that they can be joined. A key of other values has no register that
// appends; one of lists is left to the check, which names their model.
func joinable(ops []history.Operation) ([]history.Operation, string) {
	grows, lists, other := map[string]bool{}, map[string]bool{}, map[string]string{}
	for i := range ops {
		o := &ops[i]
		grows[o.Key] = grows[o.Key] || kindOf(o.Op) == grow
		for _, v := range valuesOf(o) {
			if _, ok := values.AsText(*v); !ok {
				other[o.Key] = *v
			}
		}
		lists[o.Key] = lists[o.Key] || o.Type == history.Ok && strings.HasPrefix(o.Output, "[")
	}
	for _, key := range slices.Sorted(maps.Keys(other)) {
		if grows[key] && !lists[key] {
			return nil, fmt.Sprintf("key %q is appended to, but its value %s is not text; registers join texts, so use `model: append-list` for lists",
				key, verdict.Shorten(other[key]))
		}
	}
	ops = slices.Clone(ops)
	for i := range ops {
		if o := &ops[i]; grows[o.Key] && !lists[o.Key] {
			for _, v := range valuesOf(o) {
				*v, _ = values.AsText(*v)
			}
		}
	}
	return ops, ""
}

// valuesOf are the values of its key that an operation names.
func valuesOf(o *history.Operation) (list []*string) {
	switch kindOf(o.Op) {
	case read:
		if o.Type == history.Ok && o.Found {
			list = append(list, &o.Output)
		}
	case write, grow:
		if !o.NoInput {
			list = append(list, &o.Input)
		}
	case cas:
		if !o.NoInput {
			list = append(list, &o.Input)
		}
		if !o.NoExpect {
			list = append(list, &o.Expect)
		}
	}
	return list
}
