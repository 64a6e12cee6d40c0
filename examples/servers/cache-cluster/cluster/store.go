package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/journal"
)

// store keeps all keys in a journal, and the council of the caches.
type store struct {
	mu      sync.Mutex
	council *council
	values  map[string]string
	tickets map[string]int // the latest of each key in this epoch
	saved   int            // the latest epoch on the disk
	journal *journal.Journal[record]
}

// record is a line of the journal: an epoch that began, or a key that was written.
type record struct {
	Epoch int     `json:"epoch,omitempty"`
	Key   string  `json:"key,omitempty"`
	Value *string `json:"value,omitempty"`
}

// openStore reads the journal.
func openStore(path string, now time.Time) (*store, error) {
	j, records, err := journal.Open[record](path, journal.Options{})
	if err != nil {
		return nil, err
	}
	s := &store{values: map[string]string{}, tickets: map[string]int{}, journal: j}
	for _, r := range records {
		s.saved = max(s.saved, r.Epoch)
		s.put(r)
	}
	// Whoever is a member of an earlier epoch has to join again.
	s.council = newCouncil(s.saved+1, now)
	s.begin()
	return s, nil
}

func (s *store) put(r record) {
	switch {
	case r.Key == "":
	case r.Value == nil:
		delete(s.values, r.Key)
	default:
		s.values[r.Key] = *r.Value
	}
}

// save returns when the record is on the disk.
func (s *store) save(r record) {
	if err := s.journal.Append(r); err != nil {
		log.Fatalf("journal: %v", err)
	}
}

// begin sees to it that no cache learns of an epoch that a loss of power could take back.
func (s *store) begin() {
	if s.council.epoch > s.saved {
		s.saved = s.council.epoch
		s.save(record{Epoch: s.saved})
		clear(s.tickets)
		log.Printf("epoch %d begins: %v", s.council.epoch, s.council.members)
	}
}

func (s *store) serve(address string) error {
	http.HandleFunc("POST /beat", func(w http.ResponseWriter, req *http.Request) {
		var b beat
		if !decode(w, req, &b) {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.council.beat(b, time.Now())
		s.begin()
		json.NewEncoder(w).Encode(view{s.council.epoch, s.council.members})
	})
	http.HandleFunc("POST /read", s.access(func(a access) any {
		text, found := s.values[a.Key]
		return value{found, text}
	}))
	http.HandleFunc("POST /write", s.access(func(a access) any {
		r := record{Key: a.Key, Value: a.Value}
		s.save(r)
		s.put(r)
		return struct{}{}
	}))
	http.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	return http.ListenAndServe(address, nil)
}

func decode(w http.ResponseWriter, req *http.Request, into any) bool {
	if err := json.NewDecoder(req.Body).Decode(into); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

// access serves a read or write of a cache, if it is of this epoch and no later one of the key was here before.
func (s *store) access(do func(access) any) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var a access
		if !decode(w, req, &a) {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		now := time.Now()
		s.council.expire(now)
		s.begin()
		switch {
		case a.Epoch != s.council.epoch:
			http.Error(w, fmt.Sprintf("this is epoch %d", s.council.epoch), http.StatusConflict)
		case a.Ticket <= s.tickets[a.Key]:
			http.Error(w, "a later request was here before", http.StatusConflict)
		case !s.council.writable(now):
			http.Error(w, "not all caches have adopted this epoch", http.StatusConflict)
		default:
			s.tickets[a.Key] = a.Ticket
			json.NewEncoder(w).Encode(do(a))
		}
	}
}
