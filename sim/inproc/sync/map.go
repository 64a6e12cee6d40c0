package sync

import (
	"slices"
	std "sync"

	"github.com/bloodhound-dst/bloodhound/internal/engine/inprocess/points"
)

// Map is sync.Map. It ranges over keys in the order in which they were added.
type Map struct {
	mu    std.Mutex
	of    map[any]*entry
	order []*entry
}

type entry struct {
	key, value any
	gone       bool
}

// withEntry changes or reads the entry of a key, which is nil if there is none. It is one step.
func (m *Map) withEntry(key any, f func(e *entry)) {
	points.Switch()
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.of[key])
}

func (m *Map) add(key, value any) {
	if m.of == nil {
		m.of = map[any]*entry{}
	}
	e := &entry{key: key, value: value}
	m.of[key] = e
	m.order = append(m.order, e)
}

func (m *Map) remove(e *entry) {
	e.gone = true
	delete(m.of, e.key)
	if i := slices.Index(m.order, e); i >= 0 {
		m.order = slices.Delete(slices.Clone(m.order), i, i+1) // a Range may be under way
	}
}

// Load returns the value of a key.
func (m *Map) Load(key any) (value any, ok bool) {
	m.withEntry(key, func(e *entry) {
		if e != nil {
			value, ok = e.value, true
		}
	})
	return value, ok
}

// Store sets the value of a key.
func (m *Map) Store(key, value any) { m.Swap(key, value) }

// Swap sets the value of a key, and returns the one before.
func (m *Map) Swap(key, value any) (previous any, loaded bool) {
	m.withEntry(key, func(e *entry) {
		if e == nil {
			m.add(key, value)
			return
		}
		previous, loaded, e.value = e.value, true, value
	})
	return previous, loaded
}

// LoadOrStore returns the value of a key, which it sets if there is none.
func (m *Map) LoadOrStore(key, value any) (actual any, loaded bool) {
	actual = value
	m.withEntry(key, func(e *entry) {
		if e == nil {
			m.add(key, value)
			return
		}
		actual, loaded = e.value, true
	})
	return actual, loaded
}

// LoadAndDelete deletes a key, and returns its value.
func (m *Map) LoadAndDelete(key any) (value any, loaded bool) {
	m.withEntry(key, func(e *entry) {
		if e != nil {
			value, loaded = e.value, true
			m.remove(e)
		}
	})
	return value, loaded
}

// Delete deletes a key.
func (m *Map) Delete(key any) { m.LoadAndDelete(key) }

// CompareAndSwap sets the value of a key that has the value old.
func (m *Map) CompareAndSwap(key, old, new any) (swapped bool) {
	m.withEntry(key, func(e *entry) {
		if e != nil && e.value == old {
			e.value, swapped = new, true
		}
	})
	return swapped
}

// CompareAndDelete deletes a key that has the value old.
func (m *Map) CompareAndDelete(key, old any) (deleted bool) {
	m.withEntry(key, func(e *entry) {
		if e != nil && e.value == old {
			m.remove(e)
			deleted = true
		}
	})
	return deleted
}

// Clear deletes all keys.
func (m *Map) Clear() {
	points.Switch()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.order {
		e.gone = true
	}
	m.of, m.order = nil, nil
}

// Range calls f for each key that existed when it started and has not been deleted meanwhile, until f returns false.
func (m *Map) Range(f func(key, value any) bool) {
	points.Switch()
	m.mu.Lock()
	list := m.order[:len(m.order):len(m.order)]
	m.mu.Unlock()
	for _, e := range list {
		m.mu.Lock()
		value, gone := e.value, e.gone
		m.mu.Unlock()
		if !gone && !f(e.key, value) {
			return
		}
	}
}
