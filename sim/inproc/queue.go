package inproc

// A pending thing happens at a point of virtual time.
type pendingKind uint8

const (
	arrive  pendingKind = iota + 1 // a message is at its node
	ghost                          // a message would have been there, but for a fault
	wake                           // a process has waited long enough
	tick                           // of a machine
	choices                        // a step of a schedule
	joins                          // a message comes into its channel of a schedule late
)

type pending struct {
	kind pendingKind
	node *Node
	proc *Process
	gen  uint64 // of the wait, or of the node's life
	msg  Message
	ref  *ref // of a ghost
	free *pending
}

// due is an entry of the queue: things happen in the order of their times, and of their numbers where times are equal.
type due struct {
	at, seq uint64
	what    *pending
}

func (a *due) before(b *due) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

// queue is a binary heap.
type queue struct {
	heap []due
	seq  uint64
	free *pending
}

// fresh returns a blank thing. Things are reused, so that a run in progress allocates none.
func (q *queue) fresh() *pending {
	if p := q.free; p != nil {
		q.free = p.free
		*p = pending{}
		return p
	}
	return &pending{}
}

func (q *queue) recycle(p *pending) {
	*p = pending{free: q.free}
	q.free = p
}

func (q *queue) push(atNs int64, p *pending) {
	q.seq++
	q.heap = append(q.heap, due{uint64(atNs), q.seq, p})
	h := q.heap
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// next is when the first thing is due; there must be one.
func (q *queue) next() int64 { return int64(q.heap[0].at) }

func (q *queue) empty() bool { return len(q.heap) == 0 }

func (q *queue) pop() *pending {
	h := q.heap
	first := h[0].what
	last := len(h) - 1
	h[0] = h[last]
	h[last].what = nil
	h = h[:last]
	q.heap = h
	for i := 0; ; {
		least := i
		for _, k := range [2]int{2*i + 1, 2*i + 2} {
			if k < last && h[k].before(&h[least]) {
				least = k
			}
		}
		if least == i {
			return first
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
