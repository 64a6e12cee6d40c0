package main

import (
	crand "crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"time"
)

const (
	maxKeyBytes   = 1 << 10
	maxValueBytes = 1 << 16
	// eventsQueued bounds what waits for the loop; whoever brings more waits.
	eventsQueued = 1024
	// eventsPerSync bounds how many inputs share one write to disk.
	eventsPerSync = 64
)

// server gives a Core its clock, disk, network and clients. One goroutine, loop, owns the core.
type server struct {
	id      string
	peers   map[string]string // name -> address
	started time.Time
	core    *Core
	disk    *disk
	events  chan event
	conns   map[string]*conn        // the connection in use, by peer
	waiting map[string]chan<- Reply // by request
	boot    uint64                  // makes the ids of requests unique over restarts
}

// event is one thing for the loop; exactly one field is set.
type event struct {
	conn    *connEvent
	request *clientRequest
	health  chan<- health
}

type clientRequest struct {
	op, key, value string
	reply          chan<- Reply
}

// health is the answer of GET /health.
type health struct {
	Node   string `json:"node"`
	Role   Role   `json:"role"`
	Term   uint64 `json:"term"`
	Leader string `json:"leader"` // empty if this node knows no live one
}

func newServer(id string, peers map[string]string, order []string, ackBy AckBy, path string) (*server, error) {
	d, records, err := openDisk(path)
	if err != nil {
		return nil, err
	}
	s := &server{
		id: id, peers: peers, started: time.Now(), disk: d,
		events: make(chan event, eventsQueued), conns: map[string]*conn{}, waiting: map[string]chan<- Reply{},
	}
	if err := binary.Read(crand.Reader, binary.LittleEndian, &s.boot); err != nil {
		return nil, err
	}
	s.core = NewCore(id, order, ackBy, s.nowMs(), draw, records)
	return s, nil
}

func draw(n int64) int64 {
	v, err := crand.Int(crand.Reader, big.NewInt(n))
	if err != nil {
		panic(err)
	}
	return v.Int64()
}

// nowMs is monotonic: a jump of the wall clock does not matter.
func (s *server) nowMs() int64 { return time.Since(s.started).Milliseconds() }

// loop steps the core, and does what it wants done: disk first, then messages, then replies.
func (s *server) loop() error {
	timer := time.NewTimer(0)
	armedMs := int64(0)
	for sequence := uint64(0); ; {
		var out Effects
		step := func(in Input) {
			next := s.core.Step(s.nowMs(), in)
			out.Records = append(out.Records, next.Records...)
			out.Messages = append(out.Messages, next.Messages...)
			out.Replies = append(out.Replies, next.Replies...)
			for _, line := range next.Log {
				log.Print(line)
			}
		}
		take := func(e event) {
			switch {
			case e.conn != nil:
				s.takeConn(e.conn, step)
			case e.request != nil:
				sequence++
				id := fmt.Sprintf("%s-%x-%d", s.id, s.boot, sequence)
				s.waiting[id] = e.request.reply
				step(Input{Request: &Request{ID: id, Op: e.request.op, Key: e.request.key, Value: e.request.value}})
			default:
				h := health{Node: s.id, Role: s.core.role, Term: s.core.term, Leader: s.core.leader}
				e.health <- h
			}
		}
		select {
		case <-timer.C:
			armedMs = 0
			step(Input{})
		case e := <-s.events:
			take(e)
			for n := len(s.events); n > 0 && n < eventsPerSync; n-- {
				take(<-s.events)
			}
		}
		if err := s.disk.save(out.Records); err != nil {
			return fmt.Errorf("a node that cannot save must not answer: %w", err)
		}
		for _, m := range out.Messages {
			if c := s.conns[m.To]; c != nil {
				select {
				case c.outbox <- m:
				default:
					c.net.Close()
				}
			}
		}
		for _, r := range out.Replies {
			s.waiting[r.ID] <- r
			delete(s.waiting, r.ID)
		}
		// A timer that fires too early costs less than moving it at every message.
		if d := s.core.DeadlineMs(); armedMs == 0 || d < armedMs {
			armedMs = d
			timer.Reset(time.Duration(d-s.nowMs()) * time.Millisecond)
		}
	}
}

// takeConn hands on what a connection brought, if it is still the one in use: a peer that restarts may connect
// again before its old connection is known to be down.
func (s *server) takeConn(e *connEvent, step func(Input)) {
	peer := e.conn.peer
	current := s.conns[peer]
	switch {
	case e.message != nil:
		if current == e.conn {
			step(Input{Message: e.message})
		}
	case e.down:
		if current == e.conn {
			delete(s.conns, peer)
			step(Input{PeerDown: peer})
		}
	default:
		if current != nil {
			current.net.Close()
			step(Input{PeerDown: peer})
		}
		s.conns[peer] = e.conn
		step(Input{PeerUp: peer})
	}
}

// serveHTTP answers PUT, GET and DELETE /kv/{key} and GET /health.
func (s *server) serveHTTP(l net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /kv/{key}", s.handle("put"))
	mux.HandleFunc("GET /kv/{key}", s.handle("get"))
	mux.HandleFunc("DELETE /kv/{key}", s.handle("delete"))
	mux.HandleFunc("GET /health", s.handleHealth)
	return http.Serve(l, mux)
}

func (s *server) handle(op string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := r.PathValue("key")
		value, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxValueBytes))
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) || len(key) > maxKeyBytes {
			refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("keys are at most %d bytes long, values %d", maxKeyBytes, maxValueBytes))
			return
		}
		if err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		reply := make(chan Reply, 1)
		s.events <- event{request: &clientRequest{op: op, key: key, value: string(value), reply: reply}}
		switch answer := <-reply; {
		case answer.Status == NotDone:
			refuse(w, http.StatusServiceUnavailable, answer.Why)
		case answer.Status == Unknown:
			http.Error(w, answer.Why, http.StatusGatewayTimeout)
		case op != "get":
			w.WriteHeader(http.StatusNoContent)
		case !answer.Found:
			http.Error(w, "no such key", http.StatusNotFound)
		default:
			io.WriteString(w, answer.Value)
		}
	}
}

// refuse answers with the promise that the request did nothing and never will.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("X-Not-Done", "1")
	http.Error(w, why, status)
}

func (s *server) handleHealth(w http.ResponseWriter, _ *http.Request) {
	answer := make(chan health, 1)
	s.events <- event{health: answer}
	h := <-answer
	w.Header().Set("Content-Type", "application/json")
	if h.Leader == "" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	json.NewEncoder(w).Encode(h)
}
