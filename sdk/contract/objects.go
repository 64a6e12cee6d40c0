package contract

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Objects is a bucket of a store of objects, such as S3.
type Objects interface {
	Put(key string, body []byte) error
	Get(key string) (body []byte, found bool, err error)
	// Range returns the bytes from offset from up to, but not including, offset to.
	Range(key string, from, to int64) ([]byte, error)
	// Delete succeeds even if the object does not exist.
	Delete(key string) error
	// List returns the first n keys that have the prefix and sort after the key after, in byte order.
	List(prefix, after string, n int) ([]string, error)
}

// Buckets returns the clauses of an object store.
func Buckets() []Clause[Objects] {
	return []Clause[Objects]{
		{"a read returns the latest put, whole", func(o Objects) error {
			return errors.Join(o.Put("a", []byte("long text")), o.Put("a", []byte("short")), object(o, "a", "short"), object(o, "b", "-"))
		}},
		{"bodies are any bytes, and may be empty", func(o Objects) error {
			odd := "\x00\xff\r\n" + strings.Repeat("x", 1<<20)
			return errors.Join(o.Put("a", []byte(odd)), o.Put("b", nil), object(o, "a", odd), object(o, "b", ""))
		}},
		{"keys are text, with any characters", func(o Objects) error {
			var all []error
			odd := []string{"a/b/c", "a b", "a+b", "a%2Fb", "a?b", "a&b", "ä", "A", ".a", "a=b"} // not a: stores above a file system have no a beside a/b
			for _, key := range odd {
				all = append(all, o.Put(key, []byte(key)))
			}
			for _, key := range odd {
				all = append(all, object(o, key, key))
			}
			slices.Sort(odd)
			return errors.Join(append(all, keys(o, "", "", 100, odd...))...)
		}},
		{"a list has the keys of a prefix, in order", func(o Objects) error {
			return errors.Join(putAll(o, "b/2", "a", "b/10", "b/1", "c"), keys(o, "b/", "", 100, "b/1", "b/10", "b/2"),
				keys(o, "b/1", "", 100, "b/1", "b/10"), keys(o, "x", "", 100))
		}},
		{"a list goes on after a key", func(o Objects) error {
			var want []string
			for i := range 30 {
				want = append(want, fmt.Sprintf("k%02d", i))
			}
			if err := putAll(o, want...); err != nil {
				return err
			}
			var got []string
			after := ""
			for range 10 {
				list, err := o.List("k", after, 7)
				if err != nil || len(list) == 0 {
					return errors.Join(err, keysAre("k", got, want))
				}
				if len(list) > 7 {
					return fmt.Errorf("a list of at most 7 keys has %d", len(list))
				}
				got, after = append(got, list...), list[len(list)-1]
			}
			return errors.New("the list of 30 keys has no end: " + strconv.Itoa(len(got)))
		}},
		{"a deleted object is gone, and is deleted again without an error", func(o Objects) error {
			return errors.Join(putAll(o, "a", "b"), o.Delete("a"), o.Delete("a"), o.Delete("c"), object(o, "a", "-"), keys(o, "", "", 100, "b"))
		}},
		{"a range is a part", func(o Objects) error {
			if err := o.Put("a", []byte("0123456789")); err != nil {
				return err
			}
			for _, r := range [][2]int64{{0, 1}, {2, 5}, {9, 10}, {5, 100}} {
				got, err := o.Range("a", r[0], r[1])
				if want := "0123456789"[r[0]:min(r[1], 10)]; err != nil || string(got) != want {
					return fmt.Errorf("bytes %d to %d are %q, %v, not %q", r[0], r[1], got, err, want)
				}
			}
			return nil
		}},
	}
}

func putAll(o Objects, names ...string) error {
	for _, key := range names {
		if err := o.Put(key, []byte(key)); err != nil {
			return fmt.Errorf("put %q: %w", key, err)
		}
	}
	return nil
}

// object checks the body of an object; "-" is that there is none.
func object(o Objects, key, want string) error {
	body, found, err := o.Get(key)
	return valueIs(key, string(body), found, err, want)
}

func keys(o Objects, prefix, after string, n int, want ...string) error {
	got, err := o.List(prefix, after, n)
	if err != nil {
		return fmt.Errorf("list %q: %w", prefix, err)
	}
	return keysAre(prefix, got, want)
}
