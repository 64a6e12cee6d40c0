package main

// Commands that the brokers agree on. Their order in the log is the only order that there is.
const (
	opBegin   = "begin" // a new leader's first entry; changes nothing
	opPublish = "publish"
	opReceive = "receive"
	opAck     = "ack"
)

// command is one change of the queue.
type command struct {
	Op   string `json:"op"`
	ID   string `json:"id,omitempty"`
	Body string `json:"body,omitempty"`
	// AtMS is the date of the leader that appended it, in milliseconds: leases end by it, on every broker alike.
	AtMS int64 `json:"at_ms,omitempty"`
}

// leaseMS is how long a message that was handed out is kept from others. A consumer that has not acknowledged it by then loses it.
const leaseMS = 500

// queue is the state that the entries of the log lead to: a state machine without a clock.
type queue struct {
	waiting []*message
	known   map[string]bool // all messages that were ever published, so that a repeated publish is no second message
}

type message struct {
	id, body      string
	leasedUntilMS int64
	deliveries    int
}

// delivery is what a receive gives: no ID means that nothing is to be had. Left counts the messages that no consumer has acknowledged.
type delivery struct {
	ID, Body   string
	Deliveries int
	Left       int
}

func newQueue() *queue { return &queue{known: map[string]bool{}} }

func (q *queue) apply(c command) delivery {
	switch c.Op {
	case opPublish:
		if !q.known[c.ID] {
			q.known[c.ID] = true
			q.waiting = append(q.waiting, &message{id: c.ID, body: c.Body})
		}
	case opReceive:
		for _, m := range q.waiting {
			if m.leasedUntilMS <= c.AtMS {
				m.leasedUntilMS = c.AtMS + leaseMS
				m.deliveries++
				return delivery{m.id, m.body, m.deliveries, len(q.waiting)}
			}
		}
	case opAck:
		for i, m := range q.waiting {
			if m.id == c.ID {
				q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
				break
			}
		}
	}
	return delivery{Left: len(q.waiting)}
}

// available reports whether a receive at this date would get a message.
func (q *queue) available(atMS int64) bool {
	for _, m := range q.waiting {
		if m.leasedUntilMS <= atMS {
			return true
		}
	}
	return false
}
