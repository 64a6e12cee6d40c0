// Command driver is the producers and consumers of this world. Producers publish messages of their own names at a steady pace.
// Consumers receive, work a little and acknowledge, and when the producers are done they continue until the queue is empty. It reports
//
//	publish  the key is the message
//	receive  the output is the message that was delivered, if any
//	ack      the key is the message
//
// It fails, so that the run has no verdict, when the queue is not empty in time.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bloodhound-dst/bloodhound/examples/servers/internal/report"
)

// What a driver may do wrong; the mutants show that such a world does not pass.
const (
	none     = "none"
	idle     = "idle"      // does nothing
	dropOne  = "drop-one"  // does not report a message that it received
	claimAck = "claim-ack" // says of an acknowledgement without an answer that it was done
)

type driver struct {
	brokers  []string
	messages int           // of each producer
	pace     time.Duration // between two messages of a producer
	timeout  time.Duration // of an operation
	empty    time.Duration // how long it may take until the queue is empty
	mutation string
	report   *report.Log
	done     chan struct{} // closed when nothing more is published
}

func main() {
	log.SetFlags(0)
	d := driver{done: make(chan struct{})}
	brokers := flag.String("brokers", "", "base URLs of the brokers, separated by commas")
	producers := flag.Int("producers", 3, "producers")
	consumers := flag.Int("consumers", 2, "consumers")
	flag.IntVar(&d.messages, "messages", 15, "messages of each producer")
	flag.DurationVar(&d.pace, "pace", 220*time.Millisecond, "time between two messages of a producer")
	flag.DurationVar(&d.timeout, "timeout", 2*time.Second, "how long an operation may take")
	flag.DurationVar(&d.empty, "empty", 10*time.Second, "how long consumers may need to empty the queue")
	flag.StringVar(&d.mutation, "mutation", none, "what to do wrong: idle, drop-one, claim-ack")
	flag.Parse()
	d.brokers = strings.Split(*brokers, ",")
	if *brokers == "" || *producers < 1 || *consumers < 1 || d.messages < 1 || flag.NArg() > 0 {
		log.Fatal("driver: -brokers are URLs, -producers, -consumers and -messages at least 1")
	}
	if !slices.Contains([]string{none, idle, dropOne, claimAck}, d.mutation) {
		log.Fatalf("driver: no mutation %q", d.mutation)
	}
	d.report = report.Open()
	if d.mutation == idle {
		return
	}
	var publishing, consuming sync.WaitGroup
	for i := range *producers {
		publishing.Go(func() { d.client(fmt.Sprintf("p%d", i), i).produce() })
	}
	for i := range *consumers {
		consuming.Go(func() { d.client(fmt.Sprintf("c%d", i), i).consume() })
	}
	publishing.Wait()
	close(d.done)
	consuming.Wait()
}

// client is a producer or a consumer, with one operation in flight. After one of unknown outcome it continues under a new name.
type client struct {
	*driver
	label   string
	retired int
	broker  int // which one it asks
	// operations so far, with those that are left out
	operations int
	random     *rand.Rand
	http       http.Client
}

func (d *driver) client(label string, number int) *client {
	return &client{driver: d, label: label, broker: number % len(d.brokers), random: report.Random(),
		http: http.Client{Transport: &http.Transport{}}}
}

// leavesOut reports whether the next operation is to be left out, and counts it then.
func (c *client) leavesOut() bool {
	out := c.report.Skips(c.label, c.operations)
	if out {
		c.operations++
	}
	return out
}

func (c *client) produce() {
	next := time.Now().Add(time.Duration(c.random.Int64N(int64(c.pace))))
	for k := range c.messages {
		time.Sleep(time.Until(next))
		next = next.Add(c.pace/2 + time.Duration(c.random.Int64N(int64(c.pace))))
		if c.leavesOut() {
			continue
		}
		c.perform("publish", fmt.Sprintf("%s-%d", c.label, k), "POST", "/messages/")
	}
}

// rest is what a consumer does instead of an operation that is left out.
const rest = 400 * time.Millisecond

// consume leaves nothing out when the producers are done: a message that no consumer asks for is not lost.
func (c *client) consume() {
	var deadline time.Time
	for {
		query := ""
		select {
		case <-c.done:
			if deadline.IsZero() {
				deadline = time.Now().Add(c.empty)
			}
			query = "?last"
		default:
			if c.leavesOut() {
				select {
				case <-c.done:
				case <-time.After(rest):
				}
				continue
			}
		}
		a := c.perform("receive", "", "POST", "/receive"+query)
		switch {
		case a.ok && a.message != "":
			time.Sleep(time.Duration(5+c.random.IntN(20)) * time.Millisecond)
			if query == "" && c.leavesOut() {
				continue // some consumer gets it again
			}
			c.perform("ack", a.message, "DELETE", "/messages/")
		case a.ok && query != "" && a.left == "0":
			return
		case !deadline.IsZero() && time.Now().After(deadline):
			log.Fatalf("driver: %s gives up: the queue is not empty after %s", c.label, c.empty)
		case !a.ok:
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// record is one line of $BLOODHOUND_REPORT.
type record struct {
	Client string `json:"client"`
	Type   string `json:"type"` // invoke, ok, fail, info
	Op     string `json:"op"`
	Key    string `json:"key,omitempty"`
	Output string `json:"output,omitempty"`
	Error  string `json:"error,omitempty"`
	Node   string `json:"node,omitempty"`
}

// answer is what a broker said.
type answer struct {
	ok, notDone   bool
	message, left string
	leader        string
	err           error
}

func (c *client) perform(op, key, method, path string) answer {
	if key != "" {
		path += key
	}
	c.operations++
	broker := c.brokers[c.broker]
	r := record{Client: fmt.Sprintf("%s.%d", c.label, c.retired), Type: "invoke", Op: op, Key: key,
		Node: strings.Split(strings.TrimPrefix(broker, "http://"), ":")[0]}
	c.report.Write(r)
	a := c.send(method, broker+path, "body of "+key)
	switch {
	case a.ok && !(c.mutation == dropOne && a.message == "p0-0"), op == "ack" && c.mutation == claimAck:
		r.Type, r.Output = "ok", a.message
	case a.ok:
		r.Type = "ok"
	case a.notDone:
		r.Type, r.Error = "fail", a.err.Error()
	default:
		r.Type, r.Error = "info", a.err.Error()
		c.retired++
	}
	c.report.Write(r)
	if !a.ok {
		c.broker = (c.broker + 1) % len(c.brokers)
		if i := slices.IndexFunc(c.brokers, func(b string) bool { return a.leader != "" && strings.Contains(b, "//"+a.leader+":") }); i >= 0 {
			c.broker = i
		}
	}
	return a
}

// send performs one request, once. The transport repeats none that is not a GET.
func (c *client) send(method, url, body string) answer {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return answer{err: err, notDone: true}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{err: err, notDone: report.NeverSent(err)}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode < 300 {
		return answer{ok: true, message: resp.Header.Get("Message-Id"), left: resp.Header.Get("Messages-Left")}
	}
	if err == nil {
		err = fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	return answer{err: err, notDone: resp.Header.Get("X-Not-Done") != "", leader: resp.Header.Get("Leader")}
}
