package contract

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Database is a table of keys and values with transactions.
type Database interface {
	Begin(sql.IsolationLevel) (Tx, error)
}

// Tx is a transaction of a Database. After any call but Rollback has returned an error, the only valid call is
// Rollback.
type Tx interface {
	Get(key string) (value string, found bool, err error)
	Keys(prefix string) ([]string, error) // sorted
	Put(key, value string) error
	Delete(key string) error
	Commit() error
	Rollback() error
}

// anomaly is something that a weak level allows and a strong one forbids (Berenson et al., "A Critique of ANSI SQL Isolation Levels", 1995).
type anomaly struct {
	name string
	// from is the weakest level that forbids it.
	from sql.IsolationLevel
	// happens reports whether two transactions of a level have it. A call that fails counts as refused: that transaction does not commit.
	happens func(d Database, level sql.IsolationLevel) (bool, error)
}

var anomalies = []anomaly{
	{"a dirty read", sql.LevelReadCommitted, dirtyRead},
	{"an unrepeatable read", sql.LevelSnapshot, unrepeatable},
	{"a phantom", sql.LevelSnapshot, phantom},
	{"a lost update", sql.LevelSnapshot, lostUpdate},
	{"write skew", sql.LevelSerializable, writeSkew},
}

// Transactions returns the clauses of a Database that offers these levels: what a transaction guarantees, which
// anomalies each level excludes, and that the anomalies it allows do happen, because a fake that is too strict hides
// bugs. The levels are sql.LevelReadCommitted, sql.LevelSnapshot and sql.LevelSerializable; Transactions panics at
// others.
func Transactions(levels ...sql.IsolationLevel) (list []Clause[Database]) {
	if len(levels) == 0 {
		panic("contract: Transactions needs levels")
	}
	for _, level := range levels {
		if !slices.Contains([]sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelSnapshot, sql.LevelSerializable}, level) {
			panic(fmt.Sprintf("contract: no clauses for the level %s; there are %s, %s and %s", level, sql.LevelReadCommitted,
				sql.LevelSnapshot, sql.LevelSerializable))
		}
		add := func(name string, check func(d Database, level sql.IsolationLevel) error) {
			list = append(list, Clause[Database]{strings.ToLower(level.String()) + ": " + name, func(d Database) error { return check(d, level) }})
		}
		add("a commit is seen by later transactions", commits)
		add("a rollback leaves nothing", rollsBack)
		add("a transaction reads its own changes", ownChanges)
		add("an empty value is a value", emptyValues)
		add("keys are compared byte by byte", bytewise)
		for _, a := range anomalies {
			name, want := a.name+" does not happen", level < a.from
			if want {
				name = a.name + " happens, as the level allows"
			}
			add(name, func(d Database, level sql.IsolationLevel) error {
				switch happens, err := a.happens(d, level); {
				case err != nil:
					return err
				case happens && !want:
					return errors.New("it happens")
				case !happens && want:
					return errors.New("it does not happen: programs never see here what they may see in production")
				}
				return nil
			})
		}
	}
	return list
}

// run makes a transaction that is alone.
func run(d Database, level sql.IsolationLevel, do func(Tx) error) error {
	tx, err := d.Begin(level)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		tx.Rollback()
		return err
	}
	return tx.Commit()
}

// put sets keys to values, given in turn, in a transaction that is alone.
func put(d Database, level sql.IsolationLevel, pairs ...string) error {
	return run(d, level, func(tx Tx) error {
		for i := 0; i < len(pairs); i += 2 {
			if err := tx.Put(pairs[i], pairs[i+1]); err != nil {
				return err
			}
		}
		return nil
	})
}

// holds checks what a transaction reads of a key; "-" is that it does not exist.
func holds(tx Tx, key, want string) error {
	value, found, err := tx.Get(key)
	return valueIs(key, value, found, err, want)
}

func commits(d Database, level sql.IsolationLevel) error {
	if err := put(d, level, "a", "1", "b", "2"); err != nil {
		return err
	}
	if err := run(d, level, func(tx Tx) error { return errors.Join(tx.Put("a", "3"), tx.Delete("b")) }); err != nil {
		return err
	}
	return run(d, level, func(tx Tx) error {
		keys, err := tx.Keys("")
		if err == nil && !slices.Equal(keys, []string{"a"}) {
			err = fmt.Errorf("the keys are %q, not [a]", keys)
		}
		return errors.Join(err, holds(tx, "a", "3"), holds(tx, "b", "-"))
	})
}

