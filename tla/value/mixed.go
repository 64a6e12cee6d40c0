package value

import (
	"slices"
	"strings"
)

// mixed is a set of members in the order of the text, some of which cannot be compared. As in TLC, whether it has a value is decided by the first member that
// is equal to that, and only what needs all members in order fails.
type mixed struct {
	members []Value
	cell
}

// Enumerated makes the set of some members. It keeps items. members computes them again if some of them cannot be
// compared; that fails where all are needed in order.
func Enumerated(items []Value, members func() []Value) Value {
	if len(items) < 2 {
		return NewSet(items)
	}
	if set := comparable(items); set != nil {
		return set
	}
	return &mixed{members: members()}
}

// comparable is the set of some items; nil if they cannot be compared. It may change their order.
func comparable(items []Value) (set *Set) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			if set = nil; !r.incomparable {
				panic(r)
			}
		default:
			panic(r)
		}
	}()
	return NewSet(items)
}

func (s *mixed) Kind() string { return "set" }

// Contains compares a value with the members until one is equal.
func (s *mixed) Contains(v Value) bool {
	for _, member := range s.members {
		if Equal(member, v) {
			return true
		}
	}
	return false
}

// Each fails, since it goes through members in order.
func (s *mixed) Each(f func(Value) bool) bool { return Each(NewSet(slices.Clone(s.members)), f) }

// filter is the set of the members that pass, in the order of the text.
func (s *mixed) filter(pass func(Value) bool) Value {
	list := func() (list []Value) {
		for _, v := range s.members {
			if pass(v) {
				list = append(list, v)
			}
		}
		return list
	}
	return Enumerated(list(), list)
}

// Size counts the members as they stand in the text.
func (s *mixed) Size() int64 { return int64(len(s.members)) }

// Same reports false: which members are equal is not known.
func (s *mixed) Same(Lazy) bool { return false }

func (s *mixed) width() int64 { return 1 }

func (s *mixed) explicit() *cell { return &s.cell }

// Fingerprint fails.
func (s *mixed) Fingerprint() uint64 { return Explicit(s).Fingerprint() }

func (s *mixed) String() string {
	list := make([]string, len(s.members))
	for i, v := range s.members {
		list[i] = v.String()
	}
	return "{" + strings.Join(list, ", ") + "}"
}
