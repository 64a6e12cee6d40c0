package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A segment is a file of frames, to which one writer appends. A frame is the length of its body and the body's CRC-32C, four bytes each,
// little endian; and the body: the key's length as a varint, the key, the value. What follows the last whole frame is a write that is under way, or that
// was cut short: readers do not take it, and only the writer may remove it.

// FrameHeadBytes is the size of what stands before a body.
const FrameHeadBytes = 8

// MaxFrameBytes bounds a body; a longer one is no frame.
const MaxFrameBytes = MaxKeyBytes + MaxValueBytes + binary.MaxVarintLen64

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segmentVersion is the version of the form of a segment and of the entries in it.
const segmentVersion = 1

// segmentMagic begins each segment.
const segmentMagic = segmentWords + "1\n"

// AppendFrame appends the frame of an entry.
func AppendFrame(b []byte, e *Entry) []byte {
	at := len(b)
	b = append(b, make([]byte, FrameHeadBytes)...)
	b = binary.AppendUvarint(b, uint64(len(e.Key)))
	b = append(b, e.Key...)
	b = append(b, e.Value...)
	body := b[at+FrameHeadBytes:]
	binary.LittleEndian.PutUint32(b[at:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[at+4:], crc32.Checksum(body, castagnoli))
	return b
}

// Frames gives the entries of frames that begin at b, and returns how many bytes the whole ones have. damage is what follows them, if it
// cannot be a frame whose write is under way. Values are parts of b.
func Frames(b []byte, each func(Entry) error) (whole int, damage, err error) {
	key := ""
	for len(b)-whole >= FrameHeadBytes {
		size := int(binary.LittleEndian.Uint32(b[whole:]))
		if size == 0 || size > MaxFrameBytes {
			return whole, fmt.Errorf("a frame has the invalid size of %d bytes", size), nil
		}
		if len(b)-whole-FrameHeadBytes < size {
			break
		}
		body := b[whole+FrameHeadBytes : whole+FrameHeadBytes+size : whole+FrameHeadBytes+size]
		if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[whole+4:]) {
			return whole, fmt.Errorf("a frame of %d bytes has the wrong checksum", size), nil
		}
		n, used := binary.Uvarint(body)
		if used <= 0 || n > MaxKeyBytes || int(n) > len(body)-used {
			return whole, fmt.Errorf("a frame has a key without a valid length"), nil
		}
		if text := body[used : used+int(n)]; !bytes.Equal(text, []byte(key)) {
			key = string(text)
		}
		if err := each(Entry{key, body[used+int(n):]}); err != nil {
			return whole, nil, err
		}
		whole += FrameHeadBytes + size
	}
	return whole, nil, nil
}
