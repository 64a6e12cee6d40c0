package source

import (
	"slices"
)

// Merge replaces keys of a node by those of another description of the same thing; the entries of mappings, and environments,
// are merged.
func Merge(base, over *Node) *Node {
	merged := &Node{Position: over.Position, Kind: Mapping}
	for _, e := range base.Entries {
		switch o := over.Entry(e.Name); {
		case o != nil && e.Implied:
			merged.Entries = append(merged.Entries, o)
		case o != nil:
			merged.Entries = append(merged.Entries, &Entry{Key: o.Key, Name: o.Name, Value: mergeValues(e.Value, o.Value)})
		default:
			merged.Entries = append(merged.Entries, e)
		}
	}
	for _, o := range over.Entries {
		if !base.Has(o.Name) {
			merged.Entries = append(merged.Entries, o)
		}
	}
	return merged
}

func mergeValues(base, over *Node) *Node {
	if a, ok := base.Value.([]Variable); ok && !base.Bad && !over.Bad {
		if b, ok := over.Value.([]Variable); ok {
			return &Node{Position: over.Position, Kind: over.Kind, Value: append(slices.Clone(a), b...)}
		}
	}
	if base.Kind == Mapping && over.Kind == Mapping && !base.Bad && !over.Bad {
		return Merge(base, over)
	}
	return over
}
