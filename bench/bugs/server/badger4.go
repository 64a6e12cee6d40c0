//go:build badger4

package main

import (
	"errors"

	"github.com/dgraph-io/badger/v4"
)

var opens = map[string]func() (store, error){"badger4": openBadger4}

type badger4Store struct{ *badger.DB }

// openBadger4 opens a database with the defaults of its release, but for small tables and logs, as there is little
// data.
func openBadger4() (store, error) {
	options := badger.DefaultOptions("/data").WithMemTableSize(1 << 20).WithValueLogFileSize(2 << 20).WithNumCompactors(2)
	db, err := badger.Open(options.WithValueThreshold(1 << 10).WithBlockCacheSize(1 << 20).WithLogger(nil))
	return badger4Store{db}, err
}

func (s badger4Store) get(key string) (value []byte, err error) {
	err = s.View(func(tx *badger.Txn) error {
		item, err := tx.Get([]byte(key))
		if err == nil {
			value, err = item.ValueCopy([]byte{})
		}
		return err
	})
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, nil
	}
	return value, err
}

// put commits and then calls Sync, which promises that what was committed is on the disk.
func (s badger4Store) put(key string, value []byte) error {
	if err := s.Update(func(tx *badger.Txn) error { return tx.Set([]byte(key), value) }); err != nil {
		return err
	}
	return s.Sync()
}
