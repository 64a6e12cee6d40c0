// Package rsp has the packets of gdb's remote serial protocol (appendix E of the gdb manual): framing, escapes, and the forms of threads, numbers
// and hexadecimal data. It knows nothing of worlds.
package rsp

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Limits of what a debugger sends.
const (
	MaxPacketBytes  = 1 << 17
	maxGarbageBytes = 1 << 12 // between two packets
	maxBadSums      = 8       // packets in a row
)

// ErrGarbage is the error of a connection on which no debugger speaks.
var ErrGarbage = errors.New("the received bytes are not gdb's remote protocol")

// Interrupt is the result of Receive for the byte by which a debugger interrupts a running program.
const Interrupt = "\x03"

// Conn is a connection with a debugger.
type Conn struct {
	r     *bufio.Reader
	lock  sync.Mutex // of w: packets are acknowledged while others are sent
	w     *bufio.Writer
	quiet atomic.Bool // no acknowledgements
}

// NewConn begins a connection.
func NewConn(c io.ReadWriter) *Conn {
	return &Conn{r: bufio.NewReaderSize(c, 1<<16), w: bufio.NewWriterSize(c, 1<<16)}
}

// Quiet ends acknowledgements (QStartNoAckMode).
func (c *Conn) Quiet() { c.quiet.Store(true) }

// Receive gives the next packet, its escapes undone, or Interrupt.
func (c *Conn) Receive() (string, error) {
	bad, garbage := 0, 0
	for {
		b, err := c.r.ReadByte()
		if err != nil {
			return "", err
		}
		switch b {
		case '$':
		case 0x03:
			return Interrupt, nil
		case '+', '-':
			continue
		default:
			if garbage++; garbage > maxGarbageBytes {
				return "", ErrGarbage
			}
			continue
		}
		text, err := c.packet()
		switch {
		case err == nil:
			return text, c.acknowledge('+')
		case !errors.Is(err, errSum):
			return "", err
		}
		if bad++; bad > maxBadSums {
			return "", ErrGarbage
		}
		if err := c.acknowledge('-'); err != nil {
			return "", err
		}
	}
}

func (c *Conn) acknowledge(sign byte) error {
	if c.quiet.Load() {
		return nil
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.w.WriteByte(sign)
	return c.w.Flush()
}

var errSum = errors.New("the checksum of a packet is wrong")

// packet reads what follows a $.
func (c *Conn) packet() (string, error) {
	var text []byte
	sum, escaped := byte(0), false
	for {
		b, err := c.r.ReadByte()
		if err != nil {
			return "", err
		}
		switch {
		case b == '#':
			var digits [2]byte
			if _, err := io.ReadFull(c.r, digits[:]); err != nil {
				return "", err
			}
			n, err := strconv.ParseUint(string(digits[:]), 16, 8)
			if err != nil || byte(n) != sum || escaped {
				return "", errSum
			}
			return string(text), nil
		case escaped:
			text = append(text, b^0x20)
			escaped = false
		case b == '}':
			escaped = true
		default:
			text = append(text, b)
		}
		if sum += b; len(text) > MaxPacketBytes {
			return "", ErrGarbage
		}
	}
}

// Send sends a packet.
func (c *Conn) Send(text string) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	sum := byte(0)
	put := func(b byte) {
		sum += b
		c.w.WriteByte(b)
	}
	c.w.WriteByte('$')
	for i := range len(text) {
		switch b := text[i]; b {
		case '#', '$', '}', '*':
			put('}')
			put(b ^ 0x20)
		default:
			put(b)
		}
	}
	fmt.Fprintf(c.w, "#%02x", sum)
	return c.w.Flush()
}

// Thread names a thread of a process. 0 is any, and All all.
type Thread struct{ PID, TID int }

// All as a number of a Thread is all processes, or all threads of one.
const All = -1

// ParseThread reads pPID.TID, pPID or TID.
func ParseThread(s string) (Thread, error) {
	number := func(s string) (int, error) {
		if s == "-1" {
			return All, nil
		}
		n, err := strconv.ParseUint(s, 16, 31)
		return int(n), err
	}
	of, isProcess := strings.CutPrefix(s, "p")
	if !isProcess {
		n, err := number(s)
		return Thread{0, n}, err
	}
	p, th, has := strings.Cut(of, ".")
	pid, err := number(p)
	if err != nil || !has {
		return Thread{pid, All}, err
	}
	tid, err := number(th)
	return Thread{pid, tid}, err
}

// String writes pPID.TID.
func (t Thread) String() string {
	number := func(n int) string {
		if n == All {
			return "-1"
		}
		return strconv.FormatInt(int64(n), 16)
	}
	return "p" + number(t.PID) + "." + number(t.TID)
}

// Number reads a hexadecimal number.
func Number(s string) (uint64, error) { return strconv.ParseUint(s, 16, 64) }

// Numbers reads hexadecimal numbers with commas between them.
func Numbers(s string) (list []uint64, err error) {
	for part := range strings.SplitSeq(s, ",") {
		n, err := Number(part)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// Hex writes bytes as hexadecimal digits.
func Hex[T string | []byte](b T) string { return hex.EncodeToString([]byte(b)) }

// Unhex reads text that is written as hexadecimal digits.
func Unhex(s string) (string, error) {
	b, err := hex.DecodeString(s)
	return string(b), err
}

// Part is the answer to a request for a part of an object of data (qXfer): its arguments are an offset and a length.
func Part(whole, arguments string) string {
	n, err := Numbers(arguments)
	if err != nil || len(n) != 2 {
		return "E01"
	}
	from := min(n[0], uint64(len(whole)))
	rest := whole[from:]
	if most := min(n[1], MaxPacketBytes/2-1); uint64(len(rest)) > most {
		return "m" + rest[:most]
	}
	return "l" + rest
}
