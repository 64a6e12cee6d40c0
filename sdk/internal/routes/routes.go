// Package routes finds what stands for a request, by the patterns of http.ServeMux.
package routes

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// Table has what stands for requests, by pattern. The zero Table is empty.
type Table[T any] struct {
	mux *http.ServeMux // only finds patterns
	at  map[string]*T
}

// Add lets at stand for the requests of a pattern. The error says what is wrong with the pattern, and the remedy.
func (t *Table[T]) Add(pattern string, at *T) error {
	if t.mux == nil {
		t.mux, t.at = http.NewServeMux(), map[string]*T{}
	}
	if pattern == "" {
		return fmt.Errorf(`the Pattern is missing: write one as for http.ServeMux, such as "POST /charges/{order}"`)
	}
	if wrong := register(t.mux, pattern); wrong != nil {
		for _, other := range slices.Sorted(maps.Keys(t.at)) {
			pair := http.NewServeMux()
			register(pair, other)
			if register(pair, pattern) == nil || register(http.NewServeMux(), pattern) != nil {
				continue
			}
			if other == pattern {
				return fmt.Errorf("the pattern %q is there twice: remove one", pattern)
			}
			return fmt.Errorf("the pattern %q and %q, which was there before, have requests in common, and neither is more specific: change one",
				pattern, other)
		}
		return fmt.Errorf(`the pattern %q is not valid for http.ServeMux (%v): write one such as "POST /charges/{order}"`, pattern, wrong)
	}
	t.at[pattern] = at
	return nil
}

// register has mux know a pattern, or returns why it cannot be: http.ServeMux panics.
func register(mux *http.ServeMux, pattern string) (wrong any) {
	defer func() { wrong = recover() }()
	mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	return nil
}

// Lookup returns the entry for a request by the most specific pattern, or nil.
func (t *Table[T]) Lookup(r *http.Request) *T {
	if t.mux == nil {
		return nil
	}
	_, pattern := t.mux.Handler(r)
	return t.at[pattern]
}
