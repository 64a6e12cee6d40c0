package federation

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
	"github.com/bloodhound-dst/bloodhound/live/internal/bgp/cursor"
)

var be = binary.BigEndian

// Bounds of what goes over a connection. A peer that exceeds one is cut off.
const (
	maxFrameBytes = 16 << 10
	maxNameBytes  = 64
	maxHandles    = 64
)

// token names something of the domain that made it up: a session, a checkpoint, a handle, a receipt. It is random, so nobody guesses one.
type token [16]byte

// op names the operation of a request.
type op uint8

const (
	opBegin          op = 1 + iota // a session: make a copy; the answer's ID is the checkpoint
	opDeliver                      // a message of the asker to the copy of a checkpoint
	opForward                      // what a handle stands for to the neighbour; the answer's ID is the neighbour's receipt
	opCarry                        // from domain to domain: a message to the copy of a session; the answer's ID is the receipt
	opVerdict                      // of a receipt
	opHop                          // the neighbour to which the copy of a checkpoint sends packets to the session's prefix
	opEnd                          // a checkpoint
	opOriginTable                  // what is known of the table of origins
	opOriginChunk                  // a part of that table, in which each origin is a pseudo-random number
	opOriginEvaluate               // the pseudo-random function of the table, for a blinded input
)

// request has what its op needs; the rest is zero.
type request struct {
	Op     op
	ID     token // of the session or checkpoint; for the table of origins, of its epoch
	Handle token // or receipt
	Number uint32
	From   string // the neighbour whose message is delivered
	Body   []byte
}

// status says why there is no answer.
type status uint8

const (
	statusOK           status = iota
	statusBad                 // the request makes no sense
	statusUnknown             // no such session, checkpoint, handle or receipt, for this peer
	statusNotPermitted        // this peer may not ask this
	statusBudget              // used up
	statusBusy                // too many sessions, or a table that is being made
	statusFailed              // the router or a neighbour does not answer
)

var statusTexts = [...]string{"", "the request makes no sense", "no such session, checkpoint, handle or receipt",
	"not permitted to this peer", "the budget of this peer is used up",
	"busy; try again later", "the router or a neighbour does not answer"}

func (s status) Error() string {
	if int(s) < len(statusTexts) {
		return statusTexts[s]
	}
	return "invalid status"
}

// handle stands for all that a copy sends to a neighbour after one message.
type handle struct {
	ID token
	To string
}

// answer has what the op of the request gives; the rest is zero.
type answer struct {
	Status  status
	ID      token
	Verdict Verdict
	Handles []handle
	Body    []byte
}

func appendRequest(b []byte, r *request) []byte {
	b = append(b, byte(r.Op))
	b = append(append(b, r.ID[:]...), r.Handle[:]...)
	b = be.AppendUint32(b, r.Number)
	b = appendText(b, r.From)
	return append(b, r.Body...)
}

func parseRequest(b []byte) (*request, error) {
	c := cursor.New(b, 0)
	r := &request{Op: op(c.Uint8("an op")), ID: readToken(c), Handle: readToken(c), Number: c.Uint32("a number"), From: readText(c)}
	r.Body = c.Bytes(c.Left(), "a body")
	if r.Op < opBegin || r.Op > opOriginEvaluate {
		c.Fail(0, "%d is no op", r.Op)
	}
	return r, c.Err()
}

func appendAnswer(b []byte, a *answer) []byte {
	b = append(append(b, byte(a.Status)), a.ID[:]...)
	b = append(b, byte(a.Verdict), byte(len(a.Handles)))
	for _, h := range a.Handles {
		b = appendText(append(b, h.ID[:]...), h.To)
	}
	return append(b, a.Body...)
}

func parseAnswer(b []byte) (*answer, error) {
	c := cursor.New(b, 0)
	a := &answer{Status: status(c.Uint8("a status")), ID: readToken(c), Verdict: Verdict(c.Uint8("a verdict"))}
	n := int(c.Uint8("a number of handles"))
	if n > maxHandles || a.Verdict >= 1<<VerdictBits || int(a.Status) >= len(statusTexts) {
		c.Fail(0, "a status of %d, a verdict of %d or %s", a.Status, a.Verdict, plural.Count(n, "handle"))
	}
	for range n {
		if c.Err() == nil {
			a.Handles = append(a.Handles, handle{readToken(c), readText(c)})
		}
	}
	a.Body = c.Bytes(c.Left(), "a body")
	return a, c.Err()
}

func readToken(c *cursor.Cursor) (t token) {
	copy(t[:], c.Bytes(len(t), "a token"))
	return t
}

func appendText(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) }

func readText(c *cursor.Cursor) string {
	n := int(c.Uint8("a length"))
	if n > maxNameBytes {
		c.Fail(c.Offset(), "a name of %s; %d are the most", plural.Count(n, "byte"), maxNameBytes)
	}
	return string(c.Bytes(n, "a name"))
}

// writeFrame writes a length and as many bytes.
func writeFrame(w io.Writer, b []byte) error {
	if len(b) > maxFrameBytes {
		return fmt.Errorf("a frame of %s; %d are the most", plural.Count(len(b), "byte"), maxFrameBytes)
	}
	_, err := w.Write(append(be.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

var errFrame = errors.New("a frame is longer than one may be")

func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := be.Uint32(head[:])
	if n > maxFrameBytes {
		return nil, errFrame
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}
