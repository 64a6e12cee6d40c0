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
	// Next gives up to n entries that no consumer of the group has got, from the beginning of the log on. It does not wait for some.
	Next(group, consumer string, n int) ([]Entry, error)
	// Again gives up to n entries that the consumer has got and not acknowledged, as after its restart.
	Again(group, consumer string, n int) ([]Entry, error)
	Acknowledge(group string, entries ...Entry) error
}

// Entry is one of a Log. Its ID is the log's own.
type Entry struct{ ID, Value string }

// Logs are the clauses of a Log.
func Logs() []Clause[Log] {
	return []Clause[Log]{
		{"entries come in the order in which they were appended", func(l Log) error {
			return errors.Join(appends(l, "1", "2", "1", "3"), next(l, "g", "a", 10, "1", "2", "1", "3"))
		}},
		{"values are any bytes, and may be empty", func(l Log) error {
			odd := "\x00\xff\r\n" + strings.Repeat("x", 100_000)
			return errors.Join(appends(l, odd, ""), next(l, "g", "a", 10, odd, ""))
		}},
		{"no more entries come than were asked for", func(l Log) error {
			return errors.Join(appends(l, "1", "2", "3"), next(l, "g", "a", 2, "1", "2"), next(l, "g", "a", 2, "3"), next(l, "g", "a", 2))
		}},
		{"an entry goes to one consumer of a group", func(l Log) error {
			return errors.Join(appends(l, "1", "2", "3"), next(l, "g", "a", 1, "1"), next(l, "g", "b", 1, "2"), next(l, "g", "a", 10, "3"), next(l, "g", "b", 10))
		}},
		{"each group gets all entries", func(l Log) error {
			return errors.Join(appends(l, "1"), next(l, "g", "a", 10, "1"), appends(l, "2"), next(l, "h", "a", 10, "1", "2"), next(l, "g", "a", 10, "2"))
		}},
		{"what is not acknowledged comes again", func(l Log) error {
			return errors.Join(appends(l, "1", "2"), next(l, "g", "a", 1, "1"), next(l, "g", "b", 1, "2"), again(l, "g", "a", "1"), again(l, "g", "a", "1"), again(l, "g", "b", "2"))
		}},
		{"what is acknowledged does not come again", func(l Log) error {
			if err := appends(l, "1", "2", "3"); err != nil {
				return err
			}
			got, err := l.Next("g", "a", 10)
			if err != nil || len(got) != 3 {
				return fmt.Errorf("%d entries, not 3: %w", len(got), err)
			}
			return errors.Join(l.Acknowledge("g", got[0], got[2]), again(l, "g", "a", "2"), next(l, "g", "a", 10), l.Acknowledge("g", got[0]), again(l, "g", "a", "2"))
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
