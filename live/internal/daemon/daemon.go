package daemon

import (
	"errors"
	"fmt"
	"time"
)

// Input is given to an explorer when it waits and all earlier inputs are used up.
type Input struct {
	FD      int           // the number of an open file that Data can be read from
	Accept  bool          // FD is a listening socket: a client connects to it, and Data can be read from the connection
	End     bool          // nothing comes after Data: the peer has closed
	Advance time.Duration // the explorer's clock goes on by this; FD and Data are not used
	Data    []byte
}

// Budget limits an explorer.
type Budget struct {
	Calls int           // system calls that are answered
	CPU   time.Duration // of the explorer itself
}

// Status is how an explorer ended.
type Status uint8

const (
	Done    Status = iota // it waits again, and there is no input left
	Crashed               // a signal, or an exit
	Stuck                 // it was killed when its budget was used up
)

// Message is data that an explorer wrote to an open file.
type Message struct {
	FD   int
	To   string // the peer's address, or the name of the file
	Data []byte
}

// Outcome is the outcome of a list of inputs.
type Outcome struct {
	Status  Status
	Signal  int // that ended it, if Status is Crashed; 0 for an exit
	Code    int // of an exit
	Outputs []Message
	Logs    []Message      // what it wrote to files, terminals and the system's log
	Refused map[string]int // calls that were refused, by name
	Unread  int            // bytes and inputs that the explorer has not read
	Calls   int            // that were answered
	CPU     time.Duration
}

// File is an open file of a daemon or a copy.
type File struct {
	FD     int
	Name   string // a path, or the local address of a socket
	Peer   string // the address of a connected socket's peer
	Listen bool
}

// Bounds of what an explorer can have this process keep.
const (
	maxWrittenBytes = 16 << 20 // outputs and logs of an explorer
	maxSharedBytes  = 64 << 20 // shared memory of the daemon, which is copied while it stands still
	growthBytes     = 1 << 30  // memory that a copy may add to what the daemon has
)

// ErrEnded is the error of a checkpoint or a copy that has ended, or was killed or closed.
var ErrEnded = errors.New("the checkpoint, or the copy, has ended")

// FD is the number of a copy's connection with a peer.
func FD(files []File, peer string) (int, error) {
	var peers []string
	for _, f := range files {
		if f.Peer == peer {
			return f.FD, nil
		}
		if f.Peer != "" {
			peers = append(peers, f.Peer)
		}
	}
	return 0, fmt.Errorf("there is no connection with %s, only with %q", peer, peers)
}
