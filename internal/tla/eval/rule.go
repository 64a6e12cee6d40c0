package eval

import (
	"github.com/bloodhound-dst/bloodhound/internal/tla/library"
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// rule is a function by its rule: one that uses itself, or one with a large domain. It keeps the values that were computed.
type rule struct {
	domain value.Value
	of     func(value.Value) value.Value
	known  map[uint64][]pair
	whole  value.Value
}

type pair struct{ argument, value value.Value }

func (r *rule) Of(x value.Value) value.Value {
	key := x.Fingerprint()
	for _, p := range r.known[key] {
		if value.Equal(p.argument, x) {
			return p.value
		}
	}
	v := library.Settled(r.of(x))
	if r.known == nil {
		r.known = map[uint64][]pair{}
	}
	r.known[key] = append(r.known[key], pair{x, v})
	return v
}

func (r *rule) Arguments() value.Value { return r.domain }

func (r *rule) Spelled() value.Value {
	if r.whole == nil {
		domain := value.Explicit(r.domain)
		values := make([]value.Value, len(domain.Items))
		for i, x := range domain.Items {
			values[i] = r.Of(x)
		}
		r.whole = value.NewFunction(domain, values)
	}
	return r.whole
}

func (r *rule) Fingerprint() uint64 { return r.Spelled().Fingerprint() }

func (r *rule) String() string {
	if value.Size(r.domain) > 1000 {
		return "[x \\in " + r.domain.String() + " |-> ...]"
	}
	return r.Spelled().String()
}
