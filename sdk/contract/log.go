package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Log is a log to which entries are appended and that groups of consumers read, such as a topic of Kafka with one partition, or a stream of Redis.
type Log interface {
	Append(value string) error
	// Next returns up to n entries, oldest first, that no consumer of the group has received yet. Under AcksUpTo, a
	// consumer that takes over from another one starts with the first unacknowledged entry. Next does not wait for
	// entries.
	Next(group, consumer string, n int) ([]Entry, error)
	// Again returns up to n entries that the consumer has received but not acknowledged, as it would ask for after a
	// restart.
	Again(group, consumer string, n int) ([]Entry, error)
	// Acknowledge marks entries as processed. Only the consumer that received them calls it.
	Acknowledge(group string, entries ...Entry) error
}

// Entry is one entry of a Log. The log chooses its ID.
type Entry struct{ ID, Value string }

// Acks says how a log tracks the acknowledgements of a group.
type Acks uint8

const (
	// AcksUpTo keeps one position for each group: acknowledging an entry also acknowledges all entries before it, and
	// one consumer of the group reads at a time, as in a consumer group of Kafka with one partition
	// (https://kafka.apache.org/documentation/#intro_consumers).
	AcksUpTo Acks = iota
	// AcksEach tracks each entry separately: the consumers of a group share the entries, as in consumer groups of Redis
	// streams (https://redis.io/docs/latest/develop/data-types/streams/).
	AcksEach
)

// Logs returns the clauses of a Log: those that every log keeps, and those that depend on how it tracks
// acknowledgements.
func Logs(acks Acks) []Clause[Log] {
	all := []Clause[Log]{
		{"entries come in the order in which they were appended", func(l Log) error {
			return errors.Join(appends(l, "1", "2", "1", "3"), next(l, "g", "a", 10, "1", "2", "1", "3"))
		}},
		{"values are any bytes, and may be empty", func(l Log) error {
			odd := "\x00\xff\r\n" + strings.Repeat("x", 100_000)
			return errors.Join(appends(l, odd, ""), next(l, "g", "a", 10, odd, ""))
		}},
		{"no more entries come than the consumer requested", func(l Log) error {
			return errors.Join(appends(l, "1", "2", "3"), next(l, "g", "a", 2, "1", "2"), next(l, "g", "a", 2, "3"), next(l, "g", "a", 2))
		}},
		{"an entry that a consumer has acknowledged goes to no other consumer of its group", func(l Log) error {
			return errors.Join(appends(l, "1", "2", "3"), done(l, "g", "a", 1, "1"), done(l, "g", "b", 1, "2"),
				done(l, "g", "a", 10, "3"), next(l, "g", "b", 10))
		}},
		{"each group gets all entries", func(l Log) error {
			return errors.Join(appends(l, "1"), next(l, "g", "a", 10, "1"), appends(l, "2"), done(l, "h", "a", 10, "1", "2"), next(l, "g", "a", 10, "2"))
		}},
		{"what is not acknowledged comes again", func(l Log) error {
			return errors.Join(appends(l, "1", "2", "3"), next(l, "g", "a", 2, "1", "2"), again(l, "g", "a", "1", "2"),
				again(l, "g", "a", "1", "2"), next(l, "g", "a", 10, "3"), again(l, "g", "a", "1", "2", "3"))
		}},
		{"an acknowledged entry does not come again", func(l Log) error {
			return acknowledged(l, []int{0, 1}, "3")
		}},
		{"IDs differ", func(l Log) error {
			if err := appends(l, "1", "1", "1"); err != nil {
				return err
			}
			got, err := l.Next("g", "a", 10)
			if err == nil && (len(got) != 3 || got[0].ID == got[1].ID || got[1].ID == got[2].ID || got[0].ID == got[2].ID) {
				err = fmt.Errorf("the entries are %q", got)
			}
			return err
		}},
	}
	switch acks {
	case AcksUpTo:
		return append(all,
			Clause[Log]{"an acknowledgement covers the entries before it", func(l Log) error {
				return acknowledged(l, []int{1}, "3")
			}},
			Clause[Log]{"a consumer that takes over gets what is not acknowledged", func(l Log) error {
				return errors.Join(appends(l, "1", "2", "3"), done(l, "g", "a", 1, "1"), next(l, "g", "a", 1, "2"), next(l, "g", "b", 10, "2", "3"))
			}})
	case AcksEach:
		return append(all,
			Clause[Log]{"an acknowledgement covers its entry alone", func(l Log) error {
				return acknowledged(l, []int{0, 2, 0}, "2")
			}},
			Clause[Log]{"an entry goes to one consumer of a group", func(l Log) error {
				return errors.Join(appends(l, "1", "2", "3"), next(l, "g", "a", 1, "1"), next(l, "g", "b", 1, "2"),
					next(l, "g", "a", 10, "3"), next(l, "g", "b", 10),
					again(l, "g", "a", "1", "3"), again(l, "g", "b", "2"))
			}})
	}
	panic(fmt.Sprintf("contract: no clauses for Acks(%d); there are AcksUpTo and AcksEach", acks))
}

func appends(l Log, values ...string) error {
	for _, v := range values {
		if err := l.Append(v); err != nil {
			return fmt.Errorf("append: %w", err)
		}
	}
	return nil
}

func next(l Log, group, consumer string, n int, want ...string) error {
	got, err := l.Next(group, consumer, n)
	return same("the next entries", group, consumer, got, err, want)
}

func again(l Log, group, consumer string, want ...string) error {
	got, err := l.Again(group, consumer, 10)
	return same("the entries that are not acknowledged", group, consumer, got, err, want)
}

// done has a consumer get entries and acknowledge them.
func done(l Log, group, consumer string, n int, want ...string) error {
	got, err := l.Next(group, consumer, n)
	if err := same("the next entries", group, consumer, got, err, want); err != nil {
		return err
	}
	return l.Acknowledge(group, got...)
}

// acknowledged has a consumer get three entries and acknowledge some, one by one; left are those that come again.
func acknowledged(l Log, some []int, left ...string) error {
	if err := appends(l, "1", "2", "3"); err != nil {
		return err
	}
	got, err := l.Next("g", "a", 10)
	if err := same("the next entries", "g", "a", got, err, []string{"1", "2", "3"}); err != nil {
		return err
	}
	for _, i := range some {
		if err := l.Acknowledge("g", got[i]); err != nil {
			return fmt.Errorf("acknowledge: %w", err)
		}
	}
	return errors.Join(again(l, "g", "a", left...), next(l, "g", "a", 10), again(l, "g", "a", left...))
}

func same(what, group, consumer string, got []Entry, err error, want []string) error {
	var values []string
	for _, e := range got {
		values = append(values, e.Value)
	}
	if err == nil && !slices.Equal(values, want) {
		err = fmt.Errorf("they are %.60q, not %.60q", values, want)
	}
	if err != nil {
		err = fmt.Errorf("%s of consumer %s of group %s: %w", what, consumer, group, err)
	}
	return err
}
