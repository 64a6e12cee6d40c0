// Command server answers GET, PUT and DELETE of /kv/KEY from a log of github.com/hashicorp/raft-wal, as a state machine of Raft would: each change
// is an entry, synchronised before its client gets an answer, and a start applies all of them. Now and then an entry holds the whole state, and
// the log before it is deleted.
package main

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

// segmentBytes is small, so that a run seals many segments.
const segmentBytes = 16 << 10

// dumpEvery is after how many entries the whole state is written.
const dumpEvery = 97

// entry is a change of a key, which is deleted if it has no value, or the whole state.
type entry struct {
	Key   string
	Value *string
	Whole map[string]*string
}

// store is the state machine.
type store struct {
	mu    sync.Mutex
	log   *wal.WAL
	state map[string]*string
	next  uint64 // the index of the next entry
}

func main() {
	if err := os.MkdirAll("/data", 0o755); err != nil {
		log.Fatal(err)
	}
	s, err := open()
	for ; err != nil; s, err = open() {
		log.Print("the log does not open: ", err)
		time.Sleep(200 * time.Millisecond)
	}
	http.HandleFunc("GET /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if v := s.state[r.PathValue("key")]; v != nil {
			io.WriteString(w, *v)
			return
		}
		http.NotFound(w, r)
	})
	http.HandleFunc("PUT /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		value, err := io.ReadAll(r.Body)
		text := string(value)
		if err == nil {
			err = s.change(entry{Key: r.PathValue("key"), Value: &text})
		}
		answer(w, err)
	})
	http.HandleFunc("DELETE /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, s.change(entry{Key: r.PathValue("key")}))
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		log.Print("a change failed: ", err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// open opens the log and applies its entries.
func open() (*store, error) {
	l, err := wal.Open("/data", wal.WithSegmentSize(segmentBytes))
	if err != nil {
		return nil, err
	}
	s := &store{log: l, state: map[string]*string{}}
	if err := s.replay(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return s, nil
}

func (s *store) replay() error {
	first, err := s.log.FirstIndex()
	if err != nil {
		return err
	}
	last, err := s.log.LastIndex()
	if err != nil {
		return err
	}
	for i := first; i != 0 && i <= last; i++ {
		var e raft.Log
		if err := s.log.GetLog(i, &e); err != nil {
			return err
		}
		if err := s.apply(e.Data); err != nil {
			return err
		}
	}
	s.next = last + 1
	return nil
}

func (s *store) apply(data []byte) error {
	var e entry
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	if e.Whole != nil {
		s.state = e.Whole
	} else {
		s.state[e.Key] = e.Value
	}
	return nil
}

// change writes an entry and applies it.
func (s *store) change(e entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.write(e); err != nil {
		return err
	}
	if s.next%dumpEvery != 0 {
		return nil
	}
	if err := s.write(entry{Whole: s.state}); err != nil {
		return nil // the change itself is in the log
	}
	if first, err := s.log.FirstIndex(); err == nil && first < s.next-2 {
		return s.log.DeleteRange(first, s.next-2)
	}
	return nil
}

func (s *store) write(e entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := s.log.StoreLog(&raft.Log{Index: s.next, Term: 1, Data: data}); err != nil {
		return err
	}
	s.next++
	return s.apply(data)
}
