package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/journal"
	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/jsonhttp"
)

// Timings. A leader is missed after electionMin to twice that.
const (
	heartbeat   = 100 * time.Millisecond
	electionMin = 300 * time.Millisecond
	peerTimeout = 150 * time.Millisecond
	// answerTimeout is how long a client waits for an entry to count.
	answerTimeout = 1500 * time.Millisecond
	// pollTimeout is how long a consumer waits for a message.
	pollTimeout = 400 * time.Millisecond
)

// broker gives the protocol its clock, disk, network and clients.
type broker struct {
	mu      sync.Mutex
	replica *replica
	disk    *journal.Journal[record]
	queue   *queue
	applied int
	answers map[int]waiter           // by place in the log
	heard   time.Time                // when the leader was last heard of
	patient time.Duration            // until it is missed
	news    chan struct{}            // closed and made anew when the queue has changed
	kicks   map[string]chan struct{} // wake what sends to a follower
	peers   http.Client
}

// waiter is a client that waits for its entry: another epoch's entry at that place is not its own.
type waiter struct {
	epoch int
	done  chan delivery
}

func newBroker(r *replica, journal string) (*broker, error) {
	d, records, err := openDisk(journal)
	if err != nil {
		return nil, err
	}
	for _, rec := range records {
		r.epoch, r.votedFor = rec.Epoch, rec.VotedFor
		r.log = append(r.log[:rec.From], rec.Entries...)
	}
	r.changed = len(r.log)
	b := &broker{replica: r, disk: d, queue: newQueue(), answers: map[int]waiter{}, news: make(chan struct{}), kicks: map[string]chan struct{}{}}
	b.peers.Transport = &http.Transport{DialContext: (&net.Dialer{Timeout: peerTimeout}).DialContext}
	b.peers.Timeout = peerTimeout
	for _, p := range r.peers {
		b.kicks[p] = make(chan struct{}, 1)
	}
	b.hear()
	log.Printf("starts with %d entries in epoch %d", len(r.log), r.epoch)
	return b, nil
}

func (b *broker) serve(address string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /messages/{id}", b.publish)
	mux.HandleFunc("DELETE /messages/{id}", b.ack)
	mux.HandleFunc("POST /receive", b.receive)
	mux.HandleFunc("GET /health", b.health)
	mux.HandleFunc("POST /peer/vote", answer(b, func(q voteRequest) any {
		a := b.replica.onVote(q)
		if a.Granted {
			b.hear()
		}
		return a
	}))
	mux.HandleFunc("POST /peer/append", answer(b, func(q appendRequest) any {
		wasLeading, epoch := b.replica.leading, b.replica.epoch
		a, dropped := b.replica.onAppend(q)
		if q.Epoch == a.Epoch {
			b.hear()
		}
		if wasLeading && !b.replica.leading {
			log.Printf("steps down in epoch %d: %s leads epoch %d", epoch, q.Leader, q.Epoch)
		}
		if dropped > 0 {
			log.Printf("drops %d entries that %s does not have", dropped, q.Leader)
		}
		return a
	}))
	go b.elections()
	for _, p := range b.replica.peers {
		go b.replicate(p)
	}
	return http.ListenAndServe(address, mux)
}

// hear puts off the next election.
func (b *broker) hear() {
	b.heard, b.patient = time.Now(), electionMin+rand.N(electionMin)
}

// settle ends each step: what has changed goes to the disk before it is sent to anyone, and what is committed is applied.
func (b *broker) settle() {
	r := b.replica
	if r.unsaved || r.changed < len(r.log) {
		if err := b.disk.Append(record{r.epoch, r.votedFor, r.changed, r.log[r.changed:]}); err != nil {
			log.Fatalf("journal: %v", err)
		}
		r.unsaved, r.changed = false, len(r.log)
	}
	if b.applied > len(r.log) || r.committed < b.applied {
		b.queue, b.applied = newQueue(), 0
	}
	changed := b.applied < r.committed
	for b.applied < r.committed {
		e := r.log[b.applied]
		b.applied++
		d := b.queue.apply(e.command)
		if w, ok := b.answers[b.applied]; ok {
			delete(b.answers, b.applied)
			if w.epoch == e.Epoch {
				w.done <- d
			}
		}
	}
	if changed {
		close(b.news)
		b.news = make(chan struct{})
	}
}

// answer serves a request of another broker.
func answer[Q any](b *broker, step func(Q) any) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		var q Q
		if err := json.NewDecoder(req.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		b.mu.Lock()
		a := step(q)
		b.settle()
		b.mu.Unlock()
		json.NewEncoder(w).Encode(a)
	}
}

// elections watches the leader, and starts an election when the leader is silent.
func (b *broker) elections() {
	for {
		b.mu.Lock()
		wait := time.Until(b.heard.Add(b.patient))
		if b.replica.leading {
			wait = electionMin
		} else if wait <= 0 {
			q := b.replica.stand()
			b.hear()
			b.settle()
			wait = b.patient
			for _, p := range b.replica.peers {
				go b.campaign(p, q)
			}
		}
		b.mu.Unlock()
		time.Sleep(wait)
	}
}

