package report

import (
	"cmp"
	"slices"
)

// nearest keeps, of a long row of items, those of the smallest distance, in bounded memory.
type nearest[T any] struct {
	limit int
	items []placed[T]
	left  int
}

type placed[T any] struct {
	item     T
	order    uint64
	distance int64
}

// add takes an item; order is its place in the row.
func (n *nearest[T]) add(item T, order uint64, distance int64) {
	n.items = append(n.items, placed[T]{item, order, distance})
	if len(n.items) >= 2*n.limit {
		n.trim()
	}
}

func (n *nearest[T]) trim() {
	if len(n.items) <= n.limit {
		return
	}
	slices.SortStableFunc(n.items, func(x, y placed[T]) int {
		return cmp.Or(cmp.Compare(x.distance, y.distance), cmp.Compare(x.order, y.order))
	})
	n.left += len(n.items) - n.limit
	n.items = n.items[:n.limit]
}

// list returns what was kept, in order, and how many items were not.
func (n *nearest[T]) list() (kept []T, left int) {
	n.trim()
	slices.SortStableFunc(n.items, func(x, y placed[T]) int { return cmp.Compare(x.order, y.order) })
	for _, p := range n.items {
		kept = append(kept, p.item)
	}
	return kept, n.left
}
