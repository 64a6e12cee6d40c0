//go:build badger4

package main

import (
	"errors"

	"github.com/dgraph-io/badger/v4"
)

type badgerStore struct{ *badger.DB }

// open opens a database that synchronises its writes, with small tables and logs, as there is little data.
func open() (store, error) {
	o := badger.DefaultOptions("/data").WithSyncWrites(true).WithMemTableSize(256 << 10).WithValueLogFileSize(1 << 20).WithValueThreshold(1 << 10).
		WithNumCompactors(2).WithNumMemtables(2).WithBaseTableSize(128 << 10).WithBaseLevelSize(512 << 10)
	db, err := badger.Open(o)
	return badgerStore{db}, err
}

func (s badgerStore) get(key string) (value []byte, err error) {
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

func (s badgerStore) put(key string, value []byte) error {
	return s.Update(func(tx *badger.Txn) error { return tx.Set([]byte(key), value) })
}

func (s badgerStore) del(key string) error {
	return s.Update(func(tx *badger.Txn) error { return tx.Delete([]byte(key)) })
}
