// Command driver publishes messages to a JetStream stream of three replicas, and at the end reads the whole stream. Each client has
// a server of its own and speaks NATS' protocol itself, so that nothing is sent twice.
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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/bench/bugs/set"
)

const stream = set.Key

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
	report := set.Open()
	addresses := strings.Split(*servers, ",")
	create(addresses)

	var clients sync.WaitGroup
	for i, address := range addresses {
		c := &client{Client: set.Client{Label: fmt.Sprintf("c%d", i), Node: address, Log: report}, timeout: *timeout, size: *size}
		share := *count / len(addresses)
		pause := time.Duration(float64(len(addresses)) / *rate * float64(time.Second))
		clients.Go(func() { c.Add(share, pause, c.publish) })
	}
	clients.Wait()

	time.Sleep(time.Until(begin.Add(*readAfter)))
	reader := &client{Client: set.Client{Label: "reader", Log: report}, timeout: 5 * time.Second}
	for i := 0; time.Since(begin) < *readUntil; i++ {
		reader.Node = addresses[i%len(addresses)]
		if reader.Read(reader.readAll) {
			return
		}
		time.Sleep(time.Second)
	}
	if reader.lost {
		// Servers that lead and have forgotten the stream have forgotten its messages.
		reader.Node = ""
		reader.Read(func() ([]string, error) { return []string{}, nil })
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

type client struct {
	set.Client
	timeout time.Duration
	size    int
	conn    *conn
	lost    bool
}

func (c *client) publish(value string) error {
	answer, err := c.request(stream+"."+c.Label, value+strings.Repeat(".", max(0, c.size-len(value))))
	if err == nil && failure(answer) != 0 {
		err = errors.New(string(answer))
	}
	return err
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
		conn, err := dial(c.Node, c.timeout)
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