func (b *broker) campaign(peer string, q voteRequest) {
	var a voteReply
	if jsonhttp.Post(&b.peers, "http://"+peer+":8080/peer/vote", q, &a) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.replica.onVoteReply(peer, q.Epoch, a) {
		log.Printf("leads epoch %d with %d entries, elected by %s", b.replica.epoch, len(b.replica.log), peer)
		b.kick()
	}
	b.settle()
}

func (b *broker) kick() {
	for _, p := range b.replica.peers {
		select {
		case b.kicks[p] <- struct{}{}:
		default:
		}
	}
}

// replicate sends to one follower, while this broker leads, what it lacks, and a heartbeat when it lacks nothing.
func (b *broker) replicate(peer string) {
	tick := time.NewTimer(heartbeat)
	for {
		b.mu.Lock()
		leading, q := b.replica.leading, appendRequest{}
		if leading {
			q = b.replica.appendFor(peer)
		}
		b.mu.Unlock()
		if leading {
			var a appendReply
			if jsonhttp.Post(&b.peers, "http://"+peer+":8080/peer/append", q, &a) == nil {
				b.mu.Lock()
				before := b.replica.committed
				b.replica.onAppendReply(peer, q, a)
				if b.replica.leading != leading {
					log.Printf("steps down in epoch %d: %s is in epoch %d", q.Epoch, peer, a.Epoch)
				} else if !a.Accepted {
					log.Printf("%s has refused %d entries after %d", peer, len(q.Entries), q.After)
				}
				more := b.replica.leading && (b.replica.send[peer] < len(b.replica.log) || b.replica.committed > before)
				b.settle()
				b.mu.Unlock()
				if more {
					continue
				}
			}
		}
		tick.Reset(heartbeat)
		select {
		case <-tick.C:
		case <-b.kicks[peer]:
		}
	}
}

// agree appends a command and waits until it counts. It answers for those that do not.
func (b *broker) agree(w http.ResponseWriter, c command) (d delivery, ok bool) {
	b.mu.Lock()
	if !b.replica.leading {
		leader := b.replica.leader
		b.mu.Unlock()
		refuse(w, leader)
		return d, false
	}
	c.AtMS = time.Now().UnixMilli()
	done := make(chan delivery, 1)
	place := b.replica.add(c)
	b.answers[place] = waiter{b.replica.epoch, done}
	b.settle()
	b.kick()
	b.mu.Unlock()
	select {
	case d := <-done:
		return d, true
	case <-time.After(answerTimeout):
		http.Error(w, "unknown: not enough brokers have answered in time", http.StatusGatewayTimeout)
		return d, false
	}
}

// refuse says that nothing was done, and who may do it.
func refuse(w http.ResponseWriter, leader string) {
	w.Header().Set("Leader", leader)
	w.Header().Set("X-Not-Done", "1")
	http.Error(w, "not the leader", http.StatusServiceUnavailable)
}

func (b *broker) publish(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id := req.PathValue("id")
	if _, ok := b.agree(w, command{Op: opPublish, ID: id, Body: string(body)}); ok {
		log.Printf("acknowledges %s to its producer", id)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (b *broker) ack(w http.ResponseWriter, req *http.Request) {
	if _, ok := b.agree(w, command{Op: opAck, ID: req.PathValue("id")}); ok {
		w.WriteHeader(http.StatusNoContent)
	}
}

// receive waits a little for a message; that there is none, too, is something on which the brokers agree.
func (b *broker) receive(w http.ResponseWriter, req *http.Request) {
	ctx, cancel := context.WithTimeout(req.Context(), pollTimeout)
	defer cancel()
	for ctx.Err() == nil {
		b.mu.Lock()
		ready := !b.replica.leading || b.queue.available(time.Now().UnixMilli()) || len(b.queue.waiting) == 0 && req.URL.Query().Has("last")
		news := b.news
		b.mu.Unlock()
		if ready {
			break
		}
		select {
		case <-news:
		case <-ctx.Done():
		}
	}
	d, ok := b.agree(w, command{Op: opReceive})
	if !ok {
		return
	}
	w.Header().Set("Messages-Left", strconv.Itoa(d.Left))
	if d.ID == "" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Message-Id", d.ID)
	w.Header().Set("Deliveries", strconv.Itoa(d.Deliveries))
	io.WriteString(w, d.Body)
}

// health is 200 when this broker leads, or has heard of a leader lately.
func (b *broker) health(w http.ResponseWriter, _ *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.replica.leading || b.replica.leader != "" && time.Since(b.heard) < 2*electionMin {
		io.WriteString(w, b.replica.leader+"\n")
		return
	}
	http.Error(w, "no leader", http.StatusServiceUnavailable)
}
