package raft

import (
	"crypto/rand"
	"encoding/binary"
	"io"

	"github.com/bloodhound-dst/bloodhound/sim/inproc"
)

// chance is the source of random numbers of the library, which reads the global crypto/rand.Reader: the numbers of the node that
// runs. So only one world at a time runs in a process.
type chance struct {
	node *inproc.Node
	real io.Reader
}

var dice = &chance{real: rand.Reader}

func init() { rand.Reader = dice }

func (c *chance) Read(p []byte) (int, error) {
	if c.node == nil {
		return c.real.Read(p)
	}
	for i := 0; i < len(p); i += 8 {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], c.node.Uint64())
		copy(p[i:], b[:])
	}
	return len(p), nil
}
