package inproc

import "sync"

// scratch is memory that runs of an engine use one after another, so that a run needs little of its own.
type scratch struct {
	heap  []due
	free  *pending
	line  []*Process
	boxes [][]Message
	// decisions is how many the last run made.
	decisions int
}

// scratches holds the memory that no run uses at present, for all engines.
var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (e *worldEngine) borrow() *scratch { return scratches.Get().(*scratch) }

// giveBack leaves the memory of a run that is over to others. Nothing of the run stays in it.
func (r *run) giveBack() {
	s := r.scratch
	for _, d := range r.queue.heap {
		r.queue.recycle(d.what)
	}
	clear(r.queue.heap)
	clear(r.ready.list)
	s.heap, s.free, s.line = r.queue.heap[:0], r.queue.free, r.ready.list[:0]
	for _, n := range r.nodes {
		s.recycleInbox(&n.inbox)
	}
	for i := range r.links {
		s.recycleInbox(&r.links[i].channel.box)
	}
	s.decisions = len(r.src.Decisions())
	r.queue, r.ready, r.scratch = queue{}, line{}, nil
	scratches.Put(s)
}

// maxBoxes bounds the lists that are kept, and maxBox their lengths.
const (
	maxBoxes = 256
	maxBox   = 4096
)

func (s *scratch) recycleInbox(b *inbox) {
	if cap(b.list) > 0 && cap(b.list) <= maxBox && len(s.boxes) < maxBoxes {
		clear(b.list)
		s.boxes = append(s.boxes, b.list[:0])
	}
	*b = inbox{}
}

// box gives an empty list for messages.
func (s *scratch) box() []Message {
	if k := len(s.boxes) - 1; k >= 0 {
		b := s.boxes[k]
		s.boxes = s.boxes[:k]
		return b
	}
	return nil
}
