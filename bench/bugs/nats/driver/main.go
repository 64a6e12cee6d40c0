// Command driver publishes messages to a JetStream stream of three replicas, and at the end reads the whole stream. Each client has
// a server of its own and speaks NATS' protocol itself, so that nothing is sent twice.
//
// An acknowledgement is ok; all else is info, since a message may be stored although no server acknowledges it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const stream = "log"

// noStream is JetStream's error code for a stream that does not exist.
const noStream = 10059

func main() {
	log.SetFlags(0)
	servers := flag.String("servers", "", "host:port of each server, separated by commas")
	count := flag.Int("messages", 60, "how many messages all clients publish together")
	rate := flag.Float64("rate", 3, "messages a second of all clients together")
	size := flag.Int("size", 0, "bytes of a message, at least")
	timeout := flag.Duration("timeout", 2*time.Second, "how long a client waits for an acknowledgement")
	readAfter := flag.Duration("read-after", 45*time.Second, "when the stream is read, after the start")
	readUntil := flag.Duration("read-until", 75*time.Second, "when the driver gives up to read it")
	flag.Parse()
	begin := time.Now()
	report, err := os.OpenFile(os.Getenv("BLOODHOUND_REPORT"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		log.Fatal(err)
	}
	var skips []skip
	if text := os.Getenv("BLOODHOUND_SKIP"); text != "" {
		if err := json.Unmarshal([]byte(text), &skips); err != nil {
			log.Fatalf("$BLOODHOUND_SKIP: %v", err)
		}
	}
	addresses := strings.Split(*servers, ",")
	create(addresses)

	var clients sync.WaitGroup
	for i, address := range addresses {
		c := &client{label: fmt.Sprintf("c%d", i), address: address, timeout: *timeout, size: *size, report: report, skips: skips}
		share := *count / len(addresses)
		pause := time.Duration(float64(len(addresses)) / *rate * float64(time.Second))
		clients.Go(func() { c.publish(share, pause) })
	}
	clients.Wait()

	time.Sleep(time.Until(begin.Add(*readAfter)))
	reader := &client{label: "reader", timeout: 5 * time.Second, report: report}
	for i := 0; time.Since(begin) < *readUntil; i++ {
		reader.address = addresses[i%len(addresses)]
		if reader.read() {
			return
		}
		time.Sleep(time.Second)
	}
	if reader.lost {
		// Servers that lead and have forgotten the stream have forgotten its messages.
		reader.say(record{Type: "invoke", Op: "read", Key: stream})
		reader.say(record{Type: "ok", Output: new("[]")})
	}
}

// create asks for the stream until it is there.
func create(addresses []string) {
	config := fmt.Sprintf(`{"name":%q,"subjects":["%s.*"],"storage":"file","num_replicas":%d,"retention":"limits"}`, stream, stream, len(addresses))
	for i := 0; ; i++ {
		c, err := dial(addresses[i%len(addresses)], 2*time.Second)
		if err == nil {
			var answer []byte
			if answer, err = c.request("$JS.API.STREAM.CREATE."+stream, config, 5*time.Second); err == nil && failure(answer) == 0 {
				c.Close()
				return
			}
			c.Close()
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// skip is a row of operations that a client leaves out, from From on and before To, which 0 leaves open.
type skip struct {
	Client   string
	From, To int
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

type client struct {
	label, address string
	timeout        time.Duration
	size           int
	report         io.Writer
	skips          []skip
	conn           *conn
	open           int // operations whose outcome is unknown: each ends a name
	lost           bool
}

func (c *client) say(r record) {
	r.Client = c.label
	if c.open > 0 {
		r.Client = fmt.Sprintf("%s.%d", c.label, c.open)
	}
	text, err := json.Marshal(r)
	if err == nil {
		_, err = c.report.Write(append(text, '\n'))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func (c *client) skipped(k int) bool {
	for _, s := range c.skips {
		if s.Client == c.label && s.From <= k && (s.To == 0 || k < s.To) {
			return true
		}
	}
	return false
}

func (c *client) publish(count int, pause time.Duration) {
	for k := range count {
		time.Sleep(pause/2 + rand.N(pause))
		if c.skipped(k) {
			continue
		}
		value := fmt.Sprintf("%s-%d", c.label, k)
		c.say(record{Type: "invoke", Op: "add", Key: stream, Input: value, Node: c.address})
		answer, err := c.request(stream+"."+c.label, value+strings.Repeat(".", max(0, c.size-len(value))))
		if err == nil && failure(answer) != 0 {
			err = errors.New(string(answer))
		}
		if err != nil {
			c.say(record{Type: "info", Error: err.Error()})
			c.open++
			continue
		}
		c.say(record{Type: "ok"})
	}
}

// read reports what the whole stream has, and reports whether it got an answer for all of it.
func (c *client) read() bool {
	c.say(record{Type: "invoke", Op: "read", Key: stream, Node: c.address})
	values, err := c.readAll()
	if err != nil {
		c.say(record{Type: "info", Error: err.Error()})
		c.open++
		return false
	}
	text, err := json.Marshal(values)
	if err != nil {
		log.Fatal(err)
	}
	c.say(record{Type: "ok", Output: new(string(text))})
	return true
}

func (c *client) readAll() ([]string, error) {
	answer, err := c.request("$JS.API.STREAM.INFO."+stream, "")
	if err != nil {
		return nil, err
	}
	if code := failure(answer); code != 0 {
		c.lost = code == noStream
		return nil, errors.New(string(answer))
	}
	c.lost = false
	var info struct {
		State struct {
			First uint64 `json:"first_seq"`
			Last  uint64 `json:"last_seq"`
		} `json:"state"`
	}
	if err := json.Unmarshal(answer, &info); err != nil {
		return nil, err
	}
	values := []string{}
	for sequence := max(info.State.First, 1); sequence <= info.State.Last; sequence++ {
		answer, err := c.request("$JS.API.STREAM.MSG.GET."+stream, fmt.Sprintf(`{"seq":%d}`, sequence))
		if err != nil {
			return nil, err
		}
		const noMessage = 10037
		if code := failure(answer); code == noMessage {
			continue
		} else if code != 0 {
			return nil, errors.New(string(answer))
		}
		var got struct {
			Message struct {
				Data []byte `json:"data"`
			} `json:"message"`
		}
		if err := json.Unmarshal(answer, &got); err != nil {
			return nil, err
		}
		values = append(values, strings.TrimRight(string(got.Message.Data), "."))
	}
	return values, nil
}

// request sends one message and waits for the answer; after an error the client connects anew.
func (c *client) request(subject, payload string) ([]byte, error) {
	if c.conn == nil {
		conn, err := dial(c.address, c.timeout)
		if err != nil {
			return nil, err
		}
		c.conn = conn
	}
	answer, err := c.conn.request(subject, payload, c.timeout)
	if err != nil {
		c.conn.Close()
		c.conn = nil
	}
	return answer, err
}

// failure is the code of the error in an answer, 0 if there is none, and -1 if it is no answer of JetStream.
func failure(answer []byte) int {
	var a struct {
		Error *struct {
			Code int `json:"err_code"`
		} `json:"error"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return -1
	}
	if a.Error == nil {
		return 0
	}
	return a.Error.Code
}

// conn is a connection to a server, with one request under way at a time.
type conn struct {
	net.Conn
	in    *bufio.Reader
	inbox string
	next  int
}

func dial(address string, timeout time.Duration) (*conn, error) {
	nc, err := net.DialTimeout("tcp", address, timeout)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, in: bufio.NewReader(nc), inbox: "_INBOX." + strconv.FormatUint(rand.Uint64(), 36)}
	nc.SetDeadline(time.Now().Add(timeout))
	_, err = fmt.Fprintf(nc, "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\"protocol\":1}\r\nSUB %s.* 1\r\nPING\r\n", c.inbox)
	for err == nil {
		var line string
		if line, err = c.in.ReadString('\n'); err == nil && strings.HasPrefix(line, "PONG") {
			return c, nil
		}
	}
	nc.Close()
	return nil, err
}

func (c *conn) request(subject, payload string, timeout time.Duration) ([]byte, error) {
	c.next++
	reply := fmt.Sprintf("%s.%d", c.inbox, c.next)
	c.SetDeadline(time.Now().Add(timeout))
	if _, err := fmt.Fprintf(c, "PUB %s %s %d\r\n%s\r\n", subject, reply, len(payload), payload); err != nil {
		return nil, err
	}
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "PING":
			if _, err := io.WriteString(c, "PONG\r\n"); err != nil {
				return nil, err
			}
		case words[0] == "-ERR":
			return nil, errors.New(strings.TrimSpace(line))
		case words[0] == "MSG" || words[0] == "HMSG":
			size, err := strconv.Atoi(words[len(words)-1])
			if err != nil {
				return nil, err
			}
			body := make([]byte, size+2)
			if _, err := io.ReadFull(c.in, body); err != nil {
				return nil, err
			}
			if words[1] != reply {
				continue
			}
			if words[0] == "HMSG" {
				return nil, errors.New(strings.TrimSpace(strings.ReplaceAll(string(body), "\r\n", " ")))
			}
			return body[:size], nil
		}
	}
}
