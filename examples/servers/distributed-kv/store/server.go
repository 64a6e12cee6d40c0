package main

import (
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"time"

	"github.com/bloodhound-dst/bloodhound/examples/servers/distributed-kv/raft"
)

const (
	maxKeyBytes   = 1 << 10
	maxValueBytes = 1 << 16
	// eventsQueued bounds what waits for the loop; whoever brings more waits.
	eventsQueued = 1024
	// compactEntries is how many entries of the log a snapshot replaces.
	compactEntries = 32
	// requestTime is how long a client waits before the server answers that the outcome is unknown.
	requestTime = 250 * time.Millisecond
)

// command is what an entry of the log does to the store.
type command struct {
	Op    string `json:"op"` // put, delete
	Key   string `json:"k"`
	Value string `json:"v,omitempty"`
}

// server gives a raft.Node its clocks, disk, network and clients. One goroutine, loop, owns them all.
type server struct {
	started time.Time
	node    *raft.Node
	disk    *disk
	data    map[string]string
	events  chan event
	outbox  map[string]chan raft.Message
	waiting map[uint64]write // by index
}

// write is a client's command on its way through the log.
type write struct {
	term  uint64
	until time.Time
	reply chan<- reply
}

// reply is what a client gets.
type reply struct {
	status int
	text   string
}

// event is one thing for the loop; exactly one field is set.
type event struct {
	message *raft.Message
	write   *clientWrite
	read    *clientRead
	status  chan<- raft.Status
	state   chan<- []byte
}

type clientWrite struct {
	command []byte
	reply   chan<- reply
}

type clientRead struct {
	key   string
	reply chan<- reply
}

func newServer(id string, peers map[string]string, order []string, lease raft.LeaseClock, path string, sync bool) (*server, error) {
	d, saved, err := openDisk(path, sync)
	if err != nil {
		return nil, err
	}
	s := &server{
		started: time.Now(), disk: d, data: map[string]string{}, events: make(chan event, eventsQueued),
		outbox: map[string]chan raft.Message{}, waiting: map[uint64]write{},
	}
	s.node = raft.New(raft.Config{ID: id, Peers: order, LeaseClock: lease, Draw: draw}, s.now(), saved)
	for _, p := range order {
		s.outbox[p] = make(chan raft.Message, outboxMessages)
		go sendTo(peers[p], s.outbox[p])
	}
	return s, nil
}

func draw(n int64) int64 {
	v, err := crand.Int(crand.Reader, big.NewInt(n))
	if err != nil {
		panic(err)
	}
	return v.Int64()
}

func (s *server) now() raft.Time {
	now := time.Now()
	return raft.Time{MonotonicMs: now.Sub(s.started).Milliseconds(), DateMs: now.UnixMilli()}
}

// loop takes one event after the other. The time is read after an event has come: so a read that may be answered at that time
// had begun before.
func (s *server) loop() error {
	timer := time.NewTimer(0)
	armedMs := int64(0)
	for {
		if err := s.perform(); err != nil {
			return fmt.Errorf("a node that cannot save must not answer: %w", err)
		}
		// A timer that fires too early costs less than moving it at every message.
		if d := s.node.DeadlineMs(); armedMs == 0 || d < armedMs {
			armedMs = d
			timer.Reset(time.Duration(d-s.now().MonotonicMs) * time.Millisecond)
		}
		select {
		case <-timer.C:
			armedMs = 0
			s.node.Tick(s.now())
			s.giveUp()
		case e := <-s.events:
			s.take(e)
		}
	}
}

func (s *server) take(e event) {
	switch {
	case e.message != nil:
		s.node.Receive(s.now(), *e.message)
	case e.write != nil:
		index, term, ok := s.node.Propose(s.now(), e.write.command)
		if !ok {
			e.write.reply <- reply{http.StatusServiceUnavailable, "this node does not lead"}
			return
		}
		s.waiting[index] = write{term: term, until: time.Now().Add(requestTime), reply: e.write.reply}
	case e.read != nil:
		if !s.node.MayRead(s.now()) {
			e.read.reply <- reply{http.StatusServiceUnavailable, "this node does not lead, or has no lease"}
			return
		}
		value, ok := s.data[e.read.key]
		if !ok {
			e.read.reply <- reply{http.StatusNotFound, "no such key"}
			return
		}
		e.read.reply <- reply{http.StatusOK, value}
	case e.status != nil:
		e.status <- s.node.Status()
	case e.state != nil:
		e.state <- s.state()
	}
}

