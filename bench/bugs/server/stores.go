//go:build !pogreb && !badger4

package main

import (
	"errors"
	"log"

	"github.com/dgraph-io/badger"
	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/tidwall/buntdb"
	"go.etcd.io/bbolt"
)

var opens = map[string]func() (store, error){"badger": openBadger, "bbolt": openBbolt, "buntdb": openBuntdb, "goleveldb": openGoleveldb}

type badgerStore struct{ *badger.DB }

// openBadger opens a database with the defaults of its release, but for small tables and logs, as there is little data. Truncate is on, as the manual asks of
// those whose programs may be killed.
func openBadger() (store, error) {
	db, err := badger.Open(badger.DefaultOptions("/data").WithTruncate(true).WithMaxTableSize(1 << 20).WithValueLogFileSize(16 << 20))
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

type bboltStore struct{ *bbolt.DB }

var bucket = []byte("kv")

func openBbolt() (store, error) {
	db, err := bbolt.Open("/data/store.db", 0o644, nil)
	if err != nil {
		return nil, err
	}
	for { // until the bucket is there, no request is served
		err := db.Update(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucketIfNotExists(bucket)
			return err
		})
		if err == nil {
			return bboltStore{db}, nil
		}
		log.Print("no bucket yet: ", err)
	}
}

func (s bboltStore) get(key string) (value []byte, err error) {
	err = s.View(func(tx *bbolt.Tx) error {
		value = append(value, tx.Bucket(bucket).Get([]byte(key))...)
		return nil
	})
	return value, err
}

func (s bboltStore) put(key string, value []byte) error {
	return s.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucket).Put([]byte(key), value) })
}

type buntdbStore struct{ *buntdb.DB }

func openBuntdb() (store, error) {
	db, err := buntdb.Open("/data/store.db")
	if err != nil {
		return nil, err
	}
	var config buntdb.Config
	if err := db.ReadConfig(&config); err != nil {
		return nil, err
	}
	config.SyncPolicy = buntdb.Always
	return buntdbStore{db}, db.SetConfig(config)
}

func (s buntdbStore) get(key string) (value []byte, err error) {
	err = s.View(func(tx *buntdb.Tx) error {
		text, err := tx.Get(key)
		value = []byte(text)
		return err
	})
	if errors.Is(err, buntdb.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

func (s buntdbStore) put(key string, value []byte) error {
	return s.Update(func(tx *buntdb.Tx) error {
		_, _, err := tx.Set(key, string(value), nil)
		return err
	})
}

type goleveldbStore struct{ *leveldb.DB }

func openGoleveldb() (store, error) {
	db, err := leveldb.OpenFile("/data/store", nil)
	return goleveldbStore{db}, err
}

func (s goleveldbStore) get(key string) ([]byte, error) {
	value, err := s.Get([]byte(key), nil)
	if errors.Is(err, leveldb.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

func (s goleveldbStore) put(key string, value []byte) error {
	return s.Put([]byte(key), value, &opt.WriteOptions{Sync: true})
}
