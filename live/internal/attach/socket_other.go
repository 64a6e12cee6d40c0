//go:build !linux

package attach

import (
	"errors"
	"net"

	"github.com/bloodhound-dst/bloodhound/live/internal/checkpoint"
)

var errSystem = errors.New("live processes can be explored only on Linux")

// Listen is an error here.
func Listen(string) (*net.UnixListener, error) { return nil, errSystem }

// Serve is an error here.
func Serve(*net.UnixListener, *Offer) error { return errSystem }

// Snapshot is an error here.
func Snapshot(string) ([]byte, *Answer, error) { return nil, nil, errSystem }

// Attached is a checkpoint of another process.
type Attached struct {
	Answer
	*checkpoint.Client
}

// Ask is an error here.
func Ask(string, Request) (*Attached, error) { return nil, errSystem }
