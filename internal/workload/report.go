package workload

import (
	"encoding/json"
	"fmt"
	"syscall"

	"github.com/bloodhound-dst/bloodhound/history"
)

// reporter writes records to the file that the engine serves, each with one write(2), at which it is stamped.
type reporter struct{ fd int }

// report is a history.Event without what the engine stamps.
type report struct {
	Client string       `json:"client"`
	Type   history.Type `json:"type"`
	Op     string       `json:"op"`
	Key    string       `json:"key"`
	Input  string       `json:"input,omitempty"`
	Expect string       `json:"expect,omitempty"`
	Output string       `json:"output,omitempty"`
	Found  bool         `json:"found,omitempty"`
	Error  string       `json:"error,omitempty"`
	Node   string       `json:"node,omitempty"`
	Group  string       `json:"group,omitempty"`
}

// openReport opens the file without Go's poller in between, which would add calls of its own.
func openReport(path string) (*reporter, error) {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_APPEND|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open %s, which BLOODHOUND_REPORT names: %w", path, err)
	}
	return &reporter{fd}, nil
}

func (r *reporter) write(rec report) error {
	p, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return r.line(p)
}

// mark says where a driver is.
func (r *reporter) mark(t history.Type) error { return r.line([]byte(`{"type":"` + string(t) + `"}`)) }

// line appends a line by one write.
func (r *reporter) line(p []byte) error {
	p = append(p, '\n')
	for {
		n, err := syscall.Write(r.fd, p)
		if err == syscall.EINTR {
			continue // nothing was written
		}
		if err == nil && n != len(p) {
			err = fmt.Errorf("only %d of %d bytes were taken", n, len(p))
		}
		if err != nil {
			return fmt.Errorf("cannot report an operation: %w", err)
		}
		return nil
	}
}

func (r *reporter) close() error { return syscall.Close(r.fd) }
