package visited

import (
	"encoding/binary"
)

// Column is a list of numbers of four or eight bytes each, whose beginning may lie on a disk.
type Column[T int32 | uint64] struct {
	tail   []T // in memory
	before int // so many lie on the disk
	file   *file
}

// Len counts the numbers.
func (c *Column[T]) Len() int { return c.before + len(c.tail) }

// InMemory counts the numbers that are in memory.
func (c *Column[T]) InMemory() int { return len(c.tail) }

// Append adds a number.
func (c *Column[T]) Append(v T) { c.tail = append(c.tail, v) }

// width is the size of a number in bytes.
func (c *Column[T]) width() int {
	if _, long := any(T(0)).(uint64); long {
		return 8
	}
	return 4
}

// NumberAt returns the number at a place.
func (c *Column[T]) NumberAt(i int) (T, error) {
	if i >= c.before {
		return c.tail[i-c.before], nil
	}
	var b [8]byte
	w := c.width()
	if err := c.file.read(b[:w], int64(i)*int64(w)); err != nil {
		return 0, err
	}
	return T(binary.LittleEndian.Uint64(b[:])), nil
}

// Spill moves all numbers to the disk.
func (c *Column[T]) Spill(d *Disk) (err error) {
	if len(c.tail) == 0 {
		return nil
	}
	if c.file == nil {
		if c.file, err = d.file(); err != nil {
			return err
		}
	}
	const atOnce = 1 << 15
	b := make([]byte, 0, 8*min(atOnce, len(c.tail)))
	for i, v := range c.tail {
		if c.width() == 8 {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		} else {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		if len(b) == cap(b) || i == len(c.tail)-1 {
			if err := c.file.append(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	c.before += len(c.tail)
	c.tail = c.tail[:0]
	return nil
}
