//go:build linux && amd64

package kernel

// Pipe is a pipe or FIFO (pipe(7)), with Linux' page-wise buffers: how many small writes fit depends on them.
type Pipe struct {
	ID      int64
	Bufs    []PipeBuf
	Slots   int
	Readers int
	Writers int
	// Opens count openings of a FIFO: a blocked open waits for one of the other side.
	ReaderOpens, WriterOpens int64
}

// PipeBuf is one page of a pipe.
type PipeBuf struct {
	Data   []byte
	Off    int // bytes that were read already
	Packet bool
}

// Size is how many bytes a pipe holds.
func (p *Pipe) Size() int {
	n := 0
	for _, b := range p.Bufs {
		n += len(b.Data) - b.Off
	}
	return n
}

// First copies up to n bytes of a pipe without taking them.
func (p *Pipe) First(n int) []byte {
	var data []byte
	for _, b := range p.Bufs {
		data = append(data, b.Data[b.Off:min(len(b.Data), b.Off+n-len(data))]...)
		if len(data) == n {
			break
		}
	}
	return data
}

// EventFD is the counter of eventfd(2).
type EventFD struct {
	ID        int64
	Count     uint64
	Semaphore bool
}

// TimerFD is a timer of timerfd_create(2). As on Linux, a periodic one halts after an expiry until it is looked
// at: the expiries since are counted then, and no thread is woken for them.
type TimerFD struct {
	ID       int64
	Clock    int
	At       int64 // next expiry, or the last one of a timer that has halted, world time; 0 disarmed
	Interval int64
	Count    uint64 // expiries that were not read
	Still    bool   // has expired and was not looked at
	Gen      int64
	Node     NodeID
	Wall     bool // At is a time of CLOCK_REALTIME
	// CancelOnSet is TFD_TIMER_CANCEL_ON_SET: reads report that CLOCK_REALTIME jumped (Canceled, by the fault Fault).
	CancelOnSet bool
	Canceled    bool
	Fault       int
}
