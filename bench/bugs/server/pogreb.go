//go:build pogreb

package main

import "github.com/akrylysov/pogreb"

var opens = map[string]func() (store, error){"pogreb": openPogreb}

type pogrebStore struct{ *pogreb.DB }

func openPogreb() (store, error) {
	db, err := pogreb.Open("/data/store", &pogreb.Options{BackgroundSyncInterval: -1}) // each write is synchronised
	return pogrebStore{db}, err
}

func (s pogrebStore) get(key string) ([]byte, error) { return s.Get([]byte(key)) }

func (s pogrebStore) put(key string, value []byte) error { return s.Put([]byte(key), value) }
