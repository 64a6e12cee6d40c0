package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/internal/plural"
)

// Run processes an input in an explorer. Only its result and its output reach the live process.
type Run func(input []byte) (result []byte)

// Plan says what is done in copies.
type Plan struct {
	Forked  func() // is called directly after the fork, both in the process and in the checkpoint
	Prepare func() // is called once in the checkpoint
	Run     Run    // is what explorers do; it runs in them alone
	// MemoryBytes is how much memory a copy may have more than the process.
	MemoryBytes uint64
}

// Status is how an explorer ended.
type Status uint8

const (
	Done    Status = iota // Run returned
	Crashed               // the explorer ended before Run returned: a fatal error of the runtime, a signal, a call of os.Exit
	Stuck                 // it was killed when its time was over
)

// Outcome is the outcome of one input.
type Outcome struct {
	Status Status
	Result []byte // of Run; empty unless Status is Done
	Log    []byte // the beginning of what the explorer printed, with the reason of a crash
	Faults int    // pages that the explorer touched first or copied (ru_minflt of getrusage(2))
	CPU    time.Duration
}

// Bounds of what crosses the pipes.
const (
	MaxInputBytes  = 1 << 20
	MaxResultBytes = 64 << 20
	maxLogBytes    = 1 << 16 // the capacity of a pipe
)

// Checkpoint is a copy of this process that waits for inputs.
type Checkpoint struct {
	*Client
	PID    int
	Paused time.Duration // for how long this process stood still

	process *os.Process
}

// Client has a checkpoint try inputs. It may be in another process than the live one, which passes its files on.
type Client struct {
	lock               sync.Mutex // one input at a time
	requests, outcomes *os.File
}

// Connect makes a client of the files of another one.
func Connect(requests, outcomes *os.File) *Client {
	return &Client{requests: requests, outcomes: outcomes}
}

// Ready waits until the checkpoint is shut in and prepared, and takes inputs. It is called once.
func (c *Client) Ready() error {
	var ready [2]byte
	if _, err := io.ReadFull(c.outcomes, ready[:]); err != nil {
		return fmt.Errorf("the checkpoint ended before it was ready, perhaps while it was being prepared: %w", err)
	}
	if ready[0] != 0 {
		return fmt.Errorf("cannot isolate the checkpoint (%s): "+
			"%w", steps[min(int(ready[0]), len(steps)-1)], errno(uint32(ready[1])))
	}
	return nil
}

// steps name what shuts a checkpoint in, for errors; 0 is success.
var steps = []string{"", "death signal", "priority", "shared memory", "bound of memory", "closing files", "filter of system calls"}

// Files are the pipe for requests and that for outcomes.
func (c *Client) Files() (requests, outcomes *os.File) { return c.requests, c.outcomes }

// Close ends the checkpoint, if nobody else has its files.
func (c *Client) Close() error {
	return errors.Join(c.requests.Close(), c.outcomes.Close())
}

// ErrEnded is the error of a checkpoint that has been killed or closed.
var ErrEnded = errors.New("the checkpoint has ended")

// Try forks an explorer that runs an input, and waits for its end, at most for a time of its own (budget) and what the machine is slow.
func (c *Client) Try(input []byte, budget time.Duration) (*Outcome, error) {
	if len(input) > MaxInputBytes {
		return nil, fmt.Errorf("the input has %s, but a checkpoint accepts at most "+
			"%d", plural.Count(len(input), "byte"), MaxInputBytes)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	request := binary.LittleEndian.AppendUint64(nil, uint64(budget.Nanoseconds()))
	request = binary.LittleEndian.AppendUint32(request, uint32(len(input)))
	if _, err := c.requests.Write(append(request, input...)); err != nil {
		return nil, errors.Join(ErrEnded, err)
	}
	var head [outcomeHead]byte
	if _, err := io.ReadFull(c.outcomes, head[:]); err != nil {
		return nil, errors.Join(ErrEnded, err)
	}
	o := &Outcome{Status: Status(head[0]), Faults: int(binary.LittleEndian.Uint32(head[1:])), CPU: time.Duration(binary.LittleEndian.Uint64(head[13:]))}
	if o.Status == notForked {
		return nil, fmt.Errorf("the checkpoint cannot create an explorer: %w", errno(binary.LittleEndian.Uint32(head[1:])))
	}
	o.Result = make([]byte, min(binary.LittleEndian.Uint32(head[5:]), MaxResultBytes))
	o.Log = make([]byte, min(binary.LittleEndian.Uint32(head[9:]), maxLogBytes))
	for _, part := range [][]byte{o.Result, o.Log} {
		if _, err := io.ReadFull(c.outcomes, part); err != nil {
			return nil, errors.Join(ErrEnded, err)
		}
	}
	return o, nil
}

// The head of an outcome: its status, the number of faults, the lengths of result and log, and the time in nanoseconds.
const outcomeHead = 1 + 4 + 4 + 4 + 8

// notForked is the status of an input for which there is no explorer; the number of faults is that of the error.
const notForked Status = math.MaxUint8

// Close ends the checkpoint, whoever has its files.
func (c *Checkpoint) Close() error {
	c.Client.Close()
	c.process.Kill()
	_, err := c.process.Wait()
	return err
}
