package load

import (
	"fmt"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/config/source"
	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// Allowances reads ways in which programs may end by themselves: one, or a list.
func (l *State) Allowances(n *source.Node, key string) (list []world.Allowance) {
	if n == nil || n.Bad {
		return nil
	}
	items, named := []*source.Node{n}, func(int) string { return key }
	if n.Kind == source.List {
		items, named = n.Items, func(i int) string { return fmt.Sprintf("%s[%d]", key, i) }
	}
	for i, item := range items {
		if refused(item) {
			continue
		}
		a := world.Allowance{Panic: patternOf(item)}
		for _, kind := range item.Get("while").Words() {
			a.While = append(a.While, world.FaultKind(kind))
		}
		for _, code := range item.Get("exit").Scalars() {
			a.Exit = append(a.Exit, int(source.ValueOr(code, int64(0))))
		}
		if why, remedy := a.Wrong(); why != "" {
			l.Fail(item.Position, remedy, "%s %s", named(i), why)
			continue
		}
		list = append(list, a)
	}
	return list
}

// refused reports whether a value of an allowance is wrong, which was reported.
func refused(n *source.Node) bool {
	bad := func(n *source.Node) bool { return n == nil || n.Bad }
	return n.Bad || slices.ContainsFunc(n.EntriesOf(), func(e *source.Entry) bool {
		return bad(e.Value) || slices.ContainsFunc(e.Value.Items, bad)
	})
}

// patternOf is the text of the regular expression of an allowance.
func patternOf(n *source.Node) string {
	if e := n.Get("panic"); e != nil {
		return e.Text
	}
	return ""
}
