package visited

import (
	"github.com/bloodhound-dst/bloodhound/tla/value"
)

// Queue holds states from when they are found until their successors are looked for. They lie many together, and each takes no more than its values.
type Queue struct {
	blocks [][]value.Value
	gone   int // so many blocks at the beginning are over; blocks begins behind them
	count  int // of all that were put
	width  int // of a state

	disk    *Disk
	codec   *codec
	places  []blockPlace // of the blocks: where each is on the disk, if it is not in memory
	spilled int          // the number of the first block that was never on the disk
	last    *segment
	buffer  []byte
	err     error
}

// blockPlace is where a block is on the disk; nowhere without a segment.
type blockPlace struct {
	in   *segment
	at   int64
	size int
}

// segment is a file of blocks. When all are read again its space is given back.
type segment struct {
	*file
	left   int // blocks that were not read again
	filled bool
}

const (
	// inBlock is how many states lie together.
	inBlock = 1 << 8
	// segmentBytes is how long a file of blocks gets.
	segmentBytes = 64 << 20
	// blocksAhead are kept in memory behind the block that is being taken.
	blocksAhead = 1
)

// Limit has Spill move states to a disk.
func (q *Queue) Limit(d *Disk) { q.disk, q.codec = d, newCodec() }

// Err says why states could not be written or read; then what Take gives is not to be used.
func (q *Queue) Err() error { return q.err }

// Put adds a copy of a state, which gets the next number from 0 on.
func (q *Queue) Put(s []value.Value) {
	if q.count%inBlock == 0 {
		q.width = len(s)
		q.blocks = append(q.blocks, make([]value.Value, 0, inBlock*q.width))
		if q.places != nil {
			q.places = append(q.places, blockPlace{})
		}
	}
	last := len(q.blocks) - 1
	q.blocks[last] = append(q.blocks[last], s...)
	q.count++
}

// TakeState returns the state with a number. Callers take the states in order, each once.
func (q *Queue) TakeState(number int) []value.Value {
	k := number/inBlock - q.gone
	if q.places != nil && q.places[k].in != nil {
		q.read(k)
	}
	block := q.blocks[k]
	at := number % inBlock * q.width
	if number%inBlock == inBlock-1 {
		q.blocks[k] = nil
		q.forget(k + 1)
	}
	if q.err != nil {
		return nil
	}
	return block[at : at+q.width : at+q.width]
}

// forget drops blocks that are over, now and then: so that the list of blocks does not grow for ever.
func (q *Queue) forget(over int) {
	if over < 1<<10 || 2*over < len(q.blocks) {
		return
	}
	q.blocks = append([][]value.Value(nil), q.blocks[over:]...)
	if q.places != nil {
		q.places = append([]blockPlace(nil), q.places[over:]...)
	}
	q.gone += over
}

// Spill moves all states to the disk but those that will be taken next and those that were put last. from is the number of the one that was taken last. It
// reports whether there were any.
func (q *Queue) Spill(from int) (some bool) {
	if q.disk == nil || q.err != nil {
		return false
	}
	if q.places == nil {
		q.places = make([]blockPlace, len(q.blocks), cap(q.blocks))
	}
	first := max(max(from, 0)/inBlock+blocksAhead+1, q.spilled)
	for k := first - q.gone; k < len(q.blocks)-1 && q.err == nil; k++ {
		q.write(k)
		some = true
		q.spilled = k + q.gone + 1
	}
	return some
}

// write moves a block to the disk.
func (q *Queue) write(k int) {
	if q.disk.stop() {
		q.err = ErrStopped
		return
	}
	if q.last == nil {
		f, err := q.disk.file()
		if q.err = err; err != nil {
			return
		}
		q.last = &segment{file: f}
	}
	b := q.buffer[:0]
	for _, v := range q.blocks[k] {
		b = q.codec.append(b, v)
	}
	place := blockPlace{q.last, q.last.size, len(b)}
	if q.err = q.last.append(b); q.err != nil {
		return
	}
	q.buffer, q.blocks[k], q.places[k] = b, nil, place
	if q.last.left++; q.last.size >= segmentBytes {
		q.last.filled, q.last = true, nil
	}
}

// read takes a block back into memory.
func (q *Queue) read(k int) {
	place := q.places[k]
	q.places[k] = blockPlace{}
	if q.err != nil {
		return
	}
	b := make([]byte, place.size)
	if q.err = place.in.read(b, place.at); q.err != nil {
		return
	}
	d := decoding{q.codec, b}
	q.blocks[k] = d.values(inBlock * q.width)
	if place.in.left--; place.in.left == 0 && place.in.filled {
		place.in.close()
	}
}
