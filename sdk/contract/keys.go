package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// KeyValues is a store of keys and values, such as Redis.
type KeyValues interface {
	Get(key string) (value string, found bool, err error)
	// Keys returns the keys with a prefix, in any order.
	Keys(prefix string) ([]string, error)
	Put(key, value string) error
	// PutFor puts a value that expires after ttl.
	PutFor(key, value string, ttl time.Duration) error
	// Delete removes a key and reports whether it existed.
	Delete(key string) (bool, error)
	// Swap puts value if the key holds old, and reports whether it did. A nil old stands for a missing key.
	Swap(key string, old *string, value string) (bool, error)
	// Sleep lets time pass for the store.
	Sleep(time.Duration)
}

// shortly is how long keys live that are to expire, and late when they must have.
const shortly, late = 50 * time.Millisecond, 500 * time.Millisecond

// Keys returns the clauses of a store of keys and values.
func Keys() []Clause[KeyValues] {
	return []Clause[KeyValues]{
		{"the last value put is read", func(s KeyValues) error {
			return errors.Join(s.Put("a", "1"), s.Put("a", "2"), stored(s, "a", "2"), stored(s, "b", "-"))
		}},
		{"values are any bytes, and may be empty", func(s KeyValues) error {
			odd := "\x00\xff\r\n" + strings.Repeat("x", 100_000)
			return errors.Join(s.Put("a", odd), s.Put("b", ""), stored(s, "a", odd), stored(s, "b", ""))
		}},
		{"keys are compared byte by byte", func(s KeyValues) error {
			var all []error
			odd := []string{"a", "A", "a ", "ä", "a*", "a?", "[a]", `a\`}
			for _, key := range odd {
				all = append(all, s.Put(key, key))
			}
			for _, key := range odd {
				all = append(all, stored(s, key, key))
			}
			return errors.Join(all...)
		}},
		{"a prefix is text, and no pattern", func(s KeyValues) error {
			return errors.Join(s.Put("a*1", "1"), s.Put("ab1", "1"), s.Put("[a]", "1"), s.Put(`a\1`, "1"),
				listed(s, "a*", "a*1"), listed(s, "[a]", "[a]"), listed(s, `a\`, `a\1`), listed(s, "b"))
		}},
		{"a deletion reports whether the key was there", func(s KeyValues) error {
			if err := s.Put("a", "1"); err != nil {
				return err
			}
			first, err := s.Delete("a")
			second, err2 := s.Delete("a")
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			if !first || second {
				return fmt.Errorf("the first deletion reports %v, the second %v", first, second)
			}
			return errors.Join(stored(s, "a", "-"), listed(s, "a"))
		}},
		{"a swap needs the old value", func(s KeyValues) error {
			one, two, none := "1", "2", ""
			return errors.Join(
				swaps(s, "a", &one, "2", false), stored(s, "a", "-"),
				swaps(s, "a", &none, "2", false), stored(s, "a", "-"),
				swaps(s, "a", nil, "1", true), stored(s, "a", "1"),
				swaps(s, "a", nil, "3", false), stored(s, "a", "1"),
				swaps(s, "a", &two, "3", false), stored(s, "a", "1"),
				swaps(s, "a", &one, "3", true), stored(s, "a", "3"),
				swaps(s, "a", &one, "4", false), stored(s, "a", "3"))
		}},
		{"a key expires, and not before its time", func(s KeyValues) error {
			if err := errors.Join(s.PutFor("a", "1", shortly), s.PutFor("b", "1", time.Hour), stored(s, "b", "1")); err != nil {
				return err
			}
			s.Sleep(late)
			one := "1"
			deleted, err := s.Delete("a")
			if deleted {
				return errors.New("a key that has expired was deleted")
			}
			return errors.Join(err, stored(s, "a", "-"), stored(s, "b", "1"), listed(s, "a"), swaps(s, "a", &one, "2", false), swaps(s, "a", nil, "2", true))
		}},
		{"a value put without a time stays", func(s KeyValues) error {
			if err := errors.Join(s.PutFor("a", "1", shortly), s.Put("a", "2")); err != nil {
				return err
			}
			s.Sleep(late)
			return stored(s, "a", "2")
		}},
		{"a deletion ends the time of a key", func(s KeyValues) error {
			if err := s.PutFor("a", "1", shortly); err != nil {
				return err
			}
			if _, err := s.Delete("a"); err != nil {
				return err
			}
			if err := swaps(s, "a", nil, "2", true); err != nil {
				return err
			}
			s.Sleep(late)
			return stored(s, "a", "2")
		}},
	}
}

// stored checks the value of a key; "-" is that it does not exist.
func stored(s KeyValues, key, want string) error {
	value, found, err := s.Get(key)
	return valueIs(key, value, found, err, want)
}

// valueIs checks what a read of a key gave; "-" is that the key does not exist.
func valueIs(key, value string, found bool, err error, want string) error {
	if err != nil {
		return fmt.Errorf("get %q: %w", key, err)
	}
	if !found {
		value = "-"
	}
	if value != want {
		return fmt.Errorf("key %q is %.40q, not %.40q", key, value, want)
	}
	return nil
}

func listed(s KeyValues, prefix string, want ...string) error {
	keys, err := s.Keys(prefix)
	if err != nil {
		return fmt.Errorf("keys %q: %w", prefix, err)
	}
	slices.Sort(keys)
	return keysAre(prefix, keys, want)
}

func keysAre(prefix string, got, want []string) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("the keys that begin with %q are %q, not %q", prefix, got, want)
	}
	return nil
}

func swaps(s KeyValues, key string, old *string, value string, want bool) error {
	got, err := s.Swap(key, old, value)
	if err != nil {
		return fmt.Errorf("swap %q: %w", key, err)
	}
	if got != want {
		shown := "no key"
		if old != nil {
			shown = fmt.Sprintf("%q", *old)
		}
		return fmt.Errorf("a swap of %q from %s reports %v, not %v", key, shown, got, want)
	}
	return nil
}
