// Command crdt is a store of counters and registers with several leaders: each replica takes writes by itself, acknowledges
// them when they are on its own disk, and sends them to the others later. With CRDT_MERGE=newest it has a bug.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/journal"
	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/jsonhttp"
	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/mains"
)

const usage = `crdt is a store of counters and registers with several leaders.

  crdt serve        runs one replica. The environment says how:
    CRDT_ID           its name; the host's name without it
    CRDT_REPLICAS     all replicas, as name,name,...; each serves port 8080
    CRDT_DATA         its folder, /var/lib/crdt
    CRDT_MERGE        what becomes of a key that is a counter here and a register there: both, or newest, with which the
                      older one's writes are lost
  crdt health URL   exit code 0 if that replica serves
`

const (
	port = ":8080"
	// joinTime is how long a peer may take to answer, and retryTime when it is asked again.
	joinTime  = 300 * time.Millisecond
	retryTime = 100 * time.Millisecond
	// maxBodyBytes bounds what a client or a peer sends at once.
	maxBodyBytes = 1 << 20
	// keysPerJoin bounds what a peer is sent at once.
	keysPerJoin = 256
)

func main() { mains.Run(usage, serve) }

func serve() {
	host, err := os.Hostname()
	if err != nil {
		log.Fatal(err)
	}
	id := mains.Setting("CRDT_ID", host)
	merge := Merge(mains.Setting("CRDT_MERGE", string(Both)))
	if merge != Both && merge != Newest {
		log.Fatalf("CRDT_MERGE is %q; it is both or newest", merge)
	}
	replicas := strings.Split(os.Getenv("CRDT_REPLICAS"), ",")
	if !slices.Contains(replicas, id) {
		log.Fatalf("CRDT_REPLICAS is %q, and %s is not in it", os.Getenv("CRDT_REPLICAS"), id)
	}
	peers := slices.DeleteFunc(replicas, func(r string) bool { return r == id })
	d, records, err := openDisk(mains.Setting("CRDT_DATA", "/var/lib/crdt") + "/log")
	if err != nil {
		log.Fatal(err)
	}
	s := &server{replica: NewReplica(id, peers, merge), disk: d, news: map[string]chan struct{}{}}
	for _, r := range records {
		s.replica.Join("", r.Key, r.Value)
	}
	for _, p := range peers {
		s.news[p] = make(chan struct{}, 1)
		s.news[p] <- struct{}{}
		go s.tell(p)
	}
	log.Printf("%s serves %d keys; of two types it keeps %s", id, len(s.replica.data), merge)
	log.Fatal(http.ListenAndServe(port, s.handler()))
}

// server gives a Replica its clock, disk, network and clients.
type server struct {
	mu      sync.Mutex
	replica *Replica
	disk    *journal.Journal[record]
	news    map[string]chan struct{} // wakes the sender for a peer when there is something to send
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /counters/{key}", func(w http.ResponseWriter, r *http.Request) {
		by, err := strconv.ParseInt(r.URL.Query().Get("by"), 10, 32)
		if err != nil {
			http.Error(w, "by: "+err.Error(), http.StatusBadRequest)
			return
		}
		key := r.PathValue("key")
		s.write(w, key, func(nowNs int64) (Value, error) { return s.replica.Add(nowNs, key, by) })
	})
	mux.HandleFunc("PUT /registers/{key}", func(w http.ResponseWriter, r *http.Request) {
		value, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		key := r.PathValue("key")
		s.write(w, key, func(nowNs int64) (Value, error) { return s.replica.Set(nowNs, key, string(value)) })
	})
	mux.HandleFunc("GET /counters/{key}", func(w http.ResponseWriter, r *http.Request) {
		if c := s.get(r).Counter; c != nil {
			fmt.Fprint(w, c.sum())
			return
		}
		http.Error(w, "no such counter", http.StatusNotFound)
	})
	mux.HandleFunc("GET /registers/{key}", func(w http.ResponseWriter, r *http.Request) {
		if register := s.get(r).Register; register != nil {
			io.WriteString(w, register.Value)
			return
		}
		http.Error(w, "no such register", http.StatusNotFound)
	})
	mux.HandleFunc("POST /join", s.join)
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		json.NewEncoder(w).Encode(s.replica.data)
	})
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	return mux
}

func (s *server) get(r *http.Request) Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.replica.Get(r.PathValue("key"))
}

// write answers when a client's write is on this replica's disk.
func (s *server) write(w http.ResponseWriter, key string, do func(nowNs int64) (Value, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := do(time.Now().UnixNano())
	if errors.Is(err, ErrType) {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	if err := s.disk.Append(record{key, v}); err != nil {
		log.Fatalf("a replica that cannot save must not answer: %v", err)
	}
	s.replica.Put(key, v)
	s.wake()
	w.WriteHeader(http.StatusNoContent)
}

// wake wakes all senders. One that is awake looks again when it is done.
func (s *server) wake() {
	for _, news := range s.news {
		select {
		case news <- struct{}{}:
		default:
		}
	}
}

// message is what one replica sends another.
type message struct {
	From   string   `json:"from"`
	Values []record `json:"values"`
}

// join merges what a peer sends. It answers when that is on this replica's disk: then the peer need not send it again.
func (s *server) join(w http.ResponseWriter, r *http.Request) {
	var m message
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var records []record
	for _, told := range m.Values {
		joined, news, dropped := s.replica.Join(m.From, told.Key, told.Value)
		if dropped != "" {
			log.Printf("%s is of two types, here and on %s: drops the %s", told.Key, m.From, dropped)
		}
		if news {
			records = append(records, record{told.Key, joined})
		}
	}
	if len(records) > 0 {
		if err := s.disk.Append(records...); err != nil {
			log.Fatalf("a replica that cannot save must not answer: %v", err)
		}
		s.wake()
	}
	w.WriteHeader(http.StatusNoContent)
}

// tell sends a peer what it may not know, again and again until the peer acknowledges.
func (s *server) tell(peer string) {
	client := &http.Client{Timeout: joinTime}
	for range s.news[peer] {
		for {
			s.mu.Lock()
			keys := s.replica.Unsent(peer)
			if more := len(keys) - keysPerJoin; more > 0 {
				s.replica.Failed(peer, keys[keysPerJoin:])
				keys = keys[:keysPerJoin]
			}
			m := message{From: s.replica.ID}
			for _, k := range keys {
				m.Values = append(m.Values, record{k, s.replica.Get(k)})
			}
			s.mu.Unlock()
			if len(keys) == 0 {
				break
			}
			if err := jsonhttp.Post(client, "http://"+peer+port+"/join", m, nil); err != nil {
				s.mu.Lock()
				s.replica.Failed(peer, keys)
				s.mu.Unlock()
				time.Sleep(retryTime)
			}
		}
	}
}