func rollsBack(d Database, level sql.IsolationLevel) error {
	if err := put(d, level, "a", "1"); err != nil {
		return err
	}
	tx, err := d.Begin(level)
	if err != nil {
		return err
	}
	if err := errors.Join(tx.Put("a", "2"), tx.Put("b", "2"), tx.Rollback()); err != nil {
		return err
	}
	return run(d, level, func(tx Tx) error { return errors.Join(holds(tx, "a", "1"), holds(tx, "b", "-")) })
}

func ownChanges(d Database, level sql.IsolationLevel) error {
	if err := put(d, level, "a", "1"); err != nil {
		return err
	}
	return run(d, level, func(tx Tx) error {
		return errors.Join(tx.Put("b", "2"), holds(tx, "b", "2"), tx.Delete("a"), holds(tx, "a", "-"), tx.Put("a", "3"), holds(tx, "a", "3"))
	})
}

func emptyValues(d Database, level sql.IsolationLevel) error {
	if err := put(d, level, "a", ""); err != nil {
		return err
	}
	return run(d, level, func(tx Tx) error { return holds(tx, "a", "") })
}

func bytewise(d Database, level sql.IsolationLevel) error {
	if err := put(d, level, "a", "1", "A", "2", "a ", "3", "ä", "4", "%", "5", "%a", "6"); err != nil {
		return err
	}
	return run(d, level, func(tx Tx) error {
		keys, err := tx.Keys("a")
		if err == nil && !slices.Equal(keys, []string{"a", "a "}) {
			err = fmt.Errorf("the keys that begin with a are %q", keys)
		}
		odd, oddErr := tx.Keys("%")
		if oddErr == nil && !slices.Equal(odd, []string{"%", "%a"}) {
			oddErr = fmt.Errorf("the keys that begin with %% are %q", odd)
		}
		return errors.Join(err, oddErr, holds(tx, "a", "1"), holds(tx, "A", "2"), holds(tx, "a ", "3"), holds(tx, "ä", "4"))
	})
}

// two begins two transactions. Both are rolled back in the end, which does nothing to one that has ended.
func two(d Database, level sql.IsolationLevel, do func(a, b Tx) bool) (bool, error) {
	a, err := d.Begin(level)
	if err != nil {
		return false, err
	}
	defer a.Rollback()
	b, err := d.Begin(level)
	if err != nil {
		return false, err
	}
	defer b.Rollback()
	return do(a, b), nil
}

// reads reports whether a read succeeds and finds a value; "-" is none.
func reads(tx Tx, key, want string) bool { return holds(tx, key, want) == nil }

func dirtyRead(d Database, level sql.IsolationLevel) (bool, error) {
	if err := put(d, level, "a", "1"); err != nil {
		return false, err
	}
	return two(d, level, func(a, b Tx) bool { return a.Put("a", "2") == nil && reads(b, "a", "2") })
}

func unrepeatable(d Database, level sql.IsolationLevel) (bool, error) {
	if err := put(d, level, "a", "1"); err != nil {
		return false, err
	}
	return two(d, level, func(a, b Tx) bool {
		return reads(b, "a", "1") && a.Put("a", "2") == nil && a.Commit() == nil && reads(b, "a", "2")
	})
}

func phantom(d Database, level sql.IsolationLevel) (bool, error) {
	if err := put(d, level, "a1", "1"); err != nil {
		return false, err
	}
	return two(d, level, func(a, b Tx) bool {
		before, err := b.Keys("a")
		if err != nil || len(before) != 1 || a.Put("a2", "1") != nil || a.Commit() != nil {
			return false
		}
		after, err := b.Keys("a")
		return err == nil && len(after) != 1
	})
}

func lostUpdate(d Database, level sql.IsolationLevel) (bool, error) {
	if err := put(d, level, "a", "1"); err != nil {
		return false, err
	}
	return two(d, level, func(a, b Tx) bool {
		return reads(a, "a", "1") && reads(b, "a", "1") && a.Put("a", "2") == nil && a.Commit() == nil && b.Put("a", "2") == nil && b.Commit() == nil
	})
}

func writeSkew(d Database, level sql.IsolationLevel) (bool, error) {
	if err := put(d, level, "a", "1", "b", "1"); err != nil {
		return false, err
	}
	return two(d, level, func(a, b Tx) bool {
		return reads(a, "a", "1") && reads(a, "b", "1") && reads(b, "a", "1") && reads(b, "b", "1") &&
			a.Put("a", "0") == nil && b.Put("b", "0") == nil && a.Commit() == nil && b.Commit() == nil
	})
}
