// Package set is what drivers have in common that add values to one set, through a server, and read it at the end: records of operations, and
// what a shrunk run leaves out.
//
// An answer is ok; all else is info, since a value may be stored although no server acknowledges it.
package set

import (
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"time"
)

// Key is the key of the set.
const Key = "log"

// Log is the file to which a driver reports. Its methods end the program if it cannot be written.
type Log struct {
	file  *os.File
	skips []skip
}

// skip is a row of operations that a client leaves out, from From on and before To, which 0 leaves open.
type skip struct {
	Client   string
	From, To int
}

// Open opens the file that $BLOODHOUND_REPORT names, and ends the program if that is not possible.
func Open() *Log {
	file, err := os.OpenFile(os.Getenv("BLOODHOUND_REPORT"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		log.Fatal(err)
	}
	l := &Log{file: file}
	if text := os.Getenv("BLOODHOUND_SKIP"); text != "" {
		if err := json.Unmarshal([]byte(text), &l.skips); err != nil {
			log.Fatalf("$BLOODHOUND_SKIP: %v", err)
		}
	}
	return l
}

// Announce reports where the driver is: ready, done or check.
func (l *Log) Announce(phase string) { l.write(map[string]string{"type": phase}) }

func (l *Log) write(line any) {
	text, err := json.Marshal(line)
	if err == nil {
		_, err = l.file.Write(append(text, '\n'))
	}
	if err != nil {
		log.Fatal(err)
	}
}

type record struct {
	Client string  `json:"client"`
	Type   string  `json:"type"`
	Op     string  `json:"op,omitempty"`
	Key    string  `json:"key,omitempty"`
	Input  string  `json:"input,omitempty"`
	Output *string `json:"output,omitempty"`
	Error  string  `json:"error,omitempty"`
	Node   string  `json:"node,omitempty"`
}

// Client is a client with one operation under way at a time.
type Client struct {
	Label string
	Node  string // the server that is asked, for people
	Log   *Log
	open  int // operations whose outcome is unknown: each ends a name
}

func (c *Client) say(r record) {
	r.Client = c.Label
	if c.open > 0 {
		r.Client = fmt.Sprintf("%s.%d", c.Label, c.open)
	}
	c.Log.write(r)
}

func (c *Client) unknown(err error) {
	c.say(record{Type: "info", Error: err.Error()})
	c.open++
}

func (c *Client) skipped(k int) bool {
	for _, s := range c.Log.skips {
		if s.Client == c.Label && s.From <= k && (s.To == 0 || k < s.To) {
			return true
		}
	}
	return false
}

// ended reports whether the client leaves out value k and all that follow.
func (c *Client) ended(k int) bool {
	for _, s := range c.Log.skips {
		if s.Client == c.Label && s.From <= k && s.To == 0 {
			return true
		}
	}
	return false
}

// Add adds so many values by add, one after each pause on average.
func (c *Client) Add(count int, pause time.Duration, add func(value string) error) {
	for k := range count {
		if c.ended(k) {
			return
		}
		time.Sleep(pause/2 + rand.N(pause))
		if c.skipped(k) {
			continue
		}
		value := fmt.Sprintf("%s-%d", c.Label, k)
		c.say(record{Type: "invoke", Op: "add", Key: Key, Input: value, Node: c.Node})
		if err := add(value); err != nil {
			c.unknown(err)
			continue
		}
		c.say(record{Type: "ok"})
	}
}

// Read reports what the set has by read, and reports whether it got an answer.
func (c *Client) Read(read func() ([]string, error)) bool {
	c.say(record{Type: "invoke", Op: "read", Key: Key, Node: c.Node})
	values, err := read()
	if err != nil {
		c.unknown(err)
		return false
	}
	text, err := json.Marshal(values)
	if err != nil {
		log.Fatal(err)
	}
	c.say(record{Type: "ok", Output: new(string(text))})
	return true
}