// perform does what the node wants done: disk first, then the store and its clients, then messages.
func (s *server) perform() error {
	e := s.node.Take()
	for _, line := range e.Log {
		log.Print(line)
	}
	if e.Save != nil {
		if err := s.disk.save(e.Save); err != nil {
			return err
		}
	}
	if e.Restore != nil {
		s.restore(e.Restore)
	}
	for _, entry := range e.Committed {
		s.apply(entry)
	}
	for _, m := range e.Messages {
		select {
		case s.outbox[m.To] <- m:
		default:
		}
	}
	if s.node.Compactable() >= compactEntries {
		s.node.Compact(s.state())
		return s.perform()
	}
	return nil
}

func (s *server) apply(e raft.Entry) {
	if len(e.Command) > 0 {
		var c command
		if err := json.Unmarshal(e.Command, &c); err != nil {
			panic(fmt.Sprintf("entry %d: %v", e.Index, err))
		}
		if c.Op == "put" {
			s.data[c.Key] = c.Value
		} else {
			delete(s.data, c.Key)
		}
	}
	if w, ok := s.waiting[e.Index]; ok {
		delete(s.waiting, e.Index)
		if w.term == e.Term {
			w.reply <- reply{http.StatusNoContent, ""}
		} else {
			w.reply <- reply{http.StatusServiceUnavailable, "another leader has put something else in its place"}
		}
	}
}

func (s *server) restore(snapshot *raft.Snapshot) {
	s.data = map[string]string{}
	if err := json.Unmarshal(snapshot.State, &s.data); err != nil {
		panic(fmt.Sprintf("snapshot %d: %v", snapshot.Index, err))
	}
	for index, w := range s.waiting {
		if index <= snapshot.Index {
			delete(s.waiting, index)
			w.reply <- reply{http.StatusGatewayTimeout, "a snapshot covers it: it may have been done"}
		}
	}
}

// state is the whole store. Equal stores have equal texts.
func (s *server) state() []byte {
	text, err := json.Marshal(s.data)
	if err != nil {
		panic(err)
	}
	return text
}

// giveUp answers clients that have waited for long. What they asked for may still be done.
func (s *server) giveUp() {
	now := time.Now()
	for index, w := range s.waiting {
		if now.After(w.until) {
			delete(s.waiting, index)
			w.reply <- reply{http.StatusGatewayTimeout, "not committed in time: it may be done yet"}
		}
	}
}

// serve answers clients: PUT, GET and DELETE /kv/{key}, GET /health and GET /state.
func (s *server) serve(l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /kv/{key}", s.handleWrite("put"))
	mux.HandleFunc("DELETE /kv/{key}", s.handleWrite("delete"))
	mux.HandleFunc("GET /kv/{key}", func(w http.ResponseWriter, r *http.Request) {
		answer := make(chan reply, 1)
		s.events <- event{read: &clientRead{key: r.PathValue("key"), reply: answer}}
		respond(w, <-answer)
	})
	mux.HandleFunc("GET /health", s.handleHealth)
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		state := make(chan []byte, 1)
		s.events <- event{state: state}
		w.Write(<-state)
	})
	return http.Serve(l, mux)
}

func (s *server) handleWrite(op string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := r.PathValue("key")
		value, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxValueBytes))
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) || len(key) > maxKeyBytes {
			http.Error(w, fmt.Sprintf("keys are at most %d bytes long, values %d", maxKeyBytes, maxValueBytes), http.StatusRequestEntityTooLarge)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text, err := json.Marshal(command{Op: op, Key: key, Value: string(value)})
		if err != nil {
			panic(err)
		}
		answer := make(chan reply, 1)
		s.events <- event{write: &clientWrite{command: text, reply: answer}}
		respond(w, <-answer)
	}
}

func respond(w http.ResponseWriter, r reply) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(r.status)
	io.WriteString(w, r.text)
}

// handleHealth answers 200 when this node leads or knows who does.
func (s *server) handleHealth(w http.ResponseWriter, _ *http.Request) {
	answer := make(chan raft.Status, 1)
	s.events <- event{status: answer}
	status := <-answer
	w.Header().Set("Content-Type", "application/json")
	if status.Leader == "" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	json.NewEncoder(w).Encode(status)
}
