// Package report is what the drivers of the examples share: how a driver reports its operations to the engine, and which of them it leaves out
// so that a smaller run shows the same failure (docs/reference/workloads.md).
package report

import (
	"bufio"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"os"
)

// Log takes the records of operations.
type Log struct {
	To   io.Writer
	skip []skip
}

// skip is a row of operations that a client leaves out, from From on and before To, which 0 leaves open.
type skip struct {
	Client   string
	From, To int
}

// Open opens the file $BLOODHOUND_REPORT and reads $BLOODHOUND_SKIP. It ends the driver where that fails.
func Open() *Log {
	path := os.Getenv("BLOODHOUND_REPORT")
	if path == "" {
		log.Fatal("driver: $BLOODHOUND_REPORT is not set; it names the file for the records of operations")
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		log.Fatal(err)
	}
	l := &Log{To: file}
	if text := os.Getenv("BLOODHOUND_SKIP"); text != "" {
		if err := json.Unmarshal([]byte(text), &l.skip); err != nil {
			log.Fatalf("driver: $BLOODHOUND_SKIP: %v", err)
		}
	}
	return l
}

// Skips says whether operation k of a client is left out.
func (l *Log) Skips(client string, k int) bool {
	for _, s := range l.skip {
		if s.Client == client && s.From <= k && (k < s.To || s.To == 0) {
			return true
		}
	}
	return false
}

// Ends says whether operation k of a client and all later ones are left out: then the client is done.
func (l *Log) Ends(client string, k int) bool {
	for _, s := range l.skip {
		if s.Client == client && s.From <= k && s.To == 0 {
			return true
		}
	}
	return false
}

// Write writes a record by one write(2), at which the engine stamps it.
func (l *Log) Write(record any) {
	line, err := json.Marshal(record)
	if err == nil {
		_, err = l.To.Write(append(line, '\n'))
	}
	if err != nil {
		log.Fatalf("driver: report: %v", err)
	}
}

// mark is a record that says where the driver is.
type mark struct {
	Type string `json:"type"`
}

// Ready reports that the driver is ready: faults begin.
func (l *Log) Ready() { l.Write(mark{"ready"}) }

// ReadBack reports that the operations of the driver are over, so that faults end, and waits until the world has settled. What the driver does
// then is to read back.
func (l *Log) ReadBack() {
	l.Write(mark{"done"})
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		log.Fatalf("driver: no line says that the world has settled; its workload needs `announces: true`: %v", err)
	}
	l.Write(mark{"check"})
}

// Random is a source of random numbers of its own, seeded by the system, so that a tape decides what it gives.
func Random() *rand.Rand {
	var seed [32]byte
	crand.Read(seed[:])
	return rand.New(rand.NewChaCha8(seed))
}

// NeverSent says whether a request failed before a connection existed: then it has done nothing.
func NeverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
