package fs

import (
	"cmp"
	"math"
	"slices"

	"github.com/bloodhound-dst/bloodhound/internal/engine/native/errno"
)

// Flock is a lock on a whole file (flock(2)). Its owner is the caller's number of the open file.
type Flock struct {
	Owner     int64
	Exclusive bool
}

// Lock is a lock on a range of bytes (fcntl(2)). Its owner is the caller's number of the process, or of the open
// file for OFD locks.
type Lock struct {
	Owner       int64
	OFD         bool
	PID         int // as F_GETLK shows it; -1 for OFD locks
	Write       bool
	First, Last int64 // both inclusive; Last is math.MaxInt64 for a range without end
}

// ToEnd is the Last of a range without end.
const ToEnd = math.MaxInt64

// SetFlock takes a lock or changes the one its owner has. EAGAIN means that another owner's lock is in the way; an
// own lock that was to be converted is lost then (flock(2)).
func (s *State) SetFlock(id InodeID, l Flock) errno.Errno {
	in := s.inode(id)
	if len(in.Flocks) >= maxLocks {
		return errno.ENOLCK
	}
	s.DropFlock(id, l.Owner)
	for _, o := range in.Flocks {
		if o.Exclusive || l.Exclusive {
			return errno.EAGAIN
		}
	}
	in.Flocks = append(in.Flocks, l)
	return errno.OK
}

// DropFlock gives an owner's lock up. It reports whether there was one: the threads that wait may try again.
func (s *State) DropFlock(id InodeID, owner int64) bool {
	in := s.inode(id)
	n := len(in.Flocks)
	in.Flocks = slices.DeleteFunc(in.Flocks, func(o Flock) bool { return o.Owner == owner })
	return len(in.Flocks) < n
}

func (l *Lock) owner(o *Lock) bool { return l.Owner == o.Owner && l.OFD == o.OFD }

func (l *Lock) conflicts(o *Lock) bool {
	return !l.owner(o) && (l.Write || o.Write) && l.First <= o.Last && o.First <= l.Last
}

// Conflict finds the first lock that is in the way of l (F_GETLK).
func (s *State) Conflict(id InodeID, l Lock) (Lock, bool) {
	for _, o := range s.inode(id).Locks {
		if l.conflicts(&o) {
			return o, true
		}
	}
	return Lock{}, false
}

// SetLock takes a lock; in its range it replaces what its owner had there. EAGAIN means that another owner's lock is
// in the way.
func (s *State) SetLock(id InodeID, l Lock) errno.Errno {
	if _, ok := s.Conflict(id, l); ok {
		return errno.EAGAIN
	}
	in := s.inode(id)
	if len(in.Locks)+2 > maxLocks {
		return errno.ENOLCK
	}
	s.DropLock(id, l)
	// Neighbours of the same owner and type become one.
	in.Locks = slices.DeleteFunc(in.Locks, func(o Lock) bool {
		touches := (o.Last == ToEnd || o.Last+1 >= l.First) && (l.Last == ToEnd || l.Last+1 >= o.First)
		if !o.owner(&l) || o.Write != l.Write || !touches {
			return false
		}
		l.First, l.Last = min(l.First, o.First), max(l.Last, o.Last)
		return true
	})
	in.Locks = append(in.Locks, l)
	slices.SortStableFunc(in.Locks, func(a, b Lock) int { return cmp.Compare(a.First, b.First) })
	return errno.OK
}

// DropLock unlocks the range of l for its owner. It reports whether anything was locked there.
func (s *State) DropLock(id InodeID, l Lock) bool {
	in := s.inode(id)
	var kept []Lock
	dropped := false
	for _, o := range in.Locks {
		if !o.owner(&l) || o.Last < l.First || l.Last < o.First {
			kept = append(kept, o)
			continue
		}
		dropped = true
		if o.First < l.First {
			left := o
			left.Last = l.First - 1
			kept = append(kept, left)
		}
		if o.Last > l.Last {
			right := o
			right.First = l.Last + 1
			kept = append(kept, right)
		}
	}
	in.Locks = kept
	return dropped
}
