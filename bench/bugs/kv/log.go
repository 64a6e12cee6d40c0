//go:build raftwal || raftsuffix || tidwal

package main

import (
	"encoding/json"
	"errors"
	"sync"
)

// entries is a log whose entries are numbered from 1 on. first and last are 0 while it is empty.
type entries interface {
	first() (uint64, error)
	last() (uint64, error)
	read(i uint64) ([]byte, error)
	write(i uint64, b []byte) error
	forget(first, before uint64) error // the entries before a number
	Close() error
}

// entry changes a key, or replaces all of them.
type entry struct {
	K    string
	V    *string
	Dump map[string]*string
}

// logStore is a map whose changes are the entries of a log. One in every dumpEvery writes, all keys are written, and the entries before are forgotten.
type logStore struct {
	sync.Mutex
	log  entries
	keys map[string]*string
	next uint64
}

// newLogStore reads a log from its first entry on.
func newLogStore(l entries) (store, error) {
	s := &logStore{log: l, keys: map[string]*string{}}
	first, err := l.first()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	last, err := l.last()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	for i := first; i != 0 && i <= last; i++ {
		b, err := l.read(i)
		if err == nil {
			err = s.apply(b)
		}
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	s.next = last + 1
	return s, nil
}

func (s *logStore) apply(b []byte) error {
	var e entry
	if err := json.Unmarshal(b, &e); err != nil {
		return err
	}
	if e.Dump != nil {
		s.keys = e.Dump
		return nil
	}
	s.keys[e.K] = e.V
	return nil
}

func (s *logStore) write(e entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := s.log.write(s.next, b); err != nil {
		return err
	}
	s.next++
	return s.apply(b)
}

func (s *logStore) get(key string) ([]byte, error) {
	s.Lock()
	defer s.Unlock()
	if v := s.keys[key]; v != nil {
		return []byte(*v), nil
	}
	return nil, nil
}

func (s *logStore) put(key string, value []byte) error {
	s.Lock()
	defer s.Unlock()
	text := string(value)
	if err := s.write(entry{K: key, V: &text}); err != nil {
		return err
	}
	if s.next%dumpEvery != 0 || s.write(entry{Dump: s.keys}) != nil {
		return nil // the write itself succeeded
	}
	if first, err := s.log.first(); err == nil {
		s.log.forget(first, s.next-1)
	}
	return nil
}

func (s *logStore) del(key string) error {
	s.Lock()
	defer s.Unlock()
	return s.write(entry{K: key})
}
